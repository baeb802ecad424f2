/** Loads the addon when it is first asked for; importing this file loads nothing. */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { NativeLoadError } from "../errors.ts";
import type { Binding, LibraryPaths } from "./binding.ts";
import { loadAddon, ownFile, packageFolder, packageRoot } from "../home.ts";
import { published } from "./published.ts";
import {
  addonPaths,
  deviceTimeoutOf,
  lapackPaths as lapackPathsIn,
  libraryPaths as pathsIn,
  takesCpuAdapters,
  type Surroundings,
} from "./paths.ts";

let root: string | undefined;

/** This process as it is now: variables that change before the first device call count. */
export function surroundings(): Surroundings {
  const { env, platform, arch } = process;
  root ??= packageRoot() ?? dirname(ownFile() ?? join(process.cwd(), "index.js"));
  return { env, platform, arch, cwd: process.cwd(), home: homedir(), root, exists: existsSync, packageFolder };
}

/** The package's version, read from its package.json wherever this file runs from; "0.0.0" for a bundle that was copied away from it. */
export function packageVersion(): string {
  try {
    return (JSON.parse(readFileSync(join(surroundings().root, "package.json"), "utf8")) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "0.0.0";
    throw error;
  }
}

function isMusl(): boolean {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return process.platform === "linux" && report.header.glibcVersionRuntime === undefined;
}

/** Electron's: the system's loader opens nothing in it. */
const isArchived = (path: string): boolean => /[\\/]app\.asar[\\/]/.test(path);

/** For Next's standalone output, which copies the files that it finds by reading the code. */
const nextLine = 'outputFileTracingIncludes: { "/**": ["./node_modules/@dxtensor/**"] } in next.config.js';

/** What makes it work, by what is the matter. */
export function nativeRemedy(where: Surroundings = surroundings()): string {
  const { root: folder, platform, arch, env } = where;
  if (existsSync(join(folder, "CMakeLists.txt"))) return "Run `npm run setup && npm run build:native`, or name the file in DXTENSOR_NATIVE.";
  const own = `@dxtensor/${platform}-${arch}`;
  const built = "build it there from the repository (npm run setup && npm run build:native) and name build/native/Release/dxtensor.node in DXTENSOR_NATIVE";
  if (!published.includes(`${platform}-${arch}`))
    return `There is no package for ${platform}-${arch}, only for ${published.join(", ")}: ${built}.`;
  if (isMusl()) return `${own} needs glibc, and this system has musl: take a Debian or Ubuntu image (node:24-slim), or ${built}.`;
  if (addonPaths(where).some((path) => isArchived(path) && where.exists(path)))
    return `No library can be loaded from inside Electron's archive: unpack it, asarUnpack: ["**/node_modules/@dxtensor/**"] (electron-builder), or asar pack --unpack "**/node_modules/@dxtensor/**".`;
  if (packageRoot() === null)
    return (
      `dxtensor is part of a bundle, and ${own} is not in a node_modules folder at or above it. Leave dxtensor out of the bundle` +
      ` (esbuild: --external:dxtensor; rollup, rolldown: external: ["dxtensor"]; webpack: externals: { dxtensor: "commonjs dxtensor" };` +
      ` Next's standalone output: ${nextLine}) and install it beside, or name dxtensor.node in DXTENSOR_NATIVE.`
    );
  if (env.__NEXT_PRIVATE_STANDALONE_CONFIG !== undefined) return `Next's standalone output left ${own} out: ${nextLine}.`;
  return `Run \`npm install ${own}\` (optional packages were left out, or node_modules came from another system), or name the file in DXTENSOR_NATIVE.`;
}

function load(): Binding {
  const where = surroundings();
  const tried: string[] = [];
  for (const path of addonPaths(where)) {
    if (!existsSync(path)) {
      tried.push(`${path} (no such file)`);
      continue;
    }
    if (isArchived(path)) {
      tried.push(`${path} (inside an archive)`);
      continue;
    }
    try {
      return loadAddon(path) as Binding;
    } catch (error) {
      tried.push(`${path} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  throw new NativeLoadError("dxtensor", `no usable native binary for ${where.platform}-${where.arch} with Node ${process.version}`, tried, nativeRemedy(where));
}

let binding: Binding | undefined;

/** The addon of this thread. Throws NativeLoadError with platform, every path tried, and the remedy; a later call tries again. */
export function loadBinding(): Binding {
  binding ??= load();
  return binding;
}

/** What to hand to Binding.load. */
export const libraryPaths = (): LibraryPaths => pathsIn(surroundings());

/** DXTENSOR_TIMEOUT_MS. */
export const deviceTimeout = (): number | undefined => deviceTimeoutOf(surroundings());

/** DXTENSOR_CPU_ADAPTERS=1: adapters that are not hardware join the `dml` list. */
export const cpuAdapters = (): boolean => takesCpuAdapters(surroundings());

/** Files to try for LAPACK; null: DXTENSOR_LAPACK asks for the portable routines. */
export const lapackPaths = (): readonly string[] | null => lapackPathsIn(surroundings());
