// npm run build [-- native | ts]: the addon with its libraries, and the TypeScript. Both are incremental.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Plugin } from "rolldown";
import { ScriptError, at, buildNative, headers, main, root, say, tool } from "./tools/project.ts";
import { dropForeignCache } from "./lib/cmake-cache.ts";
import { headersProblem } from "./lib/headers.ts";
import { withLock } from "./tools/lock.ts";
import { runStep } from "./tools/steps.ts";
import { entries, entryInput } from "./lib/entries.ts";
import { bundleCommonJs, bundled, licences } from "./lib/package-bundles.ts";
import { explainMissing, findTools, hasAll, missingTools } from "./lib/toolchain.ts";

const help = `npm run build [-- native | ts] [--runtime]

Builds what is out of date: the addon with its libraries and test programs, and the TypeScript.

  native     only the addon, libraries and test programs (npm run build:native)
  ts         only the TypeScript (npm run build:ts)
  --runtime  no native test programs
  --help     this text`;

/** What the package needs at run time; the test programs are the rest. */
const runtimeTargets = ["dxtensor_addon", "dxtensor_software"];

/** Builds everything native, or only what is needed at run time. */
export async function buildNativeParts({ isRuntimeOnly = false } = {}) {
  const problem = headersProblem(headers);
  if (problem !== null) throw new ScriptError("HEADERS_MISSING", `No usable DirectX headers: ${problem}.`, "Run: npm run setup");
  const tools = findTools();
  if (!hasAll(tools)) throw new ScriptError("TOOLS_MISSING", explainMissing(missingTools(tools), tools.old));
  await withLock(at("build", "native.lock"), async () => {
    const dropped = dropForeignCache(buildNative, { source: root });
    if (dropped !== null) say(`build: configures again: ${dropped}`);
    // A configuration that failed leaves a cache, but nothing to build with.
    const configured = process.platform === "win32" ? ["CMakeCache.txt"] : ["build.ninja", "Makefile"];
    if (!configured.some((name) => existsSync(join(buildNative, name)))) {
      // cmake-js knows the include folders of Node's headers; everything after is CMake's own.
      const env = tools.compiler.command === "c++" ? {} : { CXX: tools.compiler.command };
      await runStep("CMake", tool("cmake-js"), ["configure", "-O", "build/native", "--config", "Release", "--log-level", "warn"], { env });
    }
    const targets = isRuntimeOnly ? ["--target", ...runtimeTargets] : [];
    await runStep("The native build", "cmake", [
      "--build",
      buildNative,
      "--config",
      "Release",
      "--parallel",
      String(availableParallelism()),
      ...targets,
    ]);
  });
}

/** What tsc made of files that are gone would still be shipped. */
function dropStale(folder: string, sources: string) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const base = /^(.*)(?:\.js|\.js\.map|\.d\.ts|\.d\.ts\.map)$/.exec(name)?.[1];
    // bundle() keeps order in its own folder.
    if (base !== undefined && !/^bundle[\\/]/.test(name) && !existsSync(join(sources, `${base}.ts`))) rmSync(join(folder, name));
  }
}

/** Folders of TypeScript that is compiled; tests are not, vitest reads them as they are. */
const projects: readonly (readonly [name: string, output: string])[] = [
  ["src", at("dist")],
  ["examples", at("build", "examples")],
  ["bench", at("build", "bench")],
  ["matrix", at("build", "matrix")],
];
const hasSources = (name: string) => existsSync(at(name)) && readdirSync(at(name)).some((file) => file.endsWith(".ts"));

/** What the package is at run time: the library, its other entry points, and the command. */
const code = at("dist", "bundle");
const bundles: readonly (readonly [input: string, file: string])[] = [
  ["index.ts", "dxtensor.js"],
  ...entries.map(({ name, module }) => [`${module}.ts`, `${name}.js`] as const),
];
/** What is built last of the code's files. */
const last = join(code, "dxtensor.mjs");

/**
 * Modules that the sources import by import() are imported statically. Without, rolldown makes each module that they share with the rest a
 * function that runs at its first use, and its constants variables: an eager call takes 8 % longer.
 */
const staticParts: Plugin = {
  name: "static-parts",
  transform(code, id) {
    const parts: string[] = [];
    const replaced = code.replaceAll(/\bimport\(("\.[^"]*")\)/g, (_, module: string) => {
      parts.push(`import * as part$${parts.length} from ${module};\n`);
      return `Promise.resolve(part$${parts.length - 1})`;
    });
    return parts.length === 0 || id.endsWith(".generated.ts") ? null : { code: parts.join("") + replaced, map: null };
  },
};

/**
 * ES modules of one file each, for bundlers, and the CommonJS that Node runs. They lie as deep in dist as the modules do, and are made of the sources, so
 * that source maps lead to them.
 */
async function bundle() {
  const sources = readdirSync(at("src"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const makers = ["build.ts", "lib/package-bundles.ts", "lib/entries.ts"].map((name) => at("scripts", name));
  const newest = Math.max(...[...sources.map((name) => at("src", name)), ...makers].map((file) => statSync(file).mtimeMs));
  const known = at("build", "ts", "bundle.json");
  // A source that was removed makes no file newer.
  const state = JSON.stringify(sources.toSorted());
  if (existsSync(last) && statSync(last).mtimeMs > newest && existsSync(known) && readFileSync(known, "utf8") === state) return;
  const { rolldown } = await import("rolldown");
  const { esmExternalRequirePlugin } = await import("rolldown/plugins");
  const made = `${code}.new`;
  rmSync(made, { recursive: true, force: true });
  for (const [input, file] of bundles) {
    const entry = entries.find(({ module }) => input === `${module}.ts`);
    // A CommonJS package's require of a module of Node's becomes an import: as a bundler's CommonJS, this file has no address for createRequire.
    const plugins = [esmExternalRequirePlugin({ external: [...builtinModules] }), staticParts];
    const build = await rolldown(
      entry === undefined
        ? {
            input: at("src", input),
            platform: "node",
            external: /^node:/,
            transform: { target: "es2023" },
            tsconfig: false,
            plugins,
          }
        : entryInput(entry, "./dxtensor.js"),
    );
    await build.write({
      file: join(made, file),
      format: "esm",
      sourcemap: false,
      keepNames: true,
      codeSplitting: false,
      comments: false,
      // Their licences ask to be kept with the code.
      footer: entry === undefined ? licences(bundled) : "",
    });
    await build.close();
  }
  await bundleCommonJs(made);
  // Programs that run meanwhile find each file whole.
  mkdirSync(code, { recursive: true });
  const names = readdirSync(made).toSorted((a, b) => Number(join(code, a) === last) - Number(join(code, b) === last));
  for (const name of names) renameSync(join(made, name), join(code, name));
  rmSync(made, { recursive: true });
  for (const name of readdirSync(code)) if (!names.includes(name)) rmSync(join(code, name));
  writeFileSync(known, state);
}

/** What the outputs are made of, and that they are there: names, sizes and times of all sources, of what generates and compiles them. */
function stateOf(folders: readonly (readonly [name: string, output: string])[]): string {
  // The matrix copies no docs.
  const read = [...folders.map(([name]) => name), "scripts", "native/schema", "docs"].filter((folder) => existsSync(at(folder)));
  const inputs = read.flatMap((folder) => readdirSync(at(folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)));
  const files = [...inputs, "package.json", "package-lock.json", "README.md", "tsconfig.base.json"].toSorted();
  const outputs = [
    ...folders.map(([, output]) => output),
    ...(existsSync(code) ? readdirSync(code).map((name) => join(code, name)) : []),
    last,
    at("dist", "index.js"),
  ];
  const stats = (list: readonly string[]) =>
    list.map((file) => {
      const { size, mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { size: -1, mtimeMs: 0 };
      return [file, size, mtimeMs];
    });
  return JSON.stringify([process.version, stats(files.map((file) => at(file))), stats(outputs.filter((file) => /\.[cm]?js$/.test(file)))]);
}

/** Compiles the named folders, all of them if none is named; src is always among them. Does nothing where nothing has changed since. */
export async function buildTypeScript(names: readonly string[] = projects.map(([name]) => name)) {
  const there = projects.filter(([name]) => (name === "src" || names.includes(name)) && hasSources(name));
  await withLock(at("build", "ts.lock"), async () => {
    const known = at("build", "ts", `built-${there.map(([name]) => name).join("-")}.json`);
    if (existsSync(known) && readFileSync(known, "utf8") === stateOf(there) && there.every(([, output]) => existsSync(output))) return;
    rmSync(known, { force: true });
    for (const [name, output] of there) dropStale(output, at(name));
    const { generateOperations } = await import("./generate-operations.ts");
    generateOperations();
    const { writeWorker } = await import("./generate-worker.ts");
    await writeWorker(false);
    if (!existsSync(at("dist", "index.js"))) rmSync(at("build", "ts", "src.tsbuildinfo"), { force: true });
    await runStep("The TypeScript build", tool("tsc"), ["-b", ...there.map(([name]) => name)]);
    await bundle();
    writeFileSync(known, stateOf(there));
  });
}

if (process.argv[1] === at("scripts", "build.ts")) {
  await main(async () => {
    const { values, positionals } = parseArgs({ options: { runtime: { type: "boolean", default: false } }, allowPositionals: true });
    const [what] = positionals;
    const unknown = positionals.find((name, i) => i > 0 || (name !== "native" && name !== "ts"));
    if (unknown !== undefined) throw new ScriptError("USAGE", `There is no "${unknown}" to build.`, "npm run build [-- native | ts]");
    const start = performance.now();
    if (what !== "ts") await buildNativeParts({ isRuntimeOnly: values.runtime });
    if (what !== "native") await buildTypeScript();
    say(`build: done in ${((performance.now() - start) / 1000).toFixed(1)} s`);
  }, help);
}
