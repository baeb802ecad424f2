// npm run check: the checks that a change most likely fails, in about two minutes.
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { ScriptError, buildNative, main, release, root, script, tool } from "./tools/project.ts";
import { countProgram, sum, type Counts } from "./tools/counts.ts";
import { runVitest, secondsFile } from "./tools/vitest.ts";
import { buildNativeParts, buildTypeScript } from "./build.ts";
import { changesSince } from "./lib/changed.ts";
import { touchedPrograms } from "./lib/check/native.ts";
import { withinTime, readTexts, relatedTests } from "./lib/check/related.ts";
import { usualSeconds } from "./tools/test-seconds.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { softwareName } from "./lib/native-files.ts";

const help = `npm run check [-- OPTIONS]

Checks what changed since the branch left main, and what is not committed: types of everything; lint and formatting of the changed files;
generated files; the test files that the change touches, nearest first, as many as fit into the time; the C++ test programs whose sources changed.
It aims at two minutes. npm test must pass before a change lands.

  --base REF      what changed since the branch left REF (default: origin/main, else main)
  --seconds N     of test files' usual times, on one core (default: 60 for each core)
  --all           all test files that the change touches
  --list          prints what would run; runs nothing
  --json          one line of JSON on stdout: {ok, passed, failed, changed, steps, tests, left, programs}; the rest goes to stderr
  --help          this text`;

interface Step {
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
}

/** What lint looks at of the changed files. */
function lintSteps(changed: readonly string[]): (readonly [name: string, command: string, args: readonly string[]])[] {
  const there = changed.filter((path) => existsSync(join(root, path)));
  const of = (pattern: RegExp): string[] => there.filter((path) => pattern.test(path));
  const [typescript, formatted, native] = [
    of(/\.(ts|mjs)$/),
    of(/\.(ts|mjs|js|json|md|ya?ml)$/),
    of(/^(native|scripts|bench)\/.*\.(c|h|cpp)$/),
  ];
  return [
    ["types of tests, scripts and matrix", tool("tsc"), ["-b"]],
    ...(typescript.length > 0 ? [["oxlint", tool("oxlint"), ["--type-aware", "--deny-warnings", ...typescript]] as const] : []),
    ...(formatted.length > 0
      ? [["prettier", tool("prettier"), ["--check", "--log-level", "warn", "--ignore-unknown", ...formatted]] as const]
      : []),
    ...(native.length > 0 ? [["clang-format", "clang-format-14", ["--dry-run", "-Werror", ...native]] as const] : []),
    ["generated files", process.execPath, script("generate", "--check")],
    ["what git ignores", process.execPath, script("ignored")],
  ];
}

await main(
  async () => {
    const { values } = parseArgs({
      options: {
        base: { type: "string" },
        seconds: { type: "string", default: String(60 * availableParallelism()) },
        all: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const seconds = values.all ? Infinity : Number(values.seconds);
    if (!(seconds > 0)) throw new ScriptError("USAGE", `--seconds takes a positive number; received "${values.seconds}".`);
    const out = values.json ? process.stderr : process.stdout;
    const tell = (text: string): void => void out.write(`${text}\n`);
    const start = performance.now();
    const { paths: changed, since } = changesSince(values.base);
    const { files, left } = withinTime(relatedTests(readTexts(root), changed), seconds, usualSeconds(secondsFile));
    tell(`check: ${changed.length} files changed ${since}; ${files.length} of ${files.length + left} test files that they touch`);
    const answer = { changed: changed.length, since, tests: files, left };
    if (values.list) {
      const programs = touchedPrograms(changed);
      if (values.json) console.log(JSON.stringify({ ok: true, ...answer, programs }));
      else for (const name of [...files, ...programs]) tell(name);
      return 0;
    }
    const steps: Step[] = [];
    const step = async (name: string, body: () => Promise<boolean>): Promise<void> => {
      const from = performance.now();
      const ok = await body();
      steps.push({ name, ok, seconds: Math.round((performance.now() - from) / 100) / 10 });
      tell(`check: ${name}: ${ok ? "ok" : "FAILED"} (${steps.at(-1)!.seconds} s)`);
    };
    const runs = async (command: string, args: readonly string[]): Promise<boolean> =>
      !(await execa(command, args, { cwd: root, stdio: ["ignore", 2, 2], reject: false })).failed;
    // Written as npm run build writes them, so that types and tests see what was generated.
    await step("build", async () => {
      await ensureSetup();
      await buildNativeParts();
      await buildTypeScript();
      return true;
    });
    const programs = touchedPrograms(changed);
    for (const [name, command, args] of lintSteps(changed)) await step(name, () => runs(command, args));
    const counts: Counts[] = steps.map(({ ok }) => ({ passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 }));
    if (files.length > 0)
      await step(`${files.length} test files`, async () => {
        const args = [...files, "--reporter=dot", "--reporter=./test/ctrf-reporter.ts"];
        const found = await runVitest("ctrf-check.json", args, { stdout: values.json ? 2 : "inherit" });
        counts.push(found);
        return found.failed === 0;
      });
    for (const program of programs)
      await step(program, async () => {
        // A tenth of its random cases, a quarter of the long ones.
        const args = program === "kernel_test" ? ["--rounds", "20", "--every", "4"] : ["--software", join(release, softwareName())];
        const found = await countProgram(program, join(buildNative, "native", "test", program), args, {
          output: values.json ? "stderr" : "stdout",
        });
        counts.push(found);
        return found.failed === 0;
      });
    if (left > 0) tell(`check: ${left} more test files reach the change: npm test, or npm run check -- --all`);
    const { passed, failed } = sum(counts);
    tell(`check: ${((performance.now() - start) / 1000).toFixed(0)} s`);
    const ok = failed === 0;
    if (values.json) console.log(JSON.stringify({ ok, passed, failed, ...answer, programs, steps }));
    else tell(`${passed} passed, ${failed} failed`);
    return ok ? 0 : 1;
  },
  help,
  { tellsFailures: true },
);
