/** The device's memory. The host holds allocations as objects that show nothing: bytes get in and out by the device's copies alone. */
import type { backend } from "dxtensor";

type Range = backend.BackendRange;
type DType = backend.BackendTensor["dtype"];

/** An error whose `kind` says which class users of the library see. */
export function fault(kind: "outOfMemory" | "removed" | "timeout" | "internal", message: string): Error {
  return Object.assign(new Error(message), { kind });
}

/** An allocation as the host sees it. */
class Allocation {
  /** For people who print one. */
  readonly device = "openreg";
}

export type Elements =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** Arrays over the bytes of each dtype that kernels see; float16 is none of JavaScript's. */
const views: { readonly [K in DType]?: new (buffer: ArrayBuffer, offset: number, length: number) => Elements } = {
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
};

export const hasView = (dtype: DType): boolean => views[dtype] !== undefined;

export class Memory {
  readonly #bytes = new WeakMap<object, ArrayBuffer>();
  readonly #limit: number;
  #held = 0;
  #failing = 0;

  constructor(limitInBytes: number) {
    this.#limit = limitInBytes;
  }

  get heldInBytes(): number {
    return this.#held;
  }

  get limitInBytes(): number {
    return this.#limit;
  }

  /** The next allocations fail. */
  failNext(count: number): void {
    this.#failing = count;
  }

  allocate(sizeInBytes: number): object {
    if (this.#failing > 0 || this.#held + sizeInBytes > this.#limit) {
      this.#failing = Math.max(0, this.#failing - 1);
      throw fault("outOfMemory", `no memory for ${sizeInBytes} bytes: ${this.#held} of ${this.#limit} are held`);
    }
    const made = new Allocation();
    this.#bytes.set(made, new ArrayBuffer(sizeInBytes));
    this.#held += sizeInBytes;
    return made;
  }

  free(memory: object): void {
    this.#held -= this.#of(memory).byteLength;
    this.#bytes.delete(memory);
  }

  #of(memory: object): ArrayBuffer {
    const found = this.#bytes.get(memory);
    if (found === undefined) throw fault("internal", "an address that is not mapped: the memory was freed, or it is another device's");
    return found;
  }

  /** The bytes of a range, for the device itself. */
  bytes({ memory, offset, size }: Range): Uint8Array {
    const whole = this.#of(memory);
    if (offset < 0 || offset + size > whole.byteLength)
      throw fault("internal", `bytes ${offset} to ${offset + size} lie outside the allocation of ${whole.byteLength}`);
    return new Uint8Array(whole, offset, size);
  }

  /** A range's elements. A tensor of few bytes may end behind the last whole element. */
  elements(range: Range, dtype: DType): Elements {
    const { buffer, byteOffset, byteLength } = this.bytes(range);
    const View = views[dtype]!;
    const size = (View as unknown as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT;
    return new View(buffer as ArrayBuffer, byteOffset, Math.floor(byteLength / size));
  }
}
