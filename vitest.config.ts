import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { compiledFiles, compiledLibrary } from "./scripts/tools/compiled-library.ts";

/**
 * Tests that compute and change nothing of the process share a worker: reading the library's modules takes a second for each file. Others have a
 * process of their own: they end devices, count what lives or is compiled, set variables, or measure time and memory.
 */
const shared = [
  ...[
    "autograd",
    "compile",
    "complex",
    "control",
    "data",
    "fft",
    "func",
    "golden",
    "graph",
    "inspect",
    "metrics",
    "model-run",
    "models",
    "nn",
    "onnx",
    "ops",
    "optim",
    "peers",
    "properties",
    "runtime/lapack",
    "shader",
    "site",
    "train",
    "io/{gguf,npy,npz,tfjs,wav}",
  ].map(
    (folder) =>
      `test/${folder}/**/!(engine|event-files|gguf-packed|hostile|hub|intermediates|lifecycle|saved-hooks|steady-device|timed-graph|worker-processes).test.ts`,
  ),
  "test/{changed,ci-paths,devcontainer,file-names,folders,generated-lines,image-sources,limits,release,soak,tools,windows-image,words}.test.ts",
  "test/conformance/{call,criteria,fallbacks}.test.ts",
  "test/core/{ambient,scope,tensor}.test.ts",
  "test/io/{safetensors-shards,source,whole-file}.test.ts",
  "test/io/checkpoint/{folder,into,merge-states}.test.ts",
  "test/io/pytorch/load.test.ts",
  "test/matrix/{plan,report}.test.ts",
  "test/tools/{cmake-cache,lines,package-links}.test.ts",
  "test/types/promises.test.ts",
];

/**
 * Tests that import the package by its name: a second copy of the library, whose devices are the first one's. They share workers with each other alone: closeDevice()
 * of one copy leaves open what the other has.
 */
const byName = ["test/bench/**/*.test.ts", "test/examples/!(distributed-jobs|options|telemetry|train-ddp).test.ts"];

/** Files with processes of their own first, for they take longest; then those that share: one after the other in one worker. */
class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isShared = (file: TestSpecification): boolean => file.project.name !== "own";
    return [...sorted.filter((file) => !isShared(file)), ...sorted.filter(isShared)];
  }
}

/** npm test has built the library, and runs its tests on that. */
const isCompiled = process.env.DXTENSOR_TEST_LIBRARY === "built";

export default defineConfig({
  plugins: isCompiled ? [compiledLibrary] : [],
  // Node 20 and 22 have no `using` statement of their own.
  oxc: { target: "node20" },
  test: {
    // A crash of native code then ends one file's process, not the run.
    pool: "forks",
    ...(isCompiled ? { server: { deps: { external: [compiledFiles] } } } : {}),
    // One worker more than CPUs: a test waits for its device, or for a program that it started, a fifth of its time.
    maxWorkers: availableParallelism() + 1,
    execArgv: ["--expose-gc"],
    // Tests of the cache turn it on, in folders of their own.
    env: { DXTENSOR_SHADER_CACHE: "0" },
    setupFiles: ["./test/stack-traces.ts", "./test/fallbacks.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./test/ctrf-reporter.ts"],
    snapshotFormat: { printBasicPrototype: false },
    sequence: { sequencer: Sequencer },
    projects: [
      { extends: true, test: { name: "own", include: ["test/**/*.test.ts"], exclude: [...shared, ...byName] } },
      { extends: true, test: { name: "shared", include: shared, isolate: false } },
      { extends: true, test: { name: "by name", include: byName, isolate: false } },
    ],
  },
});
