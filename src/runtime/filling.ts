/** Tensors that are filled piece by piece, so that a file need not fit the host's memory. */
import { DTYPES, type DType } from "../core/dtype.ts";
import { truths } from "../core/elements.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { allocate, withMemory } from "./buffers.ts";
import type { NativeDevice } from "./devices.ts";

/** A tensor on a device of `sizeInBytes` packed bytes, which `write` fills. */
export class Filling {
  readonly tensor: Tensor;
  readonly #native: NativeDevice;
  readonly #operation: string;

  constructor(operation: string, native: NativeDevice, dtype: DType, shape: Shape) {
    this.#operation = operation;
    this.#native = native;
    const storage = allocate(native, sizeOf(shape) * DTYPES[dtype].sizeInBytes, operation);
    this.tensor = new Tensor(storage, internDesc(native.device, dtype, shape));
  }

  write(offset: number, bytes: Uint8Array): void {
    const written = this.tensor.dtype === "bool" ? truths(bytes) : bytes;
    withMemory(this.#operation, () => this.#native.binding.write(this.tensor.storage.handle, offset, written));
  }
}
