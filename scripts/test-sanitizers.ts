// npm run test:sanitizers [-- address | thread] [--minutes N]: the native test programs under AddressSanitizer with
// UndefinedBehaviorSanitizer, and under ThreadSanitizer, against the software adapter built the same way; and the addon under the former
// inside Node.
import { existsSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ScriptError, at, headers, main, root, say, tool } from "./tools/project.ts";
import { runStep } from "./tools/steps.ts";
import { buildTypeScript } from "./build.ts";
import { close, countProgram, type Counts } from "./tools/counts.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { explainMissing, findTools, hasAll, missingTools, readCompiler, type AllTools } from "./lib/toolchain.ts";
import { softwareName } from "./lib/native-files.ts";

const help = `npm run test:sanitizers [-- address | thread] [--minutes N]

Runs the native test programs under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer, against the software adapter built
the same way; without a name under both. AddressSanitizer also runs the addon inside Node: random calls, and the tests in TypeScript that reach
most of it.

  --minutes N  then runs native/dml under many threads for N minutes in each build, each run with another seed; and more random calls of the addon
  --help       this text`;

type Name = "address" | "thread";

const builds: Readonly<Record<Name, { readonly flags: string; readonly env: NodeJS.ProcessEnv }>> = {
  address: {
    // Callers of the interfaces may pass any number for an enum, and the suite does: that is no finding.
    flags: "-fsanitize=address,undefined -fno-sanitize=enum -fno-sanitize-recover=undefined -fno-omit-frame-pointer",
    // Without intercept_tls_get_addr=0 LeakSanitizer's own tracer faults on thread-local memory of libraries that were unloaded.
    env: {
      ASAN_OPTIONS: "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1:intercept_tls_get_addr=0",
      UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1",
    },
  },
  thread: {
    flags: "-fsanitize=thread -fno-omit-frame-pointer",
    env: { TSAN_OPTIONS: "halt_on_error=0:second_deadlock_stack=1:exitcode=66" },
  },
};

/** The test programs. */
const programs = ["kernel_test", "abi_suite", "dml_stress"];

async function build(name: Name, { flags }: { readonly flags: string }, tools: AllTools) {
  const others = name === "address" ? ["dxtensor_addon"] : [];
  const folder = at("build", "sanitizers", name);
  const generator = tools.builder === "ninja" ? ["-G", "Ninja"] : [];
  const steps = [
    [
      "-S",
      root,
      "-B",
      folder,
      ...generator,
      // No configuration of CMake's: its optimisation makes instrumented templates take three times as long to compile.
      "-DCMAKE_BUILD_TYPE=Sanitize",
      `-DCMAKE_CXX_COMPILER=${tools.compiler.command}`,
      `-DCMAKE_CXX_FLAGS=-O1 -g1 ${flags}`,
      `-DDXTENSOR_HEADERS=${headers}`,
      "-DDXTENSOR_TESTS=ON",
      `-DCMAKE_JS_INC=${at("node_modules", "node-api-headers", "include")}`,
      `-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${join(folder, "Release")}`,
    ],
    // What runs, and no more: neither benches nor, where Node is not instrumented, the addon.
    ["--build", folder, "--parallel", String(availableParallelism()), "--target", ...programs, "dxtensor_software", ...others],
  ];
  for (const args of steps) await runStep(`The ${name} sanitizer's build`, "cmake", args);
  return folder;
}

/** Threads over native/dml until the time is over; each run counts its tests. */
async function stress(name: Name, file: string, args: readonly string[], minutes: number, env: NodeJS.ProcessEnv) {
  const counts: Counts[] = [];
  for (let seed = 1, end = Date.now() + minutes * 60_000; Date.now() < end; seed++)
    counts.push(
      await countProgram(`dml_stress (${name}), seed ${seed}`, file, [...args, "--seed", String(seed), "--rounds", "100"], { env }),
    );
  return counts;
}

/** What reaches most of native/addon, and takes no minutes under a sanitizer. */
const inNode = [
  "test/native",
  "test/runtime/removed.test.ts",
  "test/runtime/refused.test.ts",
  "test/runtime/eager.test.ts",
  "test/runtime/library-backend.test.ts",
  "test/compile/compile.test.ts",
  "test/compile/stateful.test.ts",
  "test/graph/plan",
];

/** The tests in TypeScript over the addon of this build. Node itself is not instrumented: the runtime is loaded before it. */
async function runInNode(name: Name, folder: string, tools: AllTools, minutes: number) {
  await buildTypeScript();
  const runtimes: string[] = [];
  for (const library of ["libasan.so", "libstdc++.so"]) {
    const { stdout } = await execa(tools.compiler.command, [`-print-file-name=${library}`]);
    if (!existsSync(stdout)) throw new ScriptError("RUNTIME_MISSING", `${tools.compiler.command} has no ${library}.`);
    runtimes.push(realpathSync(stdout));
  }
  const env = {
    ...builds[name].env,
    // V8's memory is nobody's leak, and its stacks are its own.
    ASAN_OPTIONS: "detect_leaks=0",
    LD_PRELOAD: runtimes.join(" "),
    // Of the backend libraries that tests compile.
    CXXFLAGS: builds[name].flags,
    DXTENSOR_NATIVE: join(folder, "Release", "dxtensor.node"),
    DXTENSOR_SOFTWARE: join(folder, "Release", softwareName()),
    DXTENSOR_FUZZ_PROGRAMS: "100",
    DXTENSOR_FUZZ_CALLS: String(5000 + 20_000 * minutes),
  };
  if (!existsSync(env.DXTENSOR_NATIVE)) throw new ScriptError("NOT_BUILT", `${env.DXTENSOR_NATIVE} was not built.`);
  return countProgram(`the addon in Node (${name})`, tool("vitest"), ["run", "--reporter=dot", ...inNode], { env });
}

await main(async () => {
  const asked = process.argv.slice(2);
  const option = asked.indexOf("--minutes");
  const minutes = option < 0 ? 0 : Number(asked.splice(option, 2)[1]);
  if (!Number.isFinite(minutes) || minutes < 0) throw new ScriptError("USAGE", "--minutes takes a number of minutes.");
  const names = (asked.length > 0 ? asked : Object.keys(builds)) as Name[];
  const unknown = names.find((name) => !(name in builds));
  if (unknown !== undefined)
    throw new ScriptError(
      "USAGE",
      `There is no sanitizer build "${unknown}".`,
      `npm run test:sanitizers [-- ${Object.keys(builds).join(" | ")}]`,
    );
  await ensureSetup();
  const tools = findTools();
  if (!hasAll(tools)) throw new ScriptError("TOOLS_MISSING", explainMissing(missingTools(tools), tools.old));
  const counts: Counts[] = [];
  for (const name of names) {
    say(`\n== ${name}: building`);
    const folder = await build(name, builds[name], tools);
    const software = ["--software", join(folder, "Release", softwareName())];
    for (const [program, args] of [
      // Fewer rounds than without a sanitizer, which takes five to fifteen times as long.
      // Most time goes to what one thread computes, exact sums for one: of the long cases each sees some, ThreadSanitizer few.
      ["kernel_test", ["--rounds", "10", "--every", name === "thread" ? "8" : "2"]],
      ["abi_suite", software],
      ["dml_stress", software],
    ] as const) {
      const file = join(folder, "native", "test", program);
      if (!existsSync(file)) throw new ScriptError("NOT_BUILT", `${file} was not built.`);
      counts.push(await countProgram(`${program} (${name})`, file, args, { env: builds[name].env }));
    }
    // clang's runtime is in each program, not a library that another program could load first.
    if (name === "address" && readCompiler(tools.compiler.line)?.family === "clang") say("== the addon in Node: needs g++, was not run");
    else if (name === "address") counts.push(await runInNode(name, folder, tools, minutes));
    const { env } = builds[name];
    if (minutes > 0) counts.push(...(await stress(name, join(folder, "native", "test", "dml_stress"), software, minutes, env)));
  }
  return close(counts);
}, help);
