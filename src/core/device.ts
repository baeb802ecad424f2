/** Devices by name: "dml:0" is the first DirectX 12 adapter, "cpu" the software adapter, "meta" none at all. Importing this loads nothing. */
import { Ambient } from "./ambient.ts";
import { copyMark, ownCopy, type Copy } from "./copies.ts";
import { DTypeError, DeviceError } from "./errors.ts";

function refuseCopy(): never {
  throw new DTypeError(
    "tensor",
    "value",
    "no part of structuredClone(), postMessage() or a comparison by fields",
    "a tensor or a device",
    "Pass the elements, await x.data() or x.toArraySync(), and make a tensor of them there.",
  );
}

/** A device's name; two with the same name are the same object. */
export class Device {
  /** The backend's name: "cpu", "dml", "meta", or that of a backend from outside. */
  readonly type: string;
  /** Number of the adapter; 0 where there is one only. */
  readonly index: number;
  /** Small number for cache keys. */
  readonly id: number;
  readonly #name: string;
  readonly #hasElements: boolean;

  /** @internal Use device(). */
  constructor(type: string, index: number, id: number, name: string, hasElements: boolean) {
    this.type = type;
    this.index = index;
    this.id = id;
    this.#name = name;
    this.#hasElements = hasElements;
    // What copies or compares fields, of this or of a tensor, would take handles for data: it comes upon this one first.
    Object.defineProperty(this, "isNoPlainData", { get: refuseCopy, enumerable: true });
  }

  /** @internal */
  get [copyMark](): Copy {
    return ownCopy();
  }

  /** @internal False of a device whose tensors have shapes and dtypes only. */
  get hasElements(): boolean {
    return this.#hasElements;
  }

  /** What JSON.stringify() writes: the name. */
  toJSON(): string {
    return this.#name;
  }

  /** "cpu", "meta", "dml:0". */
  toString(): string {
    return this.#name;
  }
}

/** Whatever names a device. */
export type DeviceLike = Device | string;

/** What a device's name says before its index is looked at. */
export interface DeviceKind {
  /** Devices are numbered: "dml:1". False: there is one, without a number. */
  readonly isIndexed: boolean;
  /** Tensors have elements. */
  readonly hasElements: boolean;
}

const kinds = new Map<string, DeviceKind>();
let findKind: (type: string) => void = () => {};

/** @internal Devices of this type can be named from now on; see src/backend/registry.ts. */
export function declareDeviceType(type: string, kind: DeviceKind): void {
  kinds.set(type, kind);
}

/** @internal Called with a type that is not declared, which it may declare. */
export function setDeviceTypeFinder(find: (type: string) => void): void {
  findKind = find;
}

/** The names of the declared devices as an error lists them: '"cpu", "meta" or "dml:N"'. */
export function deviceNames(isWanted: (kind: DeviceKind) => boolean = () => true): string {
  const names = [...kinds].filter(([, kind]) => isWanted(kind)).map(([type, { isIndexed }]) => `"${type}${isIndexed ? ":N" : ""}"`);
  return names.length < 2 ? names.join() : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

const known = new Map<string, Device>();
const chosen = new Ambient<Device | null>(null);
let findDefault: () => Device = () => device("cpu");

/** @internal As device(), for another operation and argument of a user's. */
export function namedDevice(operation: string, argument: string, name: DeviceLike): Device {
  if (name instanceof Device) return name;
  const match = typeof name === "string" ? /^([a-z][a-z0-9_-]*)(?::(\d+))?$/.exec(name) : null;
  const type = match?.[1] ?? "";
  const index = Number(match?.[2] ?? 0);
  if (match !== null && !kinds.has(type)) findKind(type);
  const kind = kinds.get(type);
  if (kind === undefined || (!kind.isIndexed && index !== 0) || !Number.isSafeInteger(index))
    throw new DeviceError(operation, argument, deviceNames(), name, "dx.dml.deviceCount() says how many dml devices there are.");
  const full = kind.isIndexed ? `${type}:${index}` : type;
  let found = known.get(full);
  if (found === undefined) {
    found = new Device(type, index, known.size, full, kind.hasElements);
    known.set(full, found);
  }
  return found;
}

/**
 * The device of a name such as "dml:1", "dml" (its first), "cpu", "meta" (shapes and dtypes without elements), or that of a backend from outside.
 * Whether it is there is found out when it is used.
 * Throws DeviceError for a name that is no device's.
 */
export const device = (name: DeviceLike): Device => namedDevice("device", "name", name);

/** @internal How the default device is found when nobody has chosen one. */
export function setDefaultFinder(find: () => Device): void {
  findDefault = find;
}

/** The device on which tensors are made when none is named: DXTENSOR_DEVICE, else "dml:0" if there is hardware, else "cpu". */
export function defaultDevice(): Device {
  return chosen.value ?? (chosen.value = findDefault());
}

/** Changes the default device of this thread, or inside withDevice() until that ends; null: find it again. */
export function setDefaultDevice(name: DeviceLike | null): void {
  chosen.value = name === null ? null : device(name);
}

/**
 * Runs fn with another default device. When fn returns a promise, that device is the default for all that fn does until the promise
 * settles, and for nothing else that runs meanwhile.
 */
export const withDevice = <T>(name: DeviceLike, fn: () => T): T => chosen.run(device(name), fn);
