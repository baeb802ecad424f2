/**
 * node build/matrix/cell/main.js: runs the tests of one cell in this container, WSL distribution or host, and writes ctrf.json and facts.json. The
 * arguments describe everything but the tests.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { TestBuilder, parse, type Test } from "ctrf";
import { writeCtrf } from "../../scripts/tools/ctrf.ts";
import { problemOf, runProgram } from "../../scripts/tools/program.ts";
import { at, root } from "../root.ts";
import { deviceEnvironment, parseDevice } from "./device.ts";
import { gatherFacts } from "./facts.ts";

const help = `node build/matrix/cell/main.js --device DEVICE --out FOLDER [--native] TEST...

  --device   software, simulated:PROFILE@LEVEL or hardware:INDEX
  --out      folder for ctrf.json and facts.json
  --native   the native test programs too
  TEST       vitest's filters`;

interface Shown {
  /** Null when all was well. */
  readonly problem: string | null;
  readonly tail: readonly string[];
}

/** Runs a program with its output shown; the last lines are kept. */
async function run(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Shown> {
  const tail: string[] = [];
  const ended = await runProgram(command, args, {
    cwd: root,
    env: { ...env, FORCE_COLOR: "0", NO_COLOR: "1" },
    keep: 0,
    // Who ends the cell by force ends this too.
    isGroup: false,
    onLine: (line) => {
      process.stdout.write(`${line}\n`);
      tail.push(line);
      if (tail.length > 20) tail.shift();
    },
  });
  return { problem: problemOf(ended), tail };
}

/** vitest's own report; a run that ends badly without a failed test is one failed test. */
async function runTests(
  filters: readonly string[],
  env: Readonly<Record<string, string>>,
  out: string,
  fallbacks: string,
): Promise<Test[]> {
  const file = join(out, "vitest.json");
  rmSync(file, { force: true });
  const ended = await run(process.execPath, [at("node_modules", "vitest", "vitest.mjs"), "run", ...filters], {
    ...env,
    DXTENSOR_CTRF: file,
    DXTENSOR_FALLBACKS: fallbacks,
  });
  const tests = existsSync(file) ? parse(readFileSync(file, "utf8")).results.tests : [];
  rmSync(file, { force: true });
  const hasFailure = tests.some((test) => test.status === "failed");
  if (tests.length === 0 || (ended.problem !== null && !hasFailure)) {
    const how = `vitest ${ended.problem ?? "ended with status 0"}`;
    const message = tests.length === 0 ? `no test ran; ${how}` : how;
    tests.push(
      new TestBuilder()
        .name("vitest")
        .status("failed")
        .duration(0)
        .suite(["vitest"])
        .filePath("vitest")
        .message(message)
        .trace(ended.tail.join("\n"))
        .build(),
    );
  }
  return tests;
}

/** Each native program is one test; its own count stands in the message. */
async function runNative(): Promise<Test[]> {
  const folder = at("build", "native", "native", "test");
  const suffix = process.platform === "win32" ? ".exe" : "";
  const library = process.platform === "win32" ? "dxtensor_software.dll" : "libdxtensor_software.so";
  const tests: Test[] = [];
  for (const [name, args] of [
    ["kernel_test", []],
    ["abi_suite", ["--software", at("build", "native", "Release", library)]],
  ] as const) {
    const start = Date.now();
    const ended = await run(join(folder, name + suffix), args, {});
    const count = ended.tail.findLast((line) => /\d+ passed, \d+ failed/.test(line)) ?? "";
    const isGood = ended.problem === null && / 0 failed/.test(count);
    const builder = new TestBuilder()
      .name(name)
      .status(isGood ? "passed" : "failed")
      .duration(Date.now() - start)
      .suite(["native"])
      .filePath("native")
      .message(count === "" ? (ended.problem ?? "ended with status 0") : count);
    tests.push((isGood ? builder : builder.trace(ended.tail.join("\n"))).build());
  }
  return tests;
}

const { values, positionals } = parseArgs({
  options: { device: { type: "string" }, out: { type: "string" }, native: { type: "boolean" }, help: { type: "boolean" } },
  allowPositionals: true,
});
if (values.help === true || values.device === undefined || values.out === undefined || positionals.length === 0) {
  console.log(help);
  process.exit(values.help === true ? 0 : 2);
}
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
const device = parseDevice(values.device);
const start = Date.now();
const env = deviceEnvironment(device);
const facts = await gatherFacts(device, env);
writeFileSync(join(out, "facts.json"), `${JSON.stringify(facts, null, 2)}\n`);
const fallbacks = join(out, "fallbacks");
rmSync(fallbacks, { recursive: true, force: true });
const tests = await runTests(positionals, env, out, fallbacks);
if (values.native === true) tests.push(...(await runNative()));
const environment = {
  appName: "dxtensor",
  osPlatform: process.platform,
  osVersion: facts["system"] ?? "",
  testEnvironment: values.device,
  extra: facts,
};
const file = join(out, "ctrf.json");
writeCtrf(file, { tool: "vitest", tests, start, environment });
// What `dxtensor conformance` says of a device: the program needs the library's sources, which no build of the matrix has.
const describe = ["--import", "./scripts/typescript.mjs", "scripts/conformance/describe.ts", "--report", file, "--fallbacks", fallbacks];
const described = await run(process.execPath, [...describe, "--device", env["DXTENSOR_TEST_DEVICES"]!], env);
if (described.problem !== null) console.log(`the report does not describe the device: ${described.problem}`);
rmSync(fallbacks, { recursive: true, force: true });
const failed = tests.filter((test) => test.status === "failed").length;
const passed = tests.filter((test) => test.status === "passed").length;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
