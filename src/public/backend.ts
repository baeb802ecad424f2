/** Backends from outside: devices of other packages. docs/write-a-backend.md builds one step by step. */
import { declaredBackends, setAutoload as setMode } from "../backend/autoload.ts";
import { registeredBackends } from "../backend/registry.ts";
import { ValueError } from "../core/errors.ts";
import "../runtime/outside-device.ts";

export { BACKEND_INTERFACE } from "../backend/interface.ts";
export type {
  Backend,
  BackendActivation,
  BackendAutocast,
  BackendCall,
  BackendDevice,
  BackendDeviceDescription,
  BackendKernel,
  BackendMemory,
  BackendMemoryStatistics,
  BackendOperation,
  BackendOptions,
  BackendProgram,
  BackendRange,
  BackendSlotRange,
  BackendStep,
  BackendTensor,
} from "../backend/interface.ts";
export type { DeclaredBackend } from "../backend/autoload.ts";
export { registerBackend as register } from "../backend/registry.ts";
export { loadLibrary, type LibraryOptions } from "../runtime/library-backend.ts";

/** A backend from outside that is known. */
export interface KnownBackend {
  /** The type of its devices. */
  readonly name: string;
  /** The backend's version; of one that is not loaded, its package's. */
  readonly version: string;
  /** Whether it is registered. */
  readonly isRegistered: boolean;
  /** The package that declares it; null where none does. */
  readonly package: string | null;
  /** The file that is loaded when a device of it is first used; null where no package declares it. */
  readonly file: string | null;
}

/** The backends that are registered, then those that installed packages declare and that nobody has used yet. Loads none. */
export function list(): KnownBackend[] {
  const declared = declaredBackends();
  const registered = registeredBackends();
  const known = new Set(registered.map((backend) => backend.name));
  return [
    ...registered.map(({ name, version }): KnownBackend => {
      const from = declared.find((entry) => entry.name === name);
      return { name, version, isRegistered: true, package: from?.package ?? null, file: from?.file ?? null };
    }),
    ...declared
      .filter((entry) => !known.has(entry.name))
      .map((entry): KnownBackend => ({
        name: entry.name,
        version: entry.version,
        isRegistered: false,
        package: entry.package,
        file: entry.file,
      })),
  ];
}

/**
 * Whether backends of installed packages are loaded when a device of theirs is first used. null: as DXTENSOR_AUTOLOAD says, which is on by default.
 * Packages are searched for again afterwards.
 */
export function setAutoload(mode: boolean | null): void {
  if (mode !== null && typeof mode !== "boolean") throw new ValueError("backend.setAutoload", "mode", "true, false or null", mode);
  setMode(mode);
}
