import { defineConfig } from "vitest/config";

/** npm run test:docker: what needs a Docker engine. One file after the other: they share the engine and two cores. */
export default defineConfig({
  oxc: { target: "node20" },
  test: {
    root: new URL("../..", import.meta.url).pathname,
    include: ["test/**/*.docker.ts"],
    fileParallelism: false,
    pool: "forks",
    // Building an image takes minutes where nothing is cached.
    testTimeout: 20 * 60_000,
    hookTimeout: 20 * 60_000,
    reporters: ["default", "./test/ctrf-reporter.ts"],
  },
});
