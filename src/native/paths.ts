/**
 * Where the addon and the runtimes' libraries are searched. Pure: environment and file system are handed in, nothing is loaded.
 * docs/environment.md describes the variables.
 */
import { posix, win32 } from "node:path";
import { integerOf, isSwitchedOn } from "../host/environment.ts";
import { ValueError } from "../core/errors.ts";
import type { LibraryPaths } from "./binding.ts";

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform: string;
  readonly arch: string;
  /** Folder that relative paths in variables count from; null where it has been deleted. */
  readonly cwd: string | null;
  /** The package's folder, with package.json. */
  readonly root: string;
  /** The user's home folder. */
  readonly home: string;
  exists(path: string): boolean;
  /** The folder of an installed package, null where there is none. */
  packageFolder(name: string): string | null;
}

/** A variable that is set to nothing counts as not set. */
function variable(surroundings: Surroundings, name: string): string | undefined {
  const value = surroundings.env[name];
  return value === undefined || value === "" ? undefined : value;
}

const pathOf = ({ platform }: Surroundings) => (platform === "win32" ? win32 : posix);

/** Relative paths count from the working folder. */
function resolved(surroundings: Surroundings, name: string, value: string): string {
  const { isAbsolute, normalize, resolve } = pathOf(surroundings);
  if (isAbsolute(value) && surroundings.cwd === null) return normalize(value);
  if (surroundings.cwd === null) throw new ValueError("environment", name, "an absolute path, since the working folder has been deleted", value);
  return resolve(surroundings.cwd, value);
}

function fileVariable(surroundings: Surroundings, name: string): string | undefined {
  const value = variable(surroundings, name);
  return value === undefined ? undefined : resolved(surroundings, name, value);
}

/** A folder of the system's; a relative one is ignored, as the XDG specification says. */
function folderVariable(surroundings: Surroundings, name: string): string | undefined {
  const value = variable(surroundings, name);
  return value !== undefined && pathOf(surroundings).isAbsolute(value) ? value : undefined;
}

/** Files to try for the addon, in order: DXTENSOR_NATIVE alone, else this machine's own build, then the platform's package. */
export function addonPaths(surroundings: Surroundings): string[] {
  const explicit = fileVariable(surroundings, "DXTENSOR_NATIVE");
  if (explicit !== undefined) return [explicit];
  const { join } = pathOf(surroundings);
  const { root, platform, arch } = surroundings;
  const name = `${platform}-${arch}`;
  const own = [join(root, "build", "native", "Release", "dxtensor.node"), join(root, "prebuilds", name, "dxtensor.node")];
  // A package is asked for where nothing lies at hand: a repository never takes another version's.
  if (own.some((file) => surroundings.exists(file))) return own;
  const folder = surroundings.packageFolder(`@dxtensor/${name}`);
  return folder === null ? own : [...own, join(folder, "dxtensor.node")];
}

/** File name of the software adapter's library. */
export function softwareName(platform: string): string {
  if (platform === "win32") return "dxtensor_software.dll";
  return platform === "darwin" ? "libdxtensor_software.dylib" : "libdxtensor_software.so";
}

function softwarePath(surroundings: Surroundings): string {
  const explicit = fileVariable(surroundings, "DXTENSOR_SOFTWARE");
  if (explicit !== undefined) return explicit;
  const { dirname, join } = pathOf(surroundings);
  // It is next to the addon, wherever that is.
  const files = addonPaths(surroundings).map((addon) => join(dirname(addon), softwareName(surroundings.platform)));
  // The first one stands for all in the report of what was tried.
  return files.find((file) => surroundings.exists(file)) ?? (files[0] as string);
}

/** The user's folder for files that all programs share, and that nothing makes again. */
export function dataFolder(surroundings: Surroundings): string {
  const { join } = pathOf(surroundings);
  const { home, platform } = surroundings;
  if (platform === "win32") return join(folderVariable(surroundings, "LOCALAPPDATA") ?? join(home, "AppData", "Local"), "dxtensor");
  return join(folderVariable(surroundings, "XDG_DATA_HOME") ?? join(home, ".local", "share"), "dxtensor");
}

/** Where `dxtensor fetch` puts what it fetched, for all programs of the user. */
export const fetchedFolder = (surroundings: Surroundings): string => pathOf(surroundings).join(dataFolder(surroundings), "directml");

/** Where what was measured on this machine is kept, for all programs of the user; it may be deleted at any time. */
export function cacheFolder(surroundings: Surroundings): string {
  const { join } = pathOf(surroundings);
  const { home, platform } = surroundings;
  if (platform === "win32") return join(folderVariable(surroundings, "LOCALAPPDATA") ?? join(home, "AppData", "Local"), "dxtensor", "cache");
  if (platform === "darwin") return join(home, "Library", "Caches", "dxtensor");
  return join(folderVariable(surroundings, "XDG_CACHE_HOME") ?? join(home, ".cache"), "dxtensor");
}

/** Folders for libdxcore, libd3d12 and libdirectml, in order of search. */
function libraryFolders(surroundings: Surroundings): string[] {
  const { join, delimiter } = pathOf(surroundings);
  const { root, platform } = surroundings;
  const configured = (variable(surroundings, "DXTENSOR_LIBRARY_FOLDER") ?? "").split(delimiter).filter((folder) => folder !== "");
  const folders = configured.map((folder) => resolved(surroundings, "DXTENSOR_LIBRARY_FOLDER", folder));
  const add = (folder: string, condition = folder): void => {
    if (surroundings.exists(condition)) folders.push(folder);
  };
  const addPackage = (name: string): void => {
    const folder = surroundings.packageFolder(`@dxtensor/${name}-${platform}-${surroundings.arch}`);
    if (folder !== null) folders.push(folder);
  };
  add(join(root, "directml"));
  add(fetchedFolder(surroundings));
  addPackage("directml");
  if (platform === "win32") {
    folders.push(win32.join(variable(surroundings, "SystemRoot") ?? "C:\\Windows", "System32"));
  } else {
    add("/usr/lib/wsl/lib", "/dev/dxg");
    add(join(root, "build", "vulkan"));
    addPackage("vulkan");
  }
  return folders;
}

/** What Binding.load is given, for both kinds of runtime. */
export function libraryPaths(surroundings: Surroundings): LibraryPaths {
  // The software adapter reads it, and takes all CPUs where it is no number.
  integerOf("DXTENSOR_THREADS", "", surroundings.env);
  return {
    folders: libraryFolders(surroundings),
    dxcore: fileVariable(surroundings, "DXTENSOR_DXCORE"),
    d3d12: fileVariable(surroundings, "DXTENSOR_D3D12"),
    directml: fileVariable(surroundings, "DXTENSOR_DIRECTML"),
    software: softwarePath(surroundings),
    simulate: variable(surroundings, "DXTENSOR_SIMULATE"),
  };
}

/** True when adapters that are not hardware join the `dml` list. */
export function takesCpuAdapters(surroundings: Surroundings): boolean {
  return isSwitchedOn("DXTENSOR_CPU_ADAPTERS", surroundings.env);
}

/** How long a device may finish nothing while it has work, in milliseconds; undefined: as long as the addon allows. */
export const deviceTimeoutOf = (surroundings: Surroundings): number | undefined =>
  integerOf("DXTENSOR_TIMEOUT_MS", "of milliseconds ", surroundings.env);

const TRIPLETS: { readonly [arch: string]: string } = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

/** Files to try for LAPACK, in order: DXTENSOR_LAPACK alone, else what distributions install. null: none is wanted ("portable"). */
export function lapackPaths(surroundings: Surroundings): string[] | null {
  if (surroundings.env.DXTENSOR_LAPACK === "portable") return null;
  const explicit = fileVariable(surroundings, "DXTENSOR_LAPACK");
  if (explicit !== undefined) return [explicit];
  const { join } = pathOf(surroundings);
  const { env, platform, arch } = surroundings;
  if (platform !== "linux") return [];
  const searched = (env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder.startsWith("/"));
  const triplet = TRIPLETS[arch];
  const folders = [...searched, "/usr/local/lib", ...(triplet === undefined ? [] : [`/usr/lib/${triplet}`]), "/usr/lib64", "/usr/lib"];
  return folders.flatMap((folder) => ["liblapack.so.3", "libopenblas.so.0"].map((name) => join(folder, name)));
}
