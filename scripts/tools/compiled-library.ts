// A plugin of vitest: tests that import src get the library that npm test has built of it.
import { dirname, join, resolve, sep } from "node:path";
import type { Plugin } from "vitest/config";
import { at } from "./project.ts";

/** The folder of the library for tests: scripts/lib/test-library.ts makes it. */
export const testLibrary = at("build", "test-library");

/** Node reads these modules itself; vitest compiles src again in each run, and evaluates it in five times the time. */
export const compiledFiles = /[\\/]build[\\/]test-library[\\/].*\.cjs$/;

/** Modules of src become files of the library for tests. A stale one would be tested: only who has just built it sets DXTENSOR_TEST_LIBRARY=built. */
export const compiledLibrary: Plugin = {
  name: "compiled-library",
  enforce: "pre",
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith(".") || !source.endsWith(".ts")) return null;
    const file = resolve(dirname(importer), source);
    const sources = at("src") + sep;
    return file.startsWith(sources) ? join(testLibrary, `${file.slice(sources.length, -".ts".length)}.cjs`) : null;
  },
};
