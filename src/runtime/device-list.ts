/** All devices of all backends. */
import { BackendLoadError, DxError } from "../core/errors.ts";
import { device as deviceOf, type Device } from "../core/device.ts";
import { declaredBackends, isAutoloading } from "../backend/autoload.ts";
import { allProviders, registeredBackends } from "../backend/registry.ts";
import { dmlDescriptions } from "./devices.ts";
import { describedDevices } from "./outside-device.ts";

/** A device that is there. */
export interface ListedDevice {
  /** The device. */
  readonly device: Device;
  /** The adapter's name. */
  readonly name: string;
  /** The backend that has it: "cpu", "dml", "openreg". */
  readonly backend: string;
  /** The backend's version; null for the library's own. */
  readonly version: string | null;
  /** False of what runs on the CPU, or is simulated. */
  readonly isHardware: boolean;
  /** The device's own memory, in bytes; 0 where it has none. */
  readonly memoryInBytes: number;
}

/** Tells of what could not be listed; the other backends are. */
function attempt<T>(read: () => readonly T[]): readonly T[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DxError)) throw error;
    process.emitWarning(error.message, { type: "BackendWarning" });
    return [];
  }
}

/**
 * All devices of all backends, those of installed packages included, which are loaded for it: "cpu" first, then "dml", then backends from outside in
 * the order of their registration. None is opened. A backend that cannot be loaded is left out with a warning (BackendWarning).
 */
export function devices(): ListedDevice[] {
  if (isAutoloading())
    for (const name of new Set(declaredBackends().map((entry) => entry.name)))
      attempt(() => {
        try {
          deviceOf(name);
        } catch (error) {
          // Its own words, whatever the device's name did.
          throw error instanceof DxError ? error : new BackendLoadError(name, null, String(error));
        }
        return [];
      });
  const outside = new Map(registeredBackends().map((backend) => [backend.name, backend]));
  return allProviders().flatMap((provider) => {
    const { name } = provider;
    const backend = outside.get(name);
    if (!provider.hasElements) return [];
    if (backend !== undefined)
      return attempt(() => describedDevices(backend, "devices")).map(
        ({ name: adapter, isHardware, memoryInBytes }, index): ListedDevice => ({
          device: deviceOf(`${name}:${index}`),
          name: adapter,
          backend: name,
          version: backend.version,
          isHardware,
          memoryInBytes,
        }),
      );
    if (!provider.isIndexed)
      return [{ device: deviceOf(name), name: "software adapter", backend: name, version: null, isHardware: false, memoryInBytes: 0 }];
    return attempt(() => (provider.count() === 0 ? [] : dmlDescriptions())).map(
      ({ name: adapter, isHardware, dedicatedMemoryInBytes }, index): ListedDevice => ({
        device: deviceOf(`${name}:${index}`),
        name: adapter,
        backend: name,
        version: null,
        isHardware,
        memoryInBytes: dedicatedMemoryInBytes,
      }),
    );
  });
}
