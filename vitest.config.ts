import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // Node 20 and 22 have no `using` statement of their own.
  oxc: { target: "node20" },
  test: {
    include: ["test/**/*.test.ts"],
    // A crash of native code then ends one file's process, not the run.
    pool: "forks",
    // One a processor: Vitest itself would leave one idle, which the software adapter's threads seldom fill.
    maxWorkers: availableParallelism(),
    execArgv: ["--expose-gc"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./test/ctrf-reporter.ts"],
    snapshotFormat: { printBasicPrototype: false },
  },
});
