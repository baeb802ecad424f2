/** Devices by name: "dml:0" is the first DirectX 12 adapter, "cpu" the software adapter. Importing this loads nothing. */
import { DeviceError } from "./errors.ts";

/** A device's name; two with the same name are the same object. */
export class Device {
  readonly type: string;
  readonly index: number;
  /** Small number for cache keys. */
  readonly id: number;
  readonly #name: string;

  /** @internal Use device(). */
  constructor(type: string, index: number, id: number, name: string) {
    this.type = type;
    this.index = index;
    this.id = id;
    this.#name = name;
  }

  toString(): string {
    return this.#name;
  }
}

/** Whatever names a device. */
export type DeviceLike = Device | string;

const known = new Map<string, Device>();
let chosen: Device | null = null;
let findDefault: () => Device = () => device("cpu");

/** The device of a name such as "dml:1", "dml" (its first) or "cpu". Whether it is there is found out when it is used. */
export function device(name: DeviceLike): Device {
  if (name instanceof Device) return name;
  const match = typeof name === "string" ? /^([a-z][a-z0-9_]*)(?::(\d+))?$/.exec(name) : null;
  if (match === null) throw new DeviceError("device", "name", 'like "dml:0" or "cpu"', name);
  const index = Number(match[2] ?? 0);
  const full = match[1] === "cpu" && index === 0 ? "cpu" : `${match[1]}:${index}`;
  let found = known.get(full);
  if (found === undefined) {
    found = new Device(match[1]!, index, known.size, full);
    known.set(full, found);
  }
  return found;
}

/** @internal How the default device is found when nobody has chosen one. */
export function setDefaultFinder(find: () => Device): void {
  findDefault = find;
}

/** The device on which tensors are made when none is named: DXTENSOR_DEVICE, else "dml:0" if there is hardware, else "cpu". */
export function defaultDevice(): Device {
  chosen ??= findDefault();
  return chosen;
}

/** Changes the default device of this thread; null: find it anew. */
export function setDefaultDevice(name: DeviceLike | null): void {
  chosen = name === null ? null : device(name);
}

/** Runs fn with another default device. A promise that fn returns is waited for before the default is set back. */
export function withDevice<T>(name: DeviceLike, fn: () => T): T {
  const before = chosen;
  chosen = device(name);
  let result: T;
  try {
    result = fn();
  } catch (error) {
    chosen = before;
    throw error;
  }
  if (result instanceof Promise)
    return result.finally(() => {
      chosen = before;
    }) as T;
  chosen = before;
  return result;
}
