/** The runner of test programs that count themselves. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runProgram } from "../../scripts/tools/counts.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "dxtensor-counts-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Counts its runs in a file; `then` sees them as `runs`. */
async function run(then: string, toolBroke?: RegExp) {
  const file = join(folder, "runs");
  const program = `const fs = require("node:fs"); const f = process.argv[1]; fs.appendFileSync(f, "x"); const runs = fs.readFileSync(f).length; ${then}`;
  const counts = await runProgram("a program", process.execPath, ["-e", program, file], toolBroke === undefined ? {} : { toolBroke });
  return { counts, runs: readFileSync(file).length };
}

describe("a program whose tool broke", () => {
  it("is run again, and what it says then counts", async () => {
    const program = 'if (runs === 1) { console.error("tool: fatal error"); process.exit(1); } console.log("5 passed, 0 failed");';
    expect(await run(program, /tool: fatal/)).toEqual({ counts: { passed: 5, failed: 0, skipped: 0 }, runs: 2 });
  });

  it("has failed when the tool breaks each time", async () => {
    expect(await run('console.error("tool: fatal error"); process.exit(1);', /tool: fatal/)).toEqual({
      counts: { passed: 0, failed: 1, skipped: 0 },
      runs: 3,
    });
  });

  it("is not run again for failures of its own", async () => {
    expect(await run('console.error("other"); console.log("4 passed, 2 failed"); process.exit(1);', /tool: fatal/)).toEqual({
      counts: { passed: 4, failed: 2, skipped: 0 },
      runs: 1,
    });
  });

  it("is not run again where nothing says that its tool broke", async () => {
    expect(await run("process.exit(3);")).toEqual({ counts: { passed: 0, failed: 1, skipped: 0 }, runs: 1 });
  });
});
