// The library as npm test imports it: all modules in one file, and a file for each module that exports that module's part of it.
import { existsSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "rolldown";
import { at } from "../tools/project.ts";
import { testLibrary } from "../tools/compiled-library.ts";
import { importModuleAlone, writeLoader } from "./package-bundles.ts";
import { peers } from "./entries.ts";

/** Modules that are programs: to import one is to run it. */
const programs = ["cli/main.ts", "data/worker/thread.ts", "peers/images/worker.ts"];

/** A script that runs from cached bytecode cannot import modules. */
const requireBuiltins: Plugin = {
  name: "require-builtins",
  transform(code) {
    const replaced = code.replaceAll(/\bimport\(("node:[\w/]+")\)/g, "Promise.resolve(process.getBuiltinModule($1))");
    return replaced === code ? null : { code: replaced, map: null };
  },
};

/** Modules that import packages of the user's at run time: they have files of their own. */
const isPeer = (module: string): boolean => module.replaceAll("\\", "/").startsWith(`${at("src", "peers").replaceAll("\\", "/")}/`);

/**
 * Node takes six times as long to import 800 modules as one file with cached bytecode, and 250 test files have a process each. Does nothing where
 * no source has changed since.
 */
export async function buildTestLibrary(): Promise<void> {
  const names = readdirSync(at("src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".d.ts") && !programs.includes(name.replaceAll("\\", "/")))
    .toSorted();
  const scripts = [at("scripts", "lib", "test-library.ts"), at("scripts", "lib", "package-bundles.ts")];
  const state = JSON.stringify([...names.map((name) => at("src", name)), ...scripts].map((file) => [file, statSync(file).mtimeMs]));
  const known = join(testLibrary, "state.json");
  if (existsSync(known) && readFileSync(known, "utf8") === state) return;
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: Object.fromEntries(names.map((name) => [name.slice(0, -".ts".length).replaceAll("\\", "/"), at("src", name)])),
    platform: "node",
    external: [/^node:/, ...peers],
    transform: { target: "es2023" },
    tsconfig: false,
    preserveEntrySignatures: "strict",
    // Tests see each module whole.
    treeshake: false,
    // Modules that the sources load when they are first used are in the file as well.
    checks: { ineffectiveDynamicImport: false },
    plugins: [requireBuiltins],
  });
  const made = `${testLibrary}.new`;
  rmSync(made, { recursive: true, force: true });
  await build.write({
    dir: made,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    codeSplitting: { groups: [importModuleAlone, { name: "library", test: (module) => !isPeer(module) }] },
    format: "cjs",
    exports: "named",
    keepNames: true,
    comments: false,
    sourcemap: false,
  });
  await build.close();
  // The modules' files require "library.cjs", which is now what loads the code with its bytecode.
  renameSync(join(made, "library.cjs"), join(made, "code.cjs"));
  await writeLoader(join(made, "library.cjs"), join(made, "code.cjs"), "__dirname");
  writeFileSync(join(made, "state.json"), state);
  rmSync(testLibrary, { recursive: true, force: true });
  renameSync(made, testLibrary);
}
