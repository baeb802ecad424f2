/** Loads the addon at first use; importing this file loads nothing. */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { NativeLoadError } from "../core/errors.ts";
import type { Binding, LibraryPaths } from "./binding.ts";
import { exists, homeFolder, loadAddon, ownFile, packageFolder, packageRoot, workingFolder } from "../core/home.ts";
import { libraryEnd } from "../host/library-end.ts";
import { published } from "./published.ts";
import {
  addonPaths,
  deviceTimeoutOf,
  lapackPaths as lapackPathsIn,
  libraryPaths as pathsIn,
  takesCpuAdapters,
  type HostEnvironment,
} from "./paths.ts";

let root: string | undefined;

/** This process as it is now: variables that change before the first device call count. */
export function hostEnvironment(): HostEnvironment {
  const { env, platform, arch } = process;
  const cwd = workingFolder();
  root ??= packageRoot() ?? (ownFile() === null ? (cwd ?? dirname(process.execPath)) : dirname(ownFile()!));
  return { env, platform, arch, cwd, home: homeFolder(), root, exists, packageFolder };
}

/** The package's version, read from its package.json wherever this file runs from; "0.0.0" for a bundle that was copied away from it. */
export function packageVersion(): string {
  try {
    return (JSON.parse(readFileSync(join(hostEnvironment().root, "package.json"), "utf8")) as { version: string }).version;
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
export function nativeRemedy(where: HostEnvironment = hostEnvironment()): string {
  const { root: folder, platform, arch, env } = where;
  if (exists(join(folder, "CMakeLists.txt"))) return "Run `npm run setup && npm run build:native`, or name the file in DXTENSOR_NATIVE.";
  const own = `@dxtensor/${platform}-${arch}`;
  const built = "build it there from the repository (npm run setup && npm run build:native) and name build/native/Release/dxtensor.node in DXTENSOR_NATIVE";
  if (platform === "darwin")
    return "dxtensor does not run on macOS, which has no DirectX 12 (docs/support.md): a virtual machine or a container of Linux computes on cpu.";
  if (!published.includes(`${platform}-${arch}`))
    return `There is no package for ${platform}-${arch}, only for ${published.join(", ")}: ${built}.`;
  if (isMusl()) return `${own} needs glibc, and this system has musl: take a Debian or Ubuntu image (node:24-slim), or ${built}.`;
  if (addonPaths(where).some((path) => isArchived(path) && where.exists(path)))
    return `No library can be loaded from inside Electron's archive: unpack it, asarUnpack: ["**/node_modules/@dxtensor/**"] (electron-builder), or asar pack --unpack "**/node_modules/@dxtensor/**".`;
  if (packageRoot() === null)
    return (
      `dxtensor is part of a bundle, and ${own} is not in a node_modules folder at or above it. Leave dxtensor out of the bundle` +
      ` (esbuild: --external:dxtensor; rollup, rolldown: external: ["dxtensor"]; webpack: externals: { dxtensor: "commonjs dxtensor" };` +
      ` Next's standalone output: ${nextLine}) and install it there, or name dxtensor.node in DXTENSOR_NATIVE.`
    );
  if (env.__NEXT_PRIVATE_STANDALONE_CONFIG !== undefined) return `Next's standalone output left ${own} out: ${nextLine}.`;
  return `Run \`npm install ${own}\` (optional packages were left out, or node_modules came from another system), or name the file in DXTENSOR_NATIVE.`;
}

/** Why a file is no whole library; null when nothing speaks against it. A loader that maps a file cut off ends the process by SIGBUS. */
function whyNotWhole(path: string): string | null {
  let file: number | null = null;
  try {
    file = openSync(path, "r");
    const stats = fstatSync(file);
    if (!stats.isFile()) return "no file";
    const end = libraryEnd((offset, length) => {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, stats.size - offset)));
      return bytes.length === 0 ? bytes : bytes.subarray(0, readSync(file!, bytes, 0, bytes.length, offset));
    });
    return end > stats.size ? `the file is cut off: it has ${stats.size} bytes of at least ${end}` : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Loads the addon of a file. Throws what the system's loader says, or why the file is no addon of this package. */
function addonOf(path: string): Binding {
  // Node takes a file of any other name for JavaScript.
  if (!path.endsWith(".node")) throw new Error("no addon: its name does not end in .node");
  const problem = whyNotWhole(path);
  if (problem !== null) throw new Error(problem);
  const found = loadAddon(path) as Partial<Binding> | null;
  if (typeof found?.openDevice !== "function") throw new Error("an addon of another package");
  return found as Binding;
}

function load(): Binding {
  const where = hostEnvironment();
  const tried: string[] = [];
  for (const path of addonPaths(where)) {
    if (!exists(path)) {
      tried.push(`${path} (no such file)`);
      continue;
    }
    if (isArchived(path)) {
      tried.push(`${path} (inside an archive)`);
      continue;
    }
    try {
      return addonOf(path);
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
export const libraryPaths = (): LibraryPaths => pathsIn(hostEnvironment());

/** DXTENSOR_TIMEOUT_MS. */
export const deviceTimeout = (): number | undefined => deviceTimeoutOf(hostEnvironment());

/** DXTENSOR_CPU_ADAPTERS=1: adapters that are not hardware join the `dml` list. */
export const cpuAdapters = (): boolean => takesCpuAdapters(hostEnvironment());

/** Files to try for LAPACK; null: DXTENSOR_LAPACK asks for the portable routines. */
export const lapackPaths = (): readonly string[] | null => lapackPathsIn(hostEnvironment());
