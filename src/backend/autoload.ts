/**
 * Backends of installed packages. A package declares `"dxtensor": { "backends": { "openreg": "./backend.cjs" } }` in its package.json; it is loaded when
 * a device of that name is first used, if the application depends on it.
 */
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { BackendLoadError } from "../core/errors.ts";
import { exists, program, requireFrom, workingFolder } from "../core/home.ts";
import { isSwitchedOn } from "../host/environment.ts";
import type { Backend } from "./interface.ts";

/** A backend that a package declares. */
export interface DeclaredBackend {
  /** The type of its devices. */
  readonly name: string;
  /** The package that has it. */
  readonly package: string;
  /** The package's version; "" where it says none. */
  readonly version: string;
  /** The file that is to be loaded. */
  readonly file: string;
}

interface Manifest {
  readonly name?: unknown;
  readonly version?: unknown;
  readonly dxtensor?: { readonly backends?: Readonly<Record<string, unknown>> };
  readonly dependencies?: object;
  readonly devDependencies?: object;
  readonly optionalDependencies?: object;
}

let chosen: boolean | null = null;
let declared: readonly DeclaredBackend[] | null = null;
/** Names whose module is being loaded. */
const loading = new Set<string>();

/** Whether backends of packages are loaded by name; null: as DXTENSOR_AUTOLOAD says, which is on by default. */
export function setAutoload(mode: boolean | null): void {
  chosen = mode;
  declared = null;
}

/** Whether they are. */
export const isAutoloading = (): boolean => chosen ?? (process.env.DXTENSOR_AUTOLOAD === undefined || isSwitchedOn("DXTENSOR_AUTOLOAD"));

function manifestOf(file: string): Manifest | null {
  try {
    const read: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof read === "object" && read !== null ? read : null;
  } catch {
    // Node's own loader would say more of it; the search for backends continues.
    return null;
  }
}

/** The package.json of the application around a folder. */
function nearestManifest(start: string): string | null {
  for (let folder = start; ; folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (exists(file)) return file;
    if (folder === dirname(folder)) return null;
  }
}

/** The package.json of a dependency, as Node finds packages from a file; its exports need not list it. */
function dependencyManifest(from: string, name: string): string | null {
  const require = requireFrom(from);
  try {
    return require.resolve(`${name}/package.json`);
  } catch {
    for (const folder of require.resolve.paths(name) ?? []) {
      const file = join(folder, name, "package.json");
      if (exists(file)) return realpathSync(file);
    }
    return null;
  }
}

function declaredIn(file: string): DeclaredBackend[] {
  const manifest = manifestOf(file);
  const backends: unknown = manifest?.dxtensor?.backends;
  if (manifest === null || typeof backends !== "object" || backends === null) return [];
  return Object.entries(backends).flatMap(([name, path]) =>
    typeof path === "string"
      ? [
          {
            name,
            package: String(manifest.name ?? dirname(file)),
            version: String(manifest.version ?? ""),
            file: join(dirname(file), path),
          },
        ]
      : [],
  );
}

/** The backends that the application's package and its dependencies declare. */
export function declaredBackends(): readonly DeclaredBackend[] {
  if (declared !== null) return declared;
  const main = program();
  const starts = [workingFolder(), main === null ? null : dirname(main)];
  const roots = new Set(starts.flatMap((folder) => (folder === null ? [] : (nearestManifest(folder) ?? []))));
  const files = new Set<string>();
  for (const root of roots) {
    files.add(root);
    const { dependencies, devDependencies, optionalDependencies } = manifestOf(root) ?? {};
    for (const name of Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      const file = dependencyManifest(root, name);
      if (file !== null) files.add(file);
    }
  }
  return (declared = [...files].flatMap(declaredIn));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

const ofModule = new Set(["ERR_REQUIRE_ESM", "ERR_REQUIRE_ASYNC_MODULE"]);

function moduleOf({ name, file, package: owner }: DeclaredBackend): Record<string, unknown> {
  if (!exists(file)) throw new BackendLoadError(name, file, `${owner} declares a file that does not exist`);
  try {
    return requireFrom(file)(file) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof BackendLoadError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && ofModule.has(code))
      throw new BackendLoadError(
        name,
        file,
        code === "ERR_REQUIRE_ESM"
          ? `it is an ES module, which Node ${process.version} loads by import only`
          : "it is an ES module that awaits something while it loads",
        `Import ${owner} in your program before the device is used.`,
        { cause: error },
      );
    throw new BackendLoadError(name, file, `${owner} threw while it was loaded: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** What a module exports: `backend`, else the default export. */
function exportedBy(module: unknown): Backend | null {
  const { backend, default: byDefault } = (module ?? {}) as { readonly backend?: unknown; readonly default?: unknown };
  for (const found of [backend, byDefault, (byDefault as { readonly backend?: unknown } | null | undefined)?.backend])
    if (typeof found === "object" && found !== null && "interfaceVersion" in found) return found as Backend;
  return null;
}

/** Loads a declared backend and registers it. Throws BackendLoadError, and what `register` throws. */
export function loadBackend(entry: DeclaredBackend, register: (backend: Backend) => void, isThere: (name: string) => boolean): void {
  const { name, file } = entry;
  if (loading.has(name))
    throw new BackendLoadError(name, file, "it uses one of its devices while it is loaded", "Use devices after the module has run.");
  loading.add(name);
  try {
    const backend = exportedBy(moduleOf(entry));
    // The module may have registered it itself.
    if (isThere(name) && (backend === null || backend.name !== name)) return;
    if (backend === null)
      throw new BackendLoadError(name, file, "the module exports no backend", "Export it as `backend`, or call dx.backend.register().");
    if (backend.name !== name)
      throw new BackendLoadError(name, file, `the module exports a backend of another name, ${String(backend.name)}`);
    register(backend);
  } finally {
    loading.delete(name);
  }
}

/**
 * Loads the backend that has devices of a type, if a package declares one. Throws BackendLoadError where two packages do, or where it cannot be
 * loaded.
 */
export function findBackend(type: string, register: (backend: Backend) => void, isThere: (name: string) => boolean): void {
  if (!isAutoloading()) return;
  const found = declaredBackends().filter((entry) => entry.name === type);
  if (found.length === 0) return;
  if (found.length > 1)
    throw new BackendLoadError(
      type,
      null,
      `several packages declare it: ${found.map((e) => `${e.package} (${e.file})`).join(", ")}`,
      "Remove all but one, or register one of them by dx.backend.register().",
    );
  loadBackend(found[0]!, register, isThere);
}
