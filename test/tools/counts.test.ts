/** The runner of test programs that count themselves. */
import { describe, expect, it } from "vitest";
import { countProgram } from "../../scripts/tools/counts.ts";

const run = (program: string) => countProgram("a program", process.execPath, ["-e", program]);

describe("a test program", () => {
  it("counts by its last such line", async () => {
    const program = 'console.log("1 passed, 0 failed"); console.log("4 passed, 2 failed, 3 skipped"); process.exit(1);';
    expect(await run(program)).toEqual({ passed: 4, failed: 2, skipped: 3 });
  });

  it("has failed once where it fails and does not say how often, or says never", async () => {
    expect(await run("process.exit(3);")).toEqual({ passed: 0, failed: 1, skipped: 0 });
    expect(await run('console.log("5 passed, 0 failed"); process.exit(3);')).toEqual({ passed: 5, failed: 1, skipped: 0 });
    expect(await run('process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);')).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it("has passed once where it succeeds and does not count", async () => {
    expect(await run("")).toEqual({ passed: 1, failed: 0, skipped: 0 });
  });
});
