/** Loads the addon when it is first asked for; importing this file loads nothing. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { NativeLoadError } from "../errors.ts";
import type { Binding, LibraryPaths } from "./binding.ts";
import { addonPaths, deviceTimeoutOf, lapackPaths as lapackPathsIn, libraryPaths as pathsIn, takesCpuAdapters, type Surroundings } from "./paths.ts";

/** The folder of this package's package.json, whether this file runs from src or from dist. */
function packageRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string }).name === "dxtensor") return folder;
    if (folder === dirname(folder)) return start;
  }
}

let root: string | undefined;

/** This process as it is now: variables that change before the first device call count. */
export function surroundings(): Surroundings {
  root ??= packageRoot();
  return { env: process.env, platform: process.platform, arch: process.arch, cwd: process.cwd(), root, exists: existsSync };
}

const remedy = (where: Surroundings): string =>
  existsSync(join(where.root, "CMakeLists.txt"))
    ? "Run `npm run setup && npm run build:native`, or name the file in DXTENSOR_NATIVE."
    : `This package was not built for ${where.platform}-${where.arch}: build it there from the repository (npm run setup && npm run build:native) and name build/native/Release/dxtensor.node in DXTENSOR_NATIVE.`;

function load(): Binding {
  const where = surroundings();
  const require = createRequire(import.meta.url);
  const tried: string[] = [];
  for (const path of addonPaths(where)) {
    if (!existsSync(path)) {
      tried.push(`${path} (no such file)`);
      continue;
    }
    try {
      return require(path) as Binding;
    } catch (error) {
      tried.push(`${path} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  throw new NativeLoadError("dxtensor", `no usable native binary for ${where.platform}-${where.arch} with Node ${process.version}`, tried, remedy(where));
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
