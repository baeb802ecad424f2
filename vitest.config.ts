import { defineConfig } from "vitest/config";

export default defineConfig({
  // Node 20 and 22 have no `using` statement of their own.
  oxc: { target: "node20" },
  test: {
    include: ["test/**/*.test.ts"],
    // A crash of native code then ends one file's process, not the run.
    pool: "forks",
    execArgv: ["--expose-gc"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./test/ctrf-reporter.ts"],
    snapshotFormat: { printBasicPrototype: false },
  },
});
