/** Every npm script says what it does, does nothing then, and refuses options that it does not have in words, not by a stack. */
import { readFileSync, readdirSync } from "node:fs";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

const run = (name: string, option: string) => {
  const [command, ...args] = scripts[name]!.split(" ");
  expect(command).toBe("node");
  return execa(process.execPath, [...args, option], { reject: false, stdin: "ignore", env: { NO_COLOR: "1" } });
};

describe.each(Object.keys(scripts))("npm run %s", (name) => {
  it("--help tells of it, and nothing else happens", { timeout: 60_000 }, async () => {
    const generated = readFileSync("src/graph/builder.generated.ts", "utf8");
    const { exitCode, stdout, stderr } = await run(name, "--help");
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    // build:ts is told of by build, test:native by test.
    expect(stdout).toContain(
      `npm ${name === "start" || name.startsWith("test") ? "" : "run "}${name.startsWith("build:ts") ? "build" : ""}`,
    );
    expect(stdout).toContain("--help");
    expect(readFileSync("src/graph/builder.generated.ts", "utf8")).toBe(generated);
  });

  // vitest is handed what npm test does not know.
  it.skipIf(name === "test" || name === "test:native")("--bogus is refused in words", { timeout: 300_000 }, async () => {
    const { exitCode, stdout, stderr } = await run(name, "--bogus");
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("--bogus");
    expect(`${stdout}${stderr}`).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
  });
});

it("names files of the tests that are there, wherever a quick set is listed", async () => {
  const files = readdirSync("test", { recursive: true })
    .map((name) => `test/${name.toString().replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".test.ts"));
  const { stdout } = await execa(process.execPath, [
    "--input-type=module",
    "-e",
    `import { quickFiles } from "./scripts/lib/windows-steps.mjs";
     import { quickTests } from "./scripts/lib/cell-steps.mjs";
     console.log(JSON.stringify([...quickFiles, ...quickTests]));`,
  ]);
  const { suites } = parse(readFileSync("matrix/matrix.yaml", "utf8")) as { suites: Record<string, string[]> };
  const listed = [...(JSON.parse(stdout) as string[]), ...Object.values(suites).flat()];
  expect(listed.filter((text) => !files.some((file) => file.includes(text)))).toEqual([]);
});
