/** Writes test-results/ctrf.json, a report in the Common Test Report Format; scripts/test.ts counts from it. */
import { relative, resolve } from "node:path";
import { TestBuilder, type Test, type TestStatus } from "ctrf";
import type { TestCase, TestModule, TestSuite } from "vitest/node";
import type { Reporter } from "vitest/reporters";
import { writeCtrf } from "../scripts/tools/ctrf.ts";

/** Names of the suites around a test, outermost first. */
function suiteNames(test: TestCase | TestSuite): string[] {
  return test.parent.type === "suite" ? [...suiteNames(test.parent), test.parent.name] : [];
}

function statusOf(test: TestCase): TestStatus {
  const { state } = test.result();
  if (state === "passed" || state === "failed") return state;
  if (state === "pending") return "other";
  return test.options.mode === "todo" ? "pending" : "skipped";
}

function convert(test: TestCase, file: string): Test {
  const result = test.result();
  const builder = new TestBuilder()
    .name(test.name)
    .status(statusOf(test))
    .duration(Math.round(test.diagnostic()?.duration ?? 0))
    .suite([file, ...suiteNames(test)])
    .filePath(file);
  const [error] = result.errors ?? [];
  if (error !== undefined) {
    builder.message(error.message);
    if (error.stack !== undefined) builder.trace(error.stack);
  } else if (result.state === "skipped" && result.note !== undefined) {
    builder.message(result.note);
  }
  return builder.build();
}

/** A file that could not be read or whose worker died is one failed test. */
function moduleFailures(module: TestModule, file: string): Test[] {
  return module
    .errors()
    .map((error) => new TestBuilder().name(file).status("failed").duration(0).suite([file]).filePath(file).message(error.message).build());
}

export default class CtrfReporter implements Reporter {
  readonly #file = resolve(process.env["DXTENSOR_CTRF"] ?? "test-results/ctrf.json");

  #start = Date.now();

  onTestRunStart(): void {
    this.#start = Date.now();
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { message: string }[]): void {
    const tests = modules.flatMap((module) => {
      const file = relative(process.cwd(), module.moduleId).replaceAll("\\", "/");
      return [...Array.from(module.children.allTests(), (test) => convert(test, file)), ...moduleFailures(module, file)];
    });
    for (const { message } of unhandled)
      tests.push(new TestBuilder().name("unhandled error").status("failed").duration(0).message(message).build());
    const extra = { node: process.version, platform: `${process.platform}-${process.arch}` };
    writeCtrf(this.#file, { tool: "vitest", tests, start: this.#start, environment: { extra } });
  }
}
