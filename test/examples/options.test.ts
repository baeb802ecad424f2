/** Every example has a help text, and refuses wrong options. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isWhole, share } from "../share.ts";
import { raw } from "./run.ts";

const names = readdirSync("examples").filter((name) => existsSync(`examples/${name}/main.ts`));

it("each has a README, a test and a row in the list", () => {
  expect(names.length).toBeGreaterThanOrEqual(8);
  const list = readFileSync("examples/README.md", "utf8");
  for (const name of names) {
    expect(readFileSync(`examples/${name}/README.md`, "utf8")).toContain(`npm run example -- ${name}`);
    expect(readdirSync("test/examples")).toContain(`${name}.test.ts`);
    expect(list).toContain(`(${name}/README.md)`);
  }
});

/** The options that all examples share are read by the same code: what is wrong with them is tried on one, unless all cases are asked for. */
const everywhere = isWhole ? names : [names[0]];
/** Examples that are asked for what is wrong at all: a third, unless all are. */
const refusing = share(names, 3);

describe.each(names)("%s", (name) => {
  it("--help tells its options", async () => {
    const { exitCode, stdout, stderr } = await raw(name, ["--help"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    for (const word of [`npm run example -- ${name}`, "--device", "--seed", "--json"]) expect(stdout).toContain(word);
  });

  it.runIf(refusing.includes(name))("what is wrong is one typed error", async () => {
    const mistakes = [
      [["--bogus"], "error: unknown option '--bogus'"],
      [["--seed", "one"], "error: option '--seed <n>' argument 'one' is invalid. It must be an integer of at least 0."],
      [["--device", "gpu"], /^error: option '--device <name>' argument 'gpu' is invalid\. device: name must be "cpu", "meta" or "dml:N"/],
      [["surplus"], "error: too many arguments. Expected 0 arguments but got 1."],
    ] as const;
    for (const [args, message] of everywhere.includes(name) ? mistakes : mistakes.slice(0, 1)) {
      const { exitCode, stdout, stderr } = await raw(name, ["--json", ...args]);
      expect([exitCode, stderr]).toEqual([2, ""]);
      const { error } = JSON.parse(stdout) as { error: { name: string; message: string } };
      expect(error.name).toBe("OptionError");
      expect(error.message).toMatch(message);
    }
    if (!everywhere.includes(name)) return;
    const { exitCode, stdout, stderr } = await raw(name, ["--bogus"]);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("unknown option '--bogus'");
  });
});
