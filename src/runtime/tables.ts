/** Tables of constants that the host computes, as tensors: kept on each device as long as they fit a budget, so that they are uploaded once. */
import type { Device } from "../core/device.ts";
import { keep } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { upload } from "./buffers.ts";
import { nativeDevice, onClose, type NativeDevice } from "./devices.ts";

/** What is computed when a table is not there: float32 arrays of one shape. */
export interface TableSpec {
  /** Unlike that of any other table. */
  readonly key: string;
  readonly shape: Shape;
  readonly make: () => readonly Float32Array[];
}

interface Kept {
  readonly tensors: readonly Tensor[];
  readonly bytes: number;
}

/** Bytes that are kept on each device; more only where one call needs more. */
const BUDGET = 64 * 2 ** 20;

class Tables {
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** In the specs' order. What was used last is kept longest. */
  get(native: NativeDevice, specs: readonly TableSpec[]): Tensor[] {
    const tensors = specs.flatMap((spec) => this.#one(native, spec));
    if (this.#bytes <= BUDGET) return tensors;
    const asked = new Set(specs.map((spec) => spec.key));
    for (const [key, { bytes }] of this.#kept) {
      if (this.#bytes <= BUDGET) break;
      if (asked.has(key)) continue;
      // Only let go of, not disposed of: a compiled program may still read it.
      this.#kept.delete(key);
      this.#bytes -= bytes;
    }
    return tensors;
  }

  #one(native: NativeDevice, { key, shape, make }: TableSpec): readonly Tensor[] {
    let found = this.#kept.get(key);
    if (found === undefined) {
      const arrays = make();
      const tensors = arrays.map((a) => {
        const t = keep(new Tensor(upload(native, a, "table"), internDesc(native.device, "float32", shape)));
        // Not reused for a result: others read it.
        t.storage.share();
        return t;
      });
      found = { tensors, bytes: arrays.reduce((n, a) => n + a.byteLength, 0) };
      this.#bytes += found.bytes;
    } else this.#kept.delete(key);
    this.#kept.set(key, found);
    return found.tensors;
  }

  clear(): void {
    for (const { tensors } of this.#kept.values()) for (const t of tensors) t.dispose();
    this.#kept.clear();
    this.#bytes = 0;
  }
}

const devices = new Map<NativeDevice, Tables>();
onClose((native) => devices.delete(native));

/** The tensors of tables, which are shared: never to be written or disposed of by the caller. */
export function tableTensors(device: Device, specs: readonly TableSpec[]): Tensor[] {
  const native = nativeDevice(device, "table");
  let tables = devices.get(native);
  if (tables === undefined) devices.set(native, (tables = new Tables()));
  return tables.get(native, specs);
}

/** @internal For tests: bytes of the tables that are kept on a device. */
export const tableBytes = (device: Device): number => devices.get(nativeDevice(device, "table"))?.bytes ?? 0;

/** @internal Frees the kept tables, so that tests can count live buffers. */
export function clearTables(): void {
  for (const tables of devices.values()) tables.clear();
}
