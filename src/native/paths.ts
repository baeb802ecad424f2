/**
 * Where the addon and the runtimes' libraries are searched. Pure: environment and file system are handed in, nothing is loaded.
 * docs/environment.md describes the variables.
 */
import { posix, win32 } from "node:path";
import { integerOf, isSwitchedOn } from "../host/environment.ts";
import { ValueError } from "../core/errors.ts";
import type { LibraryPaths } from "./binding.ts";

export interface HostEnvironment {
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
function variable(environment: HostEnvironment, name: string): string | undefined {
  const value = environment.env[name];
  return value === undefined || value === "" ? undefined : value;
}

const pathOf = ({ platform }: HostEnvironment) => (platform === "win32" ? win32 : posix);

/** Relative paths count from the working folder. */
function resolved(environment: HostEnvironment, name: string, value: string): string {
  const { isAbsolute, normalize, resolve } = pathOf(environment);
  if (isAbsolute(value) && environment.cwd === null) return normalize(value);
  if (environment.cwd === null) throw new ValueError("environment", name, "an absolute path, since the working folder has been deleted", value);
  return resolve(environment.cwd, value);
}

function fileVariable(environment: HostEnvironment, name: string): string | undefined {
  const value = variable(environment, name);
  return value === undefined ? undefined : resolved(environment, name, value);
}

/** A folder of the system's; a relative one is ignored, as the XDG specification says. */
function folderVariable(environment: HostEnvironment, name: string): string | undefined {
  const value = variable(environment, name);
  return value !== undefined && pathOf(environment).isAbsolute(value) ? value : undefined;
}

/** Files to try for the addon, in order: DXTENSOR_NATIVE alone, else this machine's own build, then the platform's package. */
export function addonPaths(environment: HostEnvironment): string[] {
  const explicit = fileVariable(environment, "DXTENSOR_NATIVE");
  if (explicit !== undefined) return [explicit];
  const { join } = pathOf(environment);
  const { root, platform, arch } = environment;
  const name = `${platform}-${arch}`;
  const own = [join(root, "build", "native", "Release", "dxtensor.node"), join(root, "prebuilds", name, "dxtensor.node")];
  // A package is searched only where neither file exists: a repository never takes another version's.
  if (own.some((file) => environment.exists(file))) return own;
  const folder = environment.packageFolder(`@dxtensor/${name}`);
  return folder === null ? own : [...own, join(folder, "dxtensor.node")];
}

/** File name of the software adapter's library. */
export function softwareName(platform: string): string {
  if (platform === "win32") return "dxtensor_software.dll";
  return platform === "darwin" ? "libdxtensor_software.dylib" : "libdxtensor_software.so";
}

function softwarePath(environment: HostEnvironment): string {
  const explicit = fileVariable(environment, "DXTENSOR_SOFTWARE");
  if (explicit !== undefined) return explicit;
  const { dirname, join } = pathOf(environment);
  // It is next to the addon, wherever that is.
  const files = addonPaths(environment).map((addon) => join(dirname(addon), softwareName(environment.platform)));
  // The first one stands for all in the report of what was tried.
  return files.find((file) => environment.exists(file)) ?? (files[0] as string);
}

/** The user's folder for files that all programs share, and that nothing makes again. */
export function dataFolder(environment: HostEnvironment): string {
  const { join } = pathOf(environment);
  const { home, platform } = environment;
  if (platform === "win32") return join(folderVariable(environment, "LOCALAPPDATA") ?? join(home, "AppData", "Local"), "dxtensor");
  return join(folderVariable(environment, "XDG_DATA_HOME") ?? join(home, ".local", "share"), "dxtensor");
}

/** Where `dxtensor fetch` puts what it fetched, for all programs of the user. */
export const fetchedFolder = (environment: HostEnvironment): string => pathOf(environment).join(dataFolder(environment), "directml");

/** Where what was measured on this machine is kept, for all programs of the user; it may be deleted at any time. */
export function cacheFolder(environment: HostEnvironment): string {
  const { join } = pathOf(environment);
  const { home, platform } = environment;
  if (platform === "win32") return join(folderVariable(environment, "LOCALAPPDATA") ?? join(home, "AppData", "Local"), "dxtensor", "cache");
  if (platform === "darwin") return join(home, "Library", "Caches", "dxtensor");
  return join(folderVariable(environment, "XDG_CACHE_HOME") ?? join(home, ".cache"), "dxtensor");
}

/** Folders for libdxcore, libd3d12 and libdirectml, in order of search. */
function libraryFolders(environment: HostEnvironment): string[] {
  const { join, delimiter } = pathOf(environment);
  const { root, platform } = environment;
  const configured = (variable(environment, "DXTENSOR_LIBRARY_FOLDER") ?? "").split(delimiter).filter((folder) => folder !== "");
  const folders = configured.map((folder) => resolved(environment, "DXTENSOR_LIBRARY_FOLDER", folder));
  const add = (folder: string, condition = folder): void => {
    if (environment.exists(condition)) folders.push(folder);
  };
  const addPackage = (name: string): void => {
    const folder = environment.packageFolder(`@dxtensor/${name}-${platform}-${environment.arch}`);
    if (folder !== null) folders.push(folder);
  };
  add(join(root, "directml"));
  add(fetchedFolder(environment));
  addPackage("directml");
  if (platform === "win32") {
    folders.push(win32.join(variable(environment, "SystemRoot") ?? "C:\\Windows", "System32"));
  } else {
    add("/usr/lib/wsl/lib", "/dev/dxg");
    add(join(root, "build", "vulkan"));
    addPackage("vulkan");
  }
  return folders;
}

/** What Binding.load is given, for both kinds of runtime. */
export function libraryPaths(environment: HostEnvironment): LibraryPaths {
  // The software adapter reads it, and takes all CPUs where it is no number.
  integerOf("DXTENSOR_THREADS", "", environment.env);
  return {
    folders: libraryFolders(environment),
    dxcore: fileVariable(environment, "DXTENSOR_DXCORE"),
    d3d12: fileVariable(environment, "DXTENSOR_D3D12"),
    directml: fileVariable(environment, "DXTENSOR_DIRECTML"),
    software: softwarePath(environment),
    simulate: variable(environment, "DXTENSOR_SIMULATE"),
  };
}

/** True when adapters that are not hardware join the `dml` list. */
export function takesCpuAdapters(environment: HostEnvironment): boolean {
  return isSwitchedOn("DXTENSOR_CPU_ADAPTERS", environment.env);
}

/** How long a device may finish nothing while it has work, in milliseconds; undefined: as long as the addon allows. */
export const deviceTimeoutOf = (environment: HostEnvironment): number | undefined =>
  integerOf("DXTENSOR_TIMEOUT_MS", "of milliseconds ", environment.env);

const TRIPLETS: { readonly [arch: string]: string } = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

/** Files to try for LAPACK, in order: DXTENSOR_LAPACK alone, else what distributions install. null: none is wanted ("portable"). */
export function lapackPaths(environment: HostEnvironment): string[] | null {
  if (environment.env.DXTENSOR_LAPACK === "portable") return null;
  const explicit = fileVariable(environment, "DXTENSOR_LAPACK");
  if (explicit !== undefined) return [explicit];
  const { join } = pathOf(environment);
  const { env, platform, arch } = environment;
  if (platform !== "linux") return [];
  const searched = (env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder.startsWith("/"));
  const triplet = TRIPLETS[arch];
  const folders = [...searched, "/usr/local/lib", ...(triplet === undefined ? [] : [`/usr/lib/${triplet}`]), "/usr/lib64", "/usr/lib"];
  return folders.flatMap((folder) => ["liblapack.so.3", "libopenblas.so.0"].map((name) => join(folder, name)));
}
