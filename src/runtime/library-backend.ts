/** Backends of native libraries with the C ABI of native/include/dxtensor_backend.h, over the interface that every backend from outside has. */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  BACKEND_INTERFACE,
  type Backend,
  type BackendCall,
  type BackendDevice,
  type BackendKernel,
  type BackendMemory,
  type BackendRange,
  type BackendTensor,
} from "../backend/interface.ts";
import { registerBackend, requireBackendName } from "../backend/registry.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { BackendLibraryError, ValueError, fromNative } from "../core/errors.ts";
import { OPERATORS, type OperatorName } from "../dml/operators.generated.ts";
import type { Binding, LibraryAttribute, LibraryLoad, LibraryTensor } from "../native/binding.ts";
import { loadBinding } from "../native/load-addon.ts";

/** Settings of dx.backend.loadLibrary(). */
export interface LibraryOptions {
  /** The type of its devices, "tiny" of "tiny:0". Default: the name that the library gives itself. */
  readonly name?: string;
}

const OPERATION = "backend.loadLibrary";

/** The header's number of each dtype: DirectML's, and two more. */
const numberOf = (dtype: DType): number => (dtype === "bool" ? 12 : dtype === "bfloat16" ? 13 : DTYPES[dtype].dml);
const dtypeOf = new Map((Object.keys(DTYPES) as DType[]).map((dtype) => [numberOf(dtype), dtype]));

/** An allocation of a library's, by the addon's number. */
class LibraryMemory {
  readonly handle: number;
  constructor(handle: number) {
    this.handle = handle;
  }
}

const handleOf = (memory: BackendMemory): number => (memory as LibraryMemory).handle;

/** Attributes in the header's kinds; null where there is one that it has no kind for, as a fused activation. */
function attributesOf(attributes: Readonly<Record<string, unknown>>): LibraryAttribute[] | null {
  const list: LibraryAttribute[] = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    const isPlain = ["number", "bigint", "boolean", "string"].includes(typeof value);
    if (!isPlain && !(Array.isArray(value) && value.every((item) => typeof item === "number"))) return null;
    list.push({ name, value: (typeof value === "bigint" ? BigInt.asIntN(64, value) : value) as LibraryAttribute["value"] });
  }
  return list;
}

const tensorOf = (tensor: BackendTensor | null): LibraryTensor | null =>
  tensor === null ? null : { dtype: numberOf(tensor.dtype), sizes: tensor.sizes, strides: tensor.strides };

/** A prepared operation is the addon's: it is given back when nobody has the kernel any more. */
class LibraryKernel implements BackendKernel {
  readonly #addon: Binding;
  readonly #operation: number;
  readonly #ranges: Float64Array;

  constructor(addon: Binding, operation: number, tensors: number) {
    this.#addon = addon;
    this.#operation = operation;
    this.#ranges = new Float64Array(3 * tensors);
  }

  #put(range: BackendRange | null, at: number): void {
    this.#ranges[at] = range === null ? 0 : handleOf(range.memory);
    this.#ranges[at + 1] = range === null ? 0 : range.offset;
    this.#ranges[at + 2] = range === null ? 0 : range.size;
  }

  run(inputs: readonly (BackendRange | null)[], outputs: readonly (BackendRange | null)[]): void {
    for (let i = 0; i < inputs.length; i++) this.#put(inputs[i]!, 3 * i);
    for (let i = 0; i < outputs.length; i++) this.#put(outputs[i]!, 3 * (inputs.length + i));
    this.#addon.backendRun(this.#operation, this.#ranges);
  }
}

/** Operations of kernels that were collected. Made when the first library is loaded. */
let forgotten: FinalizationRegistry<number> | undefined;

function openDevice(addon: Binding, library: number, index: number): BackendDevice {
  const { device, dtypes, operations } = addon.backendOpen(library, index);
  forgotten ??= new FinalizationRegistry((operation) => addon.backendForget(operation));
  const registry = forgotten;
  const prepare = (
    name: string,
    { attributes, inputs, outputs }: Pick<BackendCall, "attributes" | "inputs" | "outputs">,
  ): BackendKernel | null => {
    const listed = attributesOf(attributes);
    if (listed === null) return null;
    const tensors = [...inputs, ...outputs];
    const operation = addon.backendPrepare(device, name, tensors.map(tensorOf), inputs.length, listed);
    if (operation === 0) return null;
    const kernel = new LibraryKernel(addon, operation, tensors.length);
    registry.register(kernel, operation);
    return kernel;
  };
  const readSync = (memory: BackendMemory, offset: number, size: number): Uint8Array =>
    new Uint8Array(addon.backendRead(handleOf(memory), offset, size));
  const isOperator = (name: string): name is OperatorName => Object.hasOwn(OPERATORS, name);
  return {
    // A number that is none of the header's is refused with the device's other fields.
    dtypes: dtypes.map((n) => dtypeOf.get(n) ?? (String(n) as DType)),
    operators: operations.filter(isOperator),
    operations: operations.filter((name) => !isOperator(name)),
    allocate: (size) => new LibraryMemory(addon.backendAllocate(device, size)),
    free: (memory) => addon.backendFree(handleOf(memory)),
    write: (memory, offset, bytes) => addon.backendWrite(handleOf(memory), offset, bytes),
    read: async (memory, offset, size) => readSync(memory, offset, size),
    readSync,
    copy: (from, to) => addon.backendCopy(handleOf(from.memory), from.offset, handleOf(to.memory), to.offset, from.size),
    prepare: (call) => prepare(call.operator, call),
    prepareOperation: (call) => prepare(call.operation, call),
    synchronize: async () => addon.backendSynchronize(device),
    synchronizeSync: () => addon.backendSynchronize(device),
    // The ABI has no question for it: a wait of no length is one.
    isIdle: () => (addon.backendSynchronize(device), true),
    memory: () => addon.backendMemory(device),
    close: () => addon.backendClose(device),
  };
}

function requireLoaded(path: string, loaded: LibraryLoad, abi: number): Extract<LibraryLoad, { reason: null }> {
  if (loaded.reason === null) return loaded;
  const { reason, text, abi: version } = loaded;
  switch (reason) {
    case "notALibrary":
      throw new BackendLibraryError(path, reason, `the system's loader refuses it: ${text}`);
    case "missingSymbol":
      throw new BackendLibraryError(path, reason, `it does not export ${text}`, "A backend exports the functions of dxtensor_backend.h.");
    case "version":
      throw new BackendLibraryError(
        path,
        reason,
        `it was compiled for version ${version} of the C ABI; this dxtensor has version ${abi}`,
        version > abi ? "Update dxtensor." : "Compile it with the dxtensor_backend.h of this dxtensor.",
      );
    case "refused":
      throw new BackendLibraryError(path, reason, `its initialisation failed: ${text}`);
    default:
      return reason satisfies never;
  }
}

/** The version of the interface in native/include/dxtensor_backend.h. */
const ABI = 1;

/** By file and name: the same object again, so that loading twice does nothing. */
const loaded = new Map<string, Backend>();

function requirePath(path: unknown): string {
  if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
  if (typeof path === "string" && path !== "") return resolve(path);
  throw new ValueError(OPERATION, "path", "the path of a library, or its file: URL", path);
}

/**
 * Loads a native library that implements the C ABI of dxtensor_backend.h (in the package: native/include), and registers its devices. They are then
 * used by name, as those of every other backend. The library is initialised once in a process, and stays loaded; each worker thread that uses it
 * calls loadLibrary(). The same file again gives the same object.
 *
 * path: of the library (.so, .dll), relative to the working directory, or its file: URL.
 * options.name: the type of its devices; default: the library's own name.
 * Throws BackendLibraryError (`reason`: "missingFile", "notALibrary", "missingSymbol", "version", "refused"), BackendError where the name is taken or
 * no name. What its functions report later are NativeError, OutOfMemoryError, DeviceRemovedError or DeviceTimeoutError with the library's text.
 */
export function loadLibrary(path: string | URL, options: LibraryOptions = {}): Backend {
  const named = requirePath(path);
  if (typeof options !== "object" || options === null) throw new ValueError(OPERATION, "options", "an object, as { name }", options);
  if (options.name !== undefined) requireBackendName(OPERATION, "name", options.name);
  if (!existsSync(named)) throw new BackendLibraryError(named, "missingFile", "there is no such file");
  const file = realpathSync(named);
  const addon = loadBinding();
  let found;
  try {
    found = requireLoaded(file, addon.backendLoad(file), ABI);
  } catch (error) {
    throw fromNative(OPERATION, error);
  }
  const { library, name: own, version } = found;
  const name = options.name ?? own;
  const key = `${name}\0${file}`;
  const backend = loaded.get(key) ?? {
    name,
    interfaceVersion: BACKEND_INTERFACE,
    version,
    devices: () => addon.backendDevices(library),
    open: (index) => openDevice(addon, library, index),
  };
  registerBackend(backend);
  loaded.set(key, backend);
  return backend;
}
