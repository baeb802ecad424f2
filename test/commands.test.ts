/** With --help every npm script prints its description and does nothing else; unknown options are an error without a stack. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { typescript } from "./scripts.ts";
import { isWhole, share } from "./share.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };

const start = (args: readonly string[]) => execa(process.execPath, args, { reject: false, stdin: "ignore", env: { NO_COLOR: "1" } });

const run = (name: string, option: string) => {
  const [command, ...args] = scripts[name]!.split(" ");
  expect(command).toBe("node");
  return start([...args, option]);
};

/** Scripts that are no npm command, and those that are; what other scripts import is no command, although it is in the same folder. */
const parts = ["generate-builder", "generate-operations", "generate-schema", "generate-vulkan", "generate-worker"];
const verbs = readdirSync("scripts")
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.slice(0, -3));
const commands = new Set(Object.values(scripts).map((line) => /^node scripts\/run\.mjs ([\w-]+)/.exec(line)?.[1]));
const others = verbs.filter((name) => !parts.includes(name) && !commands.has(name));

/** Scripts that are asked for --help: a fifth, unless all are asked for. */
const helping = new Set(share([...others, ...Object.keys(scripts)], 5));

/** Scripts that are asked to refuse an option: a tenth, unless all are asked for. vitest is handed what npm test does not know. */
const refusing = new Set(
  share(
    [...others, ...Object.keys(scripts)].filter((name) => !["test", "test:native"].includes(name)),
    10,
  ),
);

it("every npm script is a file of scripts", () => {
  expect([...commands].filter((name) => !verbs.includes(name ?? ""))).toEqual([]);
});

describe.each(others.filter((name) => helping.has(name) || refusing.has(name)))("node scripts/run.mjs %s", (name) => {
  const file = "scripts/run.mjs";
  it.runIf(helping.has(name))("--help tells of it, and nothing else happens", { timeout: 60_000 }, async () => {
    const { exitCode, stdout, stderr } = await start([file, name, "--help"]);
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`node ${file} ${name}`);
    expect(stdout).toContain("--help");
  });

  if (!refusing.has(name)) return;
  it("--bogus is refused in words", { timeout: 60_000 }, async () => {
    const { exitCode, stdout, stderr } = await start([file, name, "--bogus"]);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("--bogus");
    expect(`${stdout}${stderr}`).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
  });
});

it.runIf(isWhole)("what is wrong with a bench's options is one line", { timeout: 300_000 }, async () => {
  const lines: readonly [readonly string[], string][] = [
    [["scripts/run.mjs", "bench", "--device", "foo"], 'bench: device: name must be "cpu", "meta" or "dml:N"; received foo.'],
    [[...typescript, "bench/gpu/run.ts", "--bogus"], "start.sh: Unknown option '--bogus'"],
    [[...typescript, "bench/gpu/run.ts", "--only", "foo"], 'start.sh: There is no part "foo"'],
    [[...typescript, "bench/gpu/run.ts", "--patience", "no"], "start.sh: --patience is a positive number."],
  ];
  for (const [args, text] of share(lines, 3)) {
    const { exitCode, stderr } = await start(args);
    expect(exitCode).toBe(1);
    expect(stderr.split("\n").at(-1)).toContain(text);
  }
});

it("DXTENSOR_CTRF names the report of the tests, also where npm test runs them", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-ctrf-"));
  try {
    const report = join(folder, "mine.json");
    const program = `import { runVitest } from "./scripts/tools/vitest.ts"; console.log(JSON.stringify(await runVitest("nowhere.json", ["test/core/ambient"])));`;
    const { stdout } = await execa(process.execPath, [...typescript, "--input-type=module", "-e", program], {
      env: { DXTENSOR_CTRF: report },
    });
    const { passed, failed } = JSON.parse(stdout.split("\n").at(-1)!) as { passed: number; failed: number };
    const { results } = JSON.parse(readFileSync(report, "utf8")) as { results: { summary: { passed: number } } };
    expect([passed, failed]).toEqual([results.summary.passed, 0]);
    expect(passed).toBeGreaterThan(0);
    expect(existsSync("test-results/nowhere.json")).toBe(false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("every npm script has a row in docs/commands.md", () => {
  const page = readFileSync("docs/commands.md", "utf8");
  const missing = Object.keys(scripts).filter((name) => !new RegExp(`(?:\`|npm run |npm )${name}[\` ]`).test(page));
  expect(missing).toEqual([]);
});

describe.each(Object.keys(scripts).filter((name) => helping.has(name) || refusing.has(name)))("npm run %s", (name) => {
  it.runIf(helping.has(name))("--help tells of it, and nothing else happens", { timeout: 60_000 }, async () => {
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

  if (!refusing.has(name)) return;
  it("--bogus is refused in words", { timeout: 300_000 }, async () => {
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
    ...typescript,
    "--input-type=module",
    "-e",
    `import { quickFiles } from "./scripts/cells/wine/steps.ts";
     import { quickTests } from "./scripts/cells/linux/steps.ts";
     console.log(JSON.stringify([...quickFiles, ...quickTests]));`,
  ]);
  const { suites } = parse(readFileSync("matrix/matrix.yaml", "utf8")) as { suites: Record<string, string[]> };
  const listed = [...(JSON.parse(stdout) as string[]), ...Object.values(suites).flat()];
  expect(listed.filter((text) => !files.some((file) => file.includes(text)))).toEqual([]);
});
