/** The backends by name: any number of them. The library's own devices are registered as those from outside are. */
import { declareDeviceType, setDeviceTypeFinder, type Device } from "../core/device.ts";
import { isDType } from "../core/dtype.ts";
import { BackendError, BackendVersionError, DeviceError } from "../core/errors.ts";
import { findBackend } from "./autoload.ts";
import { AUTOCAST_OPERATIONS } from "./autocast-operations.generated.ts";
import { BACKEND_INTERFACE, type Backend, type BackendAutocast } from "./interface.ts";
import type { Provider } from "./provider.ts";

const providers = new Map<string, Provider>();
const backends = new Map<string, Backend>();
let provide: (backend: Backend) => Provider;

/** Set by the runtime, which makes native devices of a backend's. */
export function setBackendProvider(make: typeof provide): void {
  provide = make;
}

/** Registers devices of the library's own. */
export function addProvider(provider: Provider): void {
  providers.set(provider.name, provider);
  declareDeviceType(provider.name, provider);
}

/** What stands behind a device. */
export function providerOf({ type }: Device): Provider {
  const found = providers.get(type);
  if (found === undefined) throw new DeviceError("device", "name", "that of a registered backend", type);
  return found;
}

export const allProviders = (): readonly Provider[] => [...providers.values()];

/** The backends from outside that are registered, in the order in which they were. */
export const registeredBackends = (): readonly Backend[] => [...backends.values()];

const NAME = /^[a-z][a-z0-9_-]*$/;

/** Requires that devices can have the name. */
export function requireBackendName(operation: string, argument: string, name: unknown): asserts name is string {
  if (typeof name !== "string" || !NAME.test(name))
    throw new BackendError(operation, argument, 'a lower-case letter, then lower-case letters, digits, "-" or "_"', name);
  if (isDType(name)) throw new BackendError(operation, argument, "a name that is no dtype, since tensor.to() takes both", name);
}

function requireBackend(operation: string, value: unknown): Backend {
  if (typeof value !== "object" || value === null)
    throw new BackendError(operation, "backend", "an object with the fields of Backend", value);
  const { name, interfaceVersion, version } = value as Partial<Backend>;
  requireBackendName(operation, "backend.name", name);
  if (typeof interfaceVersion !== "number")
    throw new BackendError(operation, "backend.interfaceVersion", `dx.backend.BACKEND_INTERFACE (${BACKEND_INTERFACE})`, interfaceVersion);
  if (interfaceVersion !== BACKEND_INTERFACE) throw new BackendVersionError(operation, name, interfaceVersion, BACKEND_INTERFACE);
  if (typeof version !== "string" || version === "")
    throw new BackendError(operation, "backend.version", "the backend's version as text", version);
  for (const method of ["devices", "open"] as const)
    if (typeof (value as Partial<Backend>)[method] !== "function")
      throw new BackendError(operation, `backend.${method}`, "a function", (value as Partial<Backend>)[method]);
  requireAutocast(operation, (value as Partial<Backend>).autocast);
  return value as Backend;
}

const WANTED = ["lower", "float32", "widest", "none"];

function requireAutocast(operation: string, autocast: BackendAutocast | undefined): void {
  if (autocast === undefined) return;
  const { dtypes, operations = {} } = autocast;
  if (dtypes !== undefined && !(Array.isArray(dtypes) && dtypes.every((d) => d === "float16" || d === "bfloat16")))
    throw new BackendError(operation, "backend.autocast.dtypes", 'of "float16" and "bfloat16"', dtypes);
  for (const [name, list] of Object.entries(operations)) {
    if (!AUTOCAST_OPERATIONS.has(name))
      throw new BackendError(operation, "backend.autocast.operations", "operations that are on one of autocast's lists", name);
    if (!WANTED.includes(list)) throw new BackendError(operation, `backend.autocast.operations.${name}`, WANTED.join(", "), list);
  }
}

/** What the backend of a device wants of autocast(); null: PyTorch's lists. */
export const autocastOf = ({ type }: Device): BackendAutocast | null => backends.get(type)?.autocast ?? null;

/**
 * Makes the devices of a backend from outside usable by its name, in this thread. Registering the same object again does nothing.
 * Throws BackendError for an object that lacks something or a name that is taken, BackendVersionError for another version of the interface.
 */
export function registerBackend(backend: Backend): void {
  const checked = requireBackend("backend.register", backend);
  const { name } = checked;
  if (backends.get(name) === checked) return;
  if (providers.has(name))
    throw new BackendError(
      "backend.register",
      "backend.name",
      "a name that is not taken",
      `${name}, ${backends.has(name) ? `which is registered (version ${backends.get(name)!.version})` : "which the library has itself"}`,
    );
  const provider = provide(checked);
  backends.set(name, checked);
  addProvider(provider);
}

setDeviceTypeFinder((type) => {
  findBackend(type, registerBackend, (name) => providers.has(name));
});
