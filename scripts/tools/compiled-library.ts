// A plugin of vitest: tests that import src get what `npm run build:ts` made of it in dist.
import { dirname, join, resolve, sep } from "node:path";
import type { Plugin } from "vitest/config";
import { at } from "./project.ts";

/** Node reads these modules itself; vitest compiles src again in each run, and evaluates it in twice the time. */
export const compiledFiles = /[\\/]dist[\\/].*\.js$/;

/** Modules of src become their compiled files. Stale ones would be tested: only who has just built them sets DXTENSOR_TEST_LIBRARY=dist. */
export const compiledLibrary: Plugin = {
  name: "compiled-library",
  enforce: "pre",
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith(".") || !source.endsWith(".ts")) return null;
    const file = resolve(dirname(importer), source);
    const sources = at("src") + sep;
    return file.startsWith(sources) ? join(at("dist"), `${file.slice(sources.length, -".ts".length)}.js`) : null;
  },
};
