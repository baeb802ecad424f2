/** What an engine reads and writes: the memory of a tensor itself where the host can use it, else a copy in the host's memory. */
import { noGrad } from "../autograd/grad-mode.ts";
import type { Device } from "../core/device.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { fromNative } from "../core/errors.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { internDesc, type Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { assign } from "../dispatch/dispatch.ts";
import { clone } from "../ops/data/state.ts";
import { to } from "../ops/data/conversion.ts";
import { cat } from "../ops/shape/join.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { allocate, readBytes, readBytesSync, withMemory } from "../runtime/buffers.ts";
import { nativeDevice, type NativeDevice } from "../runtime/devices.ts";
import { requireElements } from "../runtime/meta.ts";
import { requireReal } from "../runtime/traced.ts";

/** @internal Bytes for an engine. An address is that of memory that lives until the engine is done. */
export type EngineBytes = Uint8Array | { readonly address: number; readonly sizeInBytes: number };

/** @internal What a tensor is, for one that is made later. */
export interface Like {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly device: Device;
}

/** @internal */
export const sizeInBytesOf = ({ dtype, shape }: Omit<Like, "device">): number => sizeOf(shape) * DTYPES[dtype].sizeInBytes;

/** A smaller tensor is copied as fast as it is lent. How engines compute does not depend on it: the ranks' tensors may have different layouts. */
const MIN_BORROWED = 2 ** 20;

/** Runs fn without gradients. Its result belongs to no scope; what else it makes is freed. */
const apart = <T>(fn: () => T): T => outsideScopes(() => scope(() => noGrad(fn)));

/** Whether the host can use the device's memory. */
const isUsedInPlace = ({ binding, capabilities }: NativeDevice): boolean => binding.lend !== undefined && capabilities.fusesGraphs;

/**
 * @internal Memory of a device that no tensor of a user shows: packed, and alone in its storage. The engine uses its bytes from bytes() or bytesNow() on,
 * until one of the functions that say that it is done. After a failure it may use them for longer: then none is called, and the memory stays.
 */
export class EngineMemory {
  /** Memory that an engine may be using. */
  static readonly #lent = new Set<EngineMemory>();
  readonly #operation: string;
  readonly #tensor: Tensor;
  /** Whether the tensor is this memory's own, and goes with it. */
  readonly #isOwn: boolean;
  readonly #native: NativeDevice;
  /** The address, where the device's memory is used in place. */
  #address: number | null = null;
  /** The copy in the host's memory. */
  #copy: Uint8Array | null = null;
  /** The tensor's storage is this one's buffer, lent. */
  #lender: Storage | null = null;
  /** Memory for such copies: to make new pages takes longer than to copy. */
  #kept: Uint8Array | null = null;

  private constructor(operation: string, tensor: Tensor, isOwn = true) {
    this.#operation = operation;
    this.#tensor = tensor;
    this.#isOwn = isOwn;
    this.#native = nativeDevice(tensor.device, operation);
  }

  /** Of any elements. */
  static empty(operation: string, { dtype, shape, device }: Like): EngineMemory {
    const storage = allocate(nativeDevice(device, operation), sizeInBytesOf({ dtype, shape }), operation);
    return new EngineMemory(
      operation,
      outsideScopes(() => new Tensor(storage, internDesc(device, dtype, shape))),
    );
  }

  /** Of a tensor's elements as they are now. */
  static of(operation: string, x: Tensor): EngineMemory {
    requireElements(operation, x);
    requireReal(operation, [x]);
    if (!x.desc.isPacked || x.size === 0)
      return new EngineMemory(
        operation,
        apart(() => clone(x)),
      );
    const memory = EngineMemory.empty(operation, x);
    const { sizeInBytes } = DTYPES[x.dtype];
    withMemory(operation, () => {
      const { handle } = memory.#tensor.storage;
      memory.#native.binding.copy(x.storage.handle, x.offset * sizeInBytes, handle, 0, memory.#sizeInBytes);
    });
    return memory;
  }

  /**
   * Of a tensor's elements as they are now, which the engine only reads, until read(): those of the tensor itself where it fills its storage and the host
   * can use the device's memory. The tensor then takes a copy as soon as anything is done with it.
   */
  static borrowed(operation: string, x: Tensor): EngineMemory {
    requireElements(operation, x);
    requireReal(operation, [x]);
    const { storage, desc } = x;
    const native = nativeDevice(x.device, operation);
    const isShared = storage.birth === -1;
    if (desc.sizeInBytes < MIN_BORROWED || !x.coversStorage || isShared || !isUsedInPlace(native)) return EngineMemory.of(operation, x);
    const lent = storage.lend(({ handle }) => {
      const copy = allocate(native, storage.contentInBytes, operation);
      withMemory(operation, () => native.binding.copy(handle, 0, copy.handle, 0, copy.sizeInBytes));
      return copy;
    });
    const memory = new EngineMemory(
      operation,
      outsideScopes(() => new Tensor(lent, desc)),
    );
    memory.#lender = storage;
    return memory;
  }

  /** Whether it is another tensor's, which the engine must not write. */
  get isBorrowed(): boolean {
    return this.#lender !== null;
  }

  /** A packed tensor that starts its storage, itself: bytesNow() and returned() may follow each other many times. */
  static inPlace(operation: string, tensor: Tensor): EngineMemory {
    return new EngineMemory(operation, tensor);
  }

  /** Of a tensor that stays as it is until read(): the tensor itself where it is packed and starts its storage, else a copy. */
  static toRead(operation: string, x: Tensor): EngineMemory {
    requireElements(operation, x);
    requireReal(operation, [x]);
    return x.desc.isPacked && x.offset === 0 && x.size > 0 ? new EngineMemory(operation, x, false) : EngineMemory.of(operation, x);
  }

  /** Of several tensors' elements, one behind the other, on the first one's device: [number of elements]. They have one dtype. */
  static joined(operation: string, tensors: readonly Tensor[]): EngineMemory {
    for (const x of tensors) requireElements(operation, x);
    requireReal(operation, tensors);
    const { device } = tensors[0]!;
    const flat = apart(() => {
      const parts = tensors.map((x) => reshape(to(x, device), [-1]));
      return parts.length === 1 ? clone(parts[0]!) : cat(parts);
    });
    return new EngineMemory(operation, flat);
  }

  get #sizeInBytes(): number {
    return this.#tensor.desc.sizeInBytes;
  }

  /** In place, when the device is done with what was queued before; null: not on this device. */
  #lend(): EngineBytes | null {
    const { handle } = this.#tensor.storage;
    this.#address = withMemory(this.#operation, () => this.#native.binding.lend?.(handle) ?? null);
    if (this.#address === null) return null;
    EngineMemory.#lent.add(this);
    return { address: this.#address, sizeInBytes: this.#sizeInBytes };
  }

  /** The bytes. isRead: the engine reads them before it writes them. */
  async bytes(isRead: boolean): Promise<EngineBytes> {
    const { handle } = this.#tensor.storage;
    if (handle === 0) return new Uint8Array(0);
    if (isUsedInPlace(this.#native)) {
      try {
        await this.#native.binding.synchronize(this.#native.id);
      } catch (error) {
        throw fromNative(this.#operation, error);
      }
      const lent = this.#lend();
      if (lent !== null) return lent;
    }
    const size = this.#sizeInBytes;
    this.#copy = isRead ? new Uint8Array(await readBytes(this.#native, handle, 0, size, this.#operation)) : new Uint8Array(size);
    return this.#copy;
  }

  /** bytes(), blocking until the device is done; made: until a part of a recording's last replay is, whatever follows. */
  bytesNow(isRead: boolean, made: { readonly recording: number; readonly part: number } | null = null): EngineBytes {
    const { handle } = this.#tensor.storage;
    if (handle === 0) return new Uint8Array(0);
    if (isUsedInPlace(this.#native)) {
      withMemory(this.#operation, () => this.#native.binding.synchronizeSync(this.#native.id));
      const lent = this.#lend();
      if (lent !== null) return lent;
    }
    const size = this.#sizeInBytes;
    const { binding } = this.#native;
    if (made !== null && isRead && binding.readMade !== undefined) {
      const kept = (this.#kept ??= new Uint8Array(size));
      withMemory(this.#operation, () => {
        binding.readMade!(handle, 0, kept, made.recording, made.part);
      });
      return (this.#copy = kept);
    }
    this.#copy = isRead ? new Uint8Array(readBytesSync(this.#native, handle, 0, size, this.#operation)) : new Uint8Array(size);
    return this.#copy;
  }

  /** The engine is done. Gives a tensor of what it wrote: the caller's. */
  written(): Tensor {
    const bytes = this.#copy;
    this.#giveBack();
    if (bytes !== null) withMemory(this.#operation, () => this.#native.binding.write(this.#tensor.storage.handle, 0, bytes));
    return this.#tensor;
  }

  /** The engine is done: the tensor has what it wrote. */
  returned(): void {
    const bytes = this.#copy;
    this.#giveBack();
    const { storage, size } = this.#tensor;
    if (bytes !== null) withMemory(this.#operation, () => this.#native.binding.write(storage.handle, 0, bytes));
    storage.wrote(0, size);
  }

  /** The engine is done, and has written nothing. */
  read(): void {
    this.#giveBack();
    this.#lender?.takeBack(this.#tensor.storage);
    this.#lender = null;
    if (this.#isOwn) this.#tensor.dispose();
  }

  /** The engine is done, and has written nothing: a tensor of what it read, the caller's. */
  kept(): Tensor {
    this.#giveBack();
    return this.#tensor;
  }

  #giveBack(): void {
    if (this.#address !== null) this.#native.binding.giveBack!(this.#address);
    EngineMemory.#lent.delete(this);
    [this.#address, this.#copy] = [null, null];
  }

  /** The engine is done: a user's tensor takes what it wrote. Throws DisposedError for one that is gone. */
  writtenTo(x: Tensor): Tensor {
    const own = this.written();
    try {
      noGrad(() => assign(this.#operation, x, () => own, { replaces: true }));
    } finally {
      own.dispose();
    }
    return x;
  }

  /** The engine is done: new tensors of a shape, of equal parts of what it wrote. */
  writtenParts(shape: Shape, parts: number): Tensor[] {
    const whole = this.written();
    try {
      return apart(() => {
        const rows = reshape(whole, [parts, sizeOf(shape)]);
        return Array.from({ length: parts }, (_, i) => clone(reshape(narrow(rows, 0, i, 1), shape)));
      });
    } finally {
      whole.dispose();
    }
  }
}
