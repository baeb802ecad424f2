/** Devices of backends from outside: opened like the library's own, over another binding. */
import { asFailure } from "../backend/failure.ts";
import type { Backend, BackendDevice, BackendDeviceDescription } from "../backend/interface.ts";
import { OutsideBinding, bindingOf } from "../backend/outside-binding.ts";
import type { NativeDevice, Provider } from "../backend/provider.ts";
import { setBackendProvider } from "../backend/registry.ts";
import { device as deviceOf, type Device } from "../core/device.ts";
import { own } from "../core/definition.ts";
import { DTYPES, isDType } from "../core/dtype.ts";
import { BackendError, DeviceError, fromNative } from "../core/errors.ts";
import { Capabilities, type OperationKernels } from "../dml/capabilities.ts";
import { OPERATORS, type OperatorName } from "../dml/operators.generated.ts";
import { loadBinding } from "../native/load-addon.ts";
import { deviceOptions, nativeDevice } from "./devices.ts";
import { noteNodeFallback, requireNodeFallback } from "./fallback.ts";

/** Feature level 6.4: every operator of the table may be asked for; what the device lacks is not there, or falls back. */
const FEATURE_LEVEL = 0x6400;
/** As long as devices of the library's own get. */
const TIMEOUT_MS = 600_000;

const methods = [
  "allocate",
  "free",
  "write",
  "read",
  "readSync",
  "copy",
  "prepare",
  "synchronize",
  "synchronizeSync",
  "isIdle",
  "memory",
  "close",
] as const;
const optional = ["copyFrom", "prepareOperation", "prepareProgram", "flush", "timeSync"] as const;

function requireOperations(of: (field: string) => string, { operations, prepareOperation }: Record<string, unknown>): void {
  if (operations === undefined) return;
  const known = new Set(own.flatMap(({ name, host }) => (host === undefined ? [name] : [])));
  const unknown = Array.isArray(operations) ? operations.find((name) => !known.has(name as string)) : operations;
  if (!Array.isArray(operations) || unknown !== undefined)
    throw new BackendError("backend", of("operations"), 'an array of names of the library\'s operations, as "softmax"', unknown);
  if (operations.length > 0 && prepareOperation === undefined)
    throw new BackendError("backend", of("prepareOperation"), "a function, as there are operations", prepareOperation);
}

function requireDeviceOf(backend: Backend, value: unknown): BackendDevice {
  const of = (field: string): string => `${backend.name}.open().${field}`;
  if (typeof value !== "object" || value === null)
    throw new BackendError("backend", `${backend.name}.open()`, "an object with the fields of BackendDevice", value);
  const fields = value as Record<string, unknown>;
  for (const name of methods)
    if (typeof fields[name] !== "function") throw new BackendError("backend", of(name), "a function", fields[name]);
  for (const name of optional)
    if (fields[name] !== undefined && typeof fields[name] !== "function")
      throw new BackendError("backend", of(name), "a function or undefined", fields[name]);
  const { dtypes, operators } = fields;
  if (!Array.isArray(dtypes) || !dtypes.every(isDType)) throw new BackendError("backend", of("dtypes"), "an array of dtypes", dtypes);
  const unknown = Array.isArray(operators)
    ? operators.find((name) => typeof name !== "string" || !Object.hasOwn(OPERATORS, name))
    : operators;
  if (!Array.isArray(operators) || unknown !== undefined)
    throw new BackendError("backend", of("operators"), "an array of names of dx.dml.OPERATORS", unknown);
  requireOperations(of, fields);
  return value as BackendDevice;
}

/** The backend's devices now. Throws NativeError for what it throws. */
export function describedDevices(backend: Backend, operation: string): readonly BackendDeviceDescription[] {
  let list: unknown;
  try {
    list = backend.devices();
  } catch (error) {
    throw fromNative(operation, asFailure(backend.name, "devices", null, error));
  }
  if (!Array.isArray(list)) throw new BackendError(operation, `${backend.name}.devices()`, "an array of descriptions", list);
  return list as readonly BackendDeviceDescription[];
}

let ids = 2 ** 32;

function openOutside(backend: Backend, operation: string, d: Device): NativeDevice {
  const description = requireIndex(backend, operation, d);
  let opened: BackendDevice;
  try {
    const options = {
      get timeoutInMs() {
        return deviceOptions().timeoutInMs ?? TIMEOUT_MS;
      },
    };
    opened = requireDeviceOf(backend, backend.open(d.index, options));
  } catch (error) {
    throw fromNative(operation, asFailure(backend.name, "open", null, error));
  }
  const has = new Set<string>(opened.operators);
  const outside = new OutsideBinding(
    backend.name,
    opened,
    {
      addon: loadBinding(),
      software: () => nativeDevice(deviceOf("cpu"), operation),
      noteFallback: (name, inputs, reason) => noteNodeFallback(name, inputs, native, reason),
      requireFallback: (name, inputs, reason) => requireNodeFallback(name, inputs, native, reason),
    },
    deviceOptions(),
  );
  const native: NativeDevice = {
    device: d,
    id: ids++,
    adapter: {
      index: d.index,
      name: description.name,
      vendorId: 0,
      deviceId: 0,
      luid: "",
      driverVersion: backend.version,
      isHardware: description.isHardware,
      isIntegrated: false,
      isSimulated: false,
      dedicatedMemoryInBytes: description.memoryInBytes,
      sharedMemoryInBytes: 0,
    },
    runtime: "software",
    runtimeName: `${backend.name} ${backend.version}`,
    binding: bindingOf(outside),
    isFallback: false,
    isClosed: false,
    capabilities: new Capabilities({
      name: description.name,
      featureLevel: FEATURE_LEVEL,
      dataTypes: opened.dtypes.reduce((bits, dtype) => bits | (1 << DTYPES[dtype].dml), 0),
      fusesGraphs: false,
      takesGraphs: false,
      fallsBackByNode: true,
      waveLanes: 0,
      operationKernels: operationKernels(opened, outside),
      missing: (Object.keys(OPERATORS) as OperatorName[]).filter((name) => !has.has(name)),
    }),
  };
  return native;
}

/** Null where it has none. What it throws is the operation's error. */
function operationKernels({ operations = [] }: BackendDevice, outside: OutsideBinding): OperationKernels | null {
  if (operations.length === 0) return null;
  const names = new Set(operations);
  return {
    has: (operation) => names.has(operation),
    prepare(call) {
      try {
        const kernel = outside.prepareOperation(call);
        return kernel === null ? null : { call, kernel };
      } catch (error) {
        throw fromNative(call.operation, error);
      }
    },
  };
}

function requireIndex(backend: Backend, operation: string, d: Device): BackendDeviceDescription {
  const { name } = backend;
  const list = describedDevices(backend, operation);
  const found = list[d.index];
  if (found === undefined) {
    const there = list.length < 2 ? `"${name}:0"` : `"${name}:0" to "${name}:${list.length - 1}"`;
    throw new DeviceError(operation, "device", list.length === 0 ? `one that exists: ${name} has none now` : there, String(d));
  }
  if (typeof found.name !== "string" || typeof found.memoryInBytes !== "number" || typeof found.isHardware !== "boolean")
    throw new BackendError(
      operation,
      `${name}.devices()[${d.index}]`,
      "{ name: string, memoryInBytes: number, isHardware: boolean }",
      found,
    );
  return found;
}

/** The devices of a backend from outside. */
const providerOf = (backend: Backend): Provider => ({
  name: backend.name,
  isIndexed: true,
  hasElements: true,
  count: () => {
    try {
      return describedDevices(backend, "devices").length;
    } catch {
      return 0;
    }
  },
  require: (operation, d) => void requireIndex(backend, operation, d),
  open: (operation, d) => openOutside(backend, operation, d),
});

setBackendProvider(providerOf);
