// node file.mjs TEST_FILE REPORT [PATTERN]: runs one bundled test file in this process and writes the result of each test, as JSON, also during the
// run, so that results before a crash are kept; REPORT.running names the current test.
import { renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startTests, type File, type Suite, type Task, type Test, type VitestRunner } from "@vitest/runner";
import { Fallbacks } from "./fallbacks.ts";
import type { Report, TestResult } from "./report.ts";
import { beginAssertions, endAssertions } from "./vitest.ts";

/** Why a test skipped itself: the runner's types do not tell of it. */
const noteOf = ({ result }: Test): string | undefined =>
  result !== undefined && "note" in result && typeof result.note === "string" ? result.note : undefined;

/** An error of a task, as the runner keeps it. */
type TaskError = NonNullable<NonNullable<Task["result"]>["errors"]>[number];

const [name = "", report = "", pattern] = process.argv.slice(2);
if (report === "") throw new Error("node file.mjs TEST_FILE REPORT [PATTERN]");
const root = dirname(fileURLToPath(import.meta.url));
// The folder of the tests' own files, for their modules.
Reflect.set(globalThis, "dxtensorTests", new URL(".", import.meta.url).href);

/** The leaves of a task, with the names of the suites around them. */
function* leaves(task: Task, suites: readonly string[] = []): Generator<{ readonly task: Test; readonly suites: readonly string[] }> {
  if (task.type === "test") yield { task, suites };
  else for (const child of task.tasks) yield* leaves(child, task.type === "suite" && "filepath" in task ? suites : [...suites, task.name]);
}

const statusOf = ({ mode, result }: Test): TestResult["status"] => {
  if (result?.state === "pass") return "passed";
  if (result?.state === "fail") return "failed";
  if (mode === "skip" || result?.state === "skip") return "skipped";
  return mode === "todo" ? "pending" : "other";
};

let collected: readonly File[] = [];

/** What an assertion found in a list that should be empty: its message only counts that. */
const listed = ({ actual, expected }: TaskError): readonly string[] =>
  typeof actual === "string" && typeof expected === "string" && /^(Array )?\[\]$/.test(expected) ? [actual.slice(0, 1000)] : [];

function describeFile(file: File): Pick<Report, "tests" | "broken"> {
  const tests = [...leaves(file)].map(({ task, suites }): TestResult => {
    const [error] = task.result?.errors ?? [];
    const text = error === undefined ? noteOf(task) : [error.message, ...listed(error)].join("\n");
    return {
      name: task.name,
      suites: suites.filter((suite) => suite !== file.name),
      status: statusOf(task),
      duration: Math.round(task.result?.duration ?? 0),
      ...(text === undefined ? {} : { message: text }),
      ...(error?.stack === undefined ? {} : { trace: error.stack }),
    };
  });
  // A hook or an import that failed is an error of a suite, not of a test.
  const broken = [file, ...suitesOf(file)].flatMap((suite) =>
    (suite.result?.errors ?? []).map((error) => `${suite.name}: ${error.message}`),
  );
  return { tests, broken };
}

function* suitesOf(suite: Suite): Generator<Suite> {
  for (const child of suite.tasks) {
    if (child.type !== "suite") continue;
    yield child;
    yield* suitesOf(child);
  }
}

const fallbacks = new Fallbacks(process.env.DXTENSOR_TEST_DEVICES);

function write(isComplete: boolean): void {
  const files = collected.map(describeFile);
  const known: Report = {
    isComplete,
    tests: files.flatMap(({ tests }) => tests),
    fellBack: fallbacks.list,
    broken: files.flatMap(({ broken }) => broken),
  };
  writeFileSync(`${report}.new`, JSON.stringify(known));
  renameSync(`${report}.new`, report);
}

let written = 0;
const runner: VitestRunner = {
  pool: "forks",
  config: {
    root,
    setupFiles: [],
    name: undefined,
    passWithNoTests: false,
    testNamePattern: pattern === undefined ? undefined : new RegExp(pattern),
    allowOnly: false,
    sequence: { shuffle: false, concurrent: false, seed: 1, hooks: "stack", setupFiles: "list" },
    chaiConfig: undefined,
    maxConcurrency: 1,
    testTimeout: Number(process.env.DXTENSOR_TEST_TIMEOUT_MS ?? 60_000),
    hookTimeout: 120_000,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
    tagsFilter: undefined,
    strictTags: false,
  },
  importFile: (path) => import(pathToFileURL(path).href),
  onCollected: (files) => {
    collected = files;
  },
  onBeforeRunTask: (test) => {
    writeFileSync(`${report}.running`, test.fullTestName ?? test.name);
    // A file may have thousands of tests.
    if (performance.now() - written > 250) {
      write(false);
      written = performance.now();
    }
  },
  onBeforeTryTask: beginAssertions,
  onAfterTryTask: () => {
    fallbacks.note();
    endAssertions();
  },
};

const unhandled: TaskError[] = [];
const remember = (error: unknown): void => {
  const { message, stack } = error instanceof Error ? error : { message: String(error) };
  unhandled.push({ message: `unhandled: ${message}`, ...(stack === undefined ? {} : { stack }) });
};
process.on("uncaughtException", remember);
process.on("unhandledRejection", remember);

await startTests([{ filepath: join(root, name) }], runner);
// Rejections that nobody waits for are reported after the turn that made them.
await new Promise((resolve) => setImmediate(resolve));
if (unhandled.length > 0) {
  const [file] = collected;
  if (file === undefined) throw new Error(unhandled.map(({ message }) => message).join("\n"));
  file.result = { state: "fail", ...file.result, errors: [...(file.result?.errors ?? []), ...unhandled] };
}
write(true);
