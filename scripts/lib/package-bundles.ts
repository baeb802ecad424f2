// The files of a published package in addition to the repository's bundle: a CommonJS core with parts that are loaded when they are first
// used, thin modules of both kinds over it, and the types in one file, which both use.
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import type { InputOptions, OutputOptions } from "rolldown";
import { ScriptError, at } from "../tools/project.ts";
import { entries, entryInput, fromMain } from "./entries.ts";
import { readFamilies } from "./families.ts";
import { PublicTypes } from "./public-types.ts";
import { namespaceIndices } from "./namespaces.ts";
import { docOfFile } from "./source.ts";
import { tensorMembers } from "./tensor-types.ts";
import { TypesFile } from "./types-file.ts";

/** Of the kinds that a library without `types: ["node"]` or the DOM lacks. */
const globals = {
  AbortSignal: "{ readonly aborted: boolean; readonly reason: unknown }",
  URL: "{\n  /** The whole URL. */\n  readonly href: string;\n}",
};

async function write(options: InputOptions, output: OutputOptions) {
  const { rolldown } = await import("rolldown");
  const build = await rolldown(options);
  await build.write(output);
  await build.close();
}

/** Their licences ask to be kept with the code. */
export const licences = (names: readonly string[]) =>
  names
    .map((name) => {
      const file = readdirSync(at("node_modules", name)).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined) throw new Error(`node_modules/${name} has no licence.`);
      return `/* ${name}\n${readFileSync(at("node_modules", name, file), "utf8").trimEnd()}\n*/`;
    })
    .join("\n");

/** What the library contains of others, and what the command does: its bundles name their licences. */
export const bundled = [
  "csv-parse",
  "cli-progress",
  "string-width",
  "emoji-regex",
  "is-fullwidth-code-point",
  "strip-ansi",
  "ansi-regex",
] as const;
const bundledInParts = [...bundled, "commander", "fflate", "yaml"];

const isOf = (module: string, name: string): boolean => module.replaceAll("\\", "/").includes(`/node_modules/${name}/`);

/** Writes texts of a file in ASCII, which is read without decoding: no identifier, and no text of String.raw, has other characters. */
function writeInAscii(file: string) {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  writeFileSync(file, readFileSync(file, "utf8").replaceAll(/[^\0-\x7f]/g, escaped));
}

/**
 * Has the core export all of its constants by one call: one by one they take a tenth of the library's import. The namespace of all exports,
 * which the command alone reads, is made when it is read.
 */
function exportAtOnce(file: string) {
  const constants: string[] = [];
  const values = new Map<string, string>();
  const text = readFileSync(file, "utf8").replaceAll(/^exports\.([\w$]+) = ([\w$]+);\n/gm, (_, name: string, value: string) => {
    // Rolldown gives a part another thing of the same name; those with an autocast list differ in their checks alone.
    if (values.has(name) && !["linear", "scaledDotProductAttention"].includes(name))
      throw new ScriptError(
        "BUNDLE",
        `A part takes another ${name} of the core than the one that the package exports: import it there under a name of its own.`,
      );
    values.set(name, value);
    constants.push(`${name}: ${value}`);
    return "";
  });
  const namespace = /^var src_exports = (require_rolldown_runtime\.__exportAll\(\{$[\s\S]*?^\}\));$/m;
  const lazy = text
    .replace(namespace, "let src_exports;\nconst namespaceOfAll = () => $1;")
    .replace(/\breturn src_exports;/, "return src_exports ??= namespaceOfAll();");
  if (constants.length === 0 || !lazy.includes("??= namespaceOfAll()") || !lazy.includes("const namespaceOfAll"))
    throw new ScriptError("BUNDLE", `${basename(file)} has no exports of rolldown's form.`);
  writeFileSync(file, `${lazy.trimEnd()}\nObject.assign(exports, { ${constants.join(", ")} });\n`);
}

/** The name of a part that is loaded when it is first used: the path of its module. */
const partName = (module: string): string => `${relative(at("src"), module).slice(0, -".ts".length).replaceAll(/[\\/]/g, "-")}.cjs`;

/** What imports modules of the program is no part of a file whose bytecode is cached. */
export const importModuleAlone = {
  name: "host-import-module",
  test: (module: string) => module === at("src", "host", "import-module.ts"),
  priority: 3,
};

/** Names the modules that the entry imports statically: they are the core. Without, rolldown divides the core by which parts use what. */
function coreOf(entry: string) {
  const modules = new Set([entry]);
  return (module: string, graph: { getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null }) => {
    if (modules.size === 1) for (const id of modules) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) modules.add(next);
    return modules.has(module) ? "core" : null;
  };
}

/** What several parts use is one file. A part that another one uses stays a file of its own. */
const sharedByParts = (module: string, graph: { getModuleInfo(id: string): { readonly dynamicImporters: readonly string[] } | null }) =>
  (graph.getModuleInfo(module)?.dynamicImporters.length ?? 0) > 0 ? null : "shared";

const digestOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex").slice(0, 32);

/** Writes a file that exports what `code`, a file of the same folder, does: it runs that with cached bytecode. cache: an expression, the cache's folder. */
export async function writeLoader(file: string, code: string, cache?: string) {
  const name = JSON.stringify(`./${basename(code)}`);
  const more = cache === undefined ? "" : `, ${cache}`;
  await write(
    {
      input: at("src", "native", "code-cache.ts"),
      platform: "node",
      external: /^node:/,
      transform: { target: "es2023" },
      tsconfig: false,
      treeshake: { moduleSideEffects: false },
    },
    {
      file,
      format: "cjs",
      exports: "named",
      comments: false,
      codeSplitting: false,
      outro: `module.exports = requireCached(require.resolve(${name}), "${digestOf(code)}", () => require(${name})${more});`,
    },
  );
}

/**
 * ES modules and CommonJS share one core, and so its state. Modules that the sources import by import() are files of their own, which take no
 * time until they are used. Bundlers take the ES module with all of the code itself ("module" in exports): each of them makes one copy,
 * whichever form asked for it.
 */
async function bundleCore(folder: string) {
  await write(
    {
      input: { core: at("src", "index.ts"), cli: at("src", "cli", "main.ts") },
      platform: "node",
      external: /^node:/,
      transform: { target: "es2023" },
      tsconfig: false,
      // The parts import what they need from the core: it exports more than the package does.
      preserveEntrySignatures: "allow-extension",
    },
    {
      dir: folder,
      entryFileNames: "[name].cjs",
      // What several parts share, and rolldown's own functions.
      chunkFileNames: ({ facadeModuleId, name }) =>
        facadeModuleId && !facadeModuleId.includes("node_modules") ? partName(facadeModuleId) : `${name.replace("rolldown-", "")}.cjs`,
      codeSplitting: {
        groups: [
          importModuleAlone,
          { name: coreOf(at("src", "index.ts")), debugName: "core", priority: 2 },
          { name: sharedByParts, debugName: "shared", minShareCount: 2, priority: 1 },
        ],
      },
      format: "cjs",
      exports: "named",
      sourcemap: false,
      keepNames: true,
      comments: false,
      footer: ({ moduleIds }) => licences(bundledInParts.filter((name) => moduleIds.some((id) => isOf(id, name)))),
    },
  );
  writeInAscii(join(folder, "core.cjs"));
  exportAtOnce(join(folder, "core.cjs"));
  await writeLoader(join(folder, "load.cjs"), join(folder, "core.cjs"));
  // The parts require "shared.cjs", which is now what loads the code with its bytecode.
  renameSync(join(folder, "shared.cjs"), join(folder, "shared-code.cjs"));
  writeInAscii(join(folder, "shared-code.cjs"));
  await writeLoader(join(folder, "shared.cjs"), join(folder, "shared-code.cjs"));
  writeFileSync(
    join(folder, "cli.js"),
    `#!/usr/bin/env node\nimport { createRequire } from "node:module";\nconst require = createRequire(import.meta.url);\n// The library, with its cached bytecode; then the command, which requires it.\nrequire("./load.cjs");\nrequire("./cli.cjs");\n`,
    { mode: 0o755 },
  );
  // createRequire: an import would have the file's text searched for its exports, which takes as long as running it.
  const names = Object.keys(await import(join(folder, "dxtensor.js"))).toSorted();
  const own = names.map((name) => `  ${name}: core.${name},\n`).join("");
  writeFileSync(
    join(folder, "dxtensor.cjs"),
    `"use strict";\nconst core = require("./load.cjs");\nmodule.exports = {\n${own}};\nObject.defineProperty(module.exports, Symbol.toStringTag, { value: "Module" });\n`,
  );
  writeFileSync(join(folder, "dxtensor.mjs"), moduleOver("./load.cjs", names));
}

/** The text of an ES module that exports what a CommonJS file does. */
function moduleOver(file: string, names: readonly string[]): string {
  // Under names of their own: `var` is no variable's name.
  const taken = names.map((name, i) => `${name}: $${i}`).join(", ");
  const renamed = names.map((name, i) => `$${i} as ${name}`).join(", ");
  return `import { createRequire } from "node:module";\nconst { ${taken} } = createRequire(import.meta.url)("${file}");\nexport { ${renamed} };\n`;
}

/** The other entry points: as the main one, on its core. */
async function bundleEntries(folder: string) {
  for (const entry of entries) {
    const { name } = entry;
    const output = { format: "cjs", exports: "named", sourcemap: false, keepNames: true, comments: false, codeSplitting: false } as const;
    await write(entryInput(entry, "./dxtensor.cjs"), { ...output, file: join(folder, `${name}.cjs`) });
    const names = Object.keys(await import(join(folder, `${name}.js`))).toSorted();
    writeFileSync(join(folder, `${name}.mjs`), moduleOver(`./${name}.cjs`, names));
  }
}

/** The code that Node runs, into a folder that has the ES modules: the library, its other entry points, and the command. */
export async function bundleCommonJs(folder: string) {
  await bundleCore(folder);
  await bundleEntries(folder);
}

/** The types of an entry point in one file, next to that of the main one. */
export async function bundleEntryTypes(name: string, file: string) {
  const { dts } = await import("rolldown-plugin-dts");
  const { module } = entries.find((entry) => entry.name === name)!;
  const input = { input: at("dist", `${module}.d.ts`), external: /^node:/, logLevel: "silent" } as const;
  await write({ ...input, plugins: [fromMain("./dxtensor.js"), dts({ dtsInput: true })] }, { file, format: "es", codeSplitting: false });
}

/** The bundled types: what augments a class (`declare module "../tensor.ts"`) is now in the same file, as an interface that merges with it. */
function mergeAugmented(text: string): string {
  const augmented = new Set<string>();
  let merged = text.replaceAll(/^declare module "[^"]*" \{\n([\s\S]*?)^\}\n/gm, (_, body: string) => {
    for (const [, name] of body.matchAll(/^ {2}interface (\w+)/gm)) augmented.add(name!);
    return body;
  });
  // The bundler, which did not see the interface as the class's, renamed that.
  for (const name of augmented) merged = merged.replaceAll(new RegExp(`(?<![\\w$])${name}\\$1(?![\\w$])`, "g"), name);
  const used = Object.entries(globals).filter(([name]) => new RegExp(`[^\\w.]${name}[^\\w:]`).test(merged));
  const own = used.map(
    ([name, otherwise]) => `type ${name} = typeof globalThis extends { ${name}: { prototype: infer T } } ? T : ${otherwise};\n`,
  );
  // Libraries before esnext.disposable lack it; where they have it the two declarations are one.
  const symbols = ["dispose", "asyncDispose"].filter((name) => merged.includes(`[Symbol.${name}]`));
  const members = symbols.map((name) => `    readonly ${name}: unique symbol;\n`).join("");
  if (symbols.length > 0) own.push(`declare global {\n  interface SymbolConstructor {\n${members}  }\n}\n`);
  return (
    own.join("") +
    merged
      .replaceAll("typeof 1e400", "typeof Infinity")
      // Behind a member a comment would be that one's.
      .replaceAll(/([;,{]) *(\/\*\*(?:(?!\*\/)[\s\S])*\*\/)\s*/g, "$1\n$2\n")
  );
}

/** What the bundler calls the namespace of a file. */
const spaceOf = (file: string): string => `${file.replace(/^.*\//, "").slice(0, -3).replaceAll(/[-.]/g, "_")}_d_exports`;

/** The comments of namespaces, by the bundler's names: the first one of the file that lists what is in it. */
const namespaceDocs = (): ReadonlyMap<string, string> =>
  new Map([
    ...namespaceIndices().map(([made, index]) => [spaceOf(made), docOfFile(index)] as const),
    ...["public/backend.ts", "public/dml.ts", "nn/functional.generated.ts"].map((file) => [spaceOf(file), docOfFile(file)] as const),
  ]);

/** The comments of the methods' names in the families, by class. */
const methodDocs = (): ReadonlyMap<string, ReadonlyMap<string, string>> =>
  new Map([["Tensor", new Map(readFamilies().flatMap((f) => [...f.methodDocs]))]]);

/** The types in one file, made of what tsc made of the sources. */
export async function bundleTypes(file: string) {
  const { dts } = await import("rolldown-plugin-dts");
  const work = mkdtempSync(join(tmpdir(), "dxtensor-types-"));
  try {
    const made = join(work, "index.d.ts");
    await write(
      {
        input: at("dist", "index.d.ts"),
        plugins: [dts({ dtsInput: true })],
        external: /^node:/,
        // Files that only augment are imported for their effect.
        treeshake: { moduleSideEffects: true },
        logLevel: "silent",
      },
      { file: made, format: "es", codeSplitting: false },
    );
    const docs = methodDocs();
    const types = new PublicTypes(new TypesFile(mergeAugmented(readFileSync(made, "utf8"))), namespaceDocs(), (t) =>
      tensorMembers(t, docs),
    );
    writeFileSync(file, types.print());
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** All of the package's code into a folder, with its types. The TypeScript is built. */
export async function bundlePackage(folder: string) {
  cpSync(at("dist", "bundle"), folder, { recursive: true });
  await bundleTypes(join(folder, "dxtensor.d.cts"));
  // One copy: types of both module systems are the same ones.
  writeFileSync(join(folder, "dxtensor.d.ts"), 'export * from "./dxtensor.cjs";\n');
  for (const { name } of entries) {
    await bundleEntryTypes(name, join(folder, `${name}.d.ts`));
    const text = readFileSync(join(folder, `${name}.d.ts`), "utf8");
    writeFileSync(join(folder, `${name}.d.cts`), text.replaceAll('"./dxtensor.js"', '"./dxtensor.cjs"'));
  }
}
