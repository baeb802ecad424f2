/** The bytes of tensors in pieces, so that neither a file nor a tensor has to fit the host's memory. */
import { noGrad } from "../autograd/grad-mode.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { contiguous } from "../ops/data/conversion.ts";
import { readBytes } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { outsideScopes } from "../core/scope.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";

/** More than the addon copies at once: it then waits for the device instead of taking ever more memory to copy from. */
export const PIECE = 16 * 2 ** 20;

/** Packed, in bytes. */
export const bytesOf = (t: { readonly dtype: DType; readonly shape: Shape }): number => sizeOf(t.shape) * DTYPES[t.dtype].sizeInBytes;

/** Bytes with a name that are read piece by piece. */
export interface Readable {
  readonly name: string;
  readonly sizeInBytes: number;
  /** Asks for bytes from `start` to `end`, those of now. */
  read(start: number, end: number): Promise<ArrayBuffer | Uint8Array<ArrayBuffer>>;
  dispose(): void;
}

/** A copy of bytes of the host. */
export class HostBytes implements Readable {
  readonly name: string;
  readonly sizeInBytes: number;
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.sizeInBytes = bytes.byteLength;
    this.#bytes = Uint8Array.from(bytes);
  }

  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.#bytes.subarray(start, end));
  }

  dispose(): void {}
}

/** A tensor as it is now, to be read later: dispose() of the tensor does not touch it, and a change of it is noticed. */
export class Frozen implements Readable {
  readonly name: string;
  readonly sizeInBytes: number;
  readonly #operation: string;
  readonly #storage: Storage;
  readonly #version: number;
  /** Its own tensor of the same storage. */
  #tensor: Tensor;
  /** A packed copy is nobody else's. */
  #isCopy = false;

  /** version: the storage's, if the elements are those of an earlier moment. */
  constructor(operation: string, name: string, t: Tensor, version = t.storage.version) {
    this.name = name;
    this.sizeInBytes = bytesOf(t);
    this.#operation = operation;
    this.#storage = t.storage;
    this.#version = version;
    this.#tensor = outsideScopes(() => new Tensor(t.storage, t.desc, t.offset));
  }

  dispose(): void {
    this.#tensor.dispose();
  }

  /** Asks for bytes from `start` to `end`, those of now. */
  read(start: number, end: number): Promise<ArrayBuffer> {
    if (!this.#isCopy && this.#storage.version !== this.#version)
      throw new ValueError(
        this.#operation,
        this.name,
        "unchanged until its bytes have been read",
        "one that an in-place operation has changed",
        "Wait for the call to end before you continue the training.",
      );
    const source = outsideScopes(() => noGrad(() => contiguous(this.#tensor)));
    if (source !== this.#tensor) {
      this.#tensor.dispose();
      this.#tensor = source;
      this.#isCopy = true;
    }
    const first = source.offset * DTYPES[source.dtype].sizeInBytes;
    return readBytes(nativeDevice(source.device), source.storage.handle, first + start, end - start, this.#operation);
  }
}

export interface Piece {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Bytes that are asked for at once, so that small states are those of now whatever happens next. */
const AHEAD = 256 * 2 ** 20;

/** All bytes of the tensors, in order. As many as fit AHEAD are asked for before the first is waited for. */
export async function* piecesOf(tensors: readonly Readable[]): AsyncGenerator<Piece> {
  const wanted = tensors.flatMap((t) =>
    Array.from({ length: Math.ceil(t.sizeInBytes / PIECE) }, (_, i) => ({
      t,
      start: i * PIECE,
      end: Math.min((i + 1) * PIECE, t.sizeInBytes),
    })),
  );
  const asked: { readonly name: string; readonly size: number; readonly bytes: Promise<ArrayBuffer | Uint8Array<ArrayBuffer>> }[] = [];
  let ahead = 0;
  let next = 0;
  const ask = (): void => {
    for (let w = wanted[next]; w !== undefined && (ahead === 0 || ahead + w.end - w.start <= AHEAD); w = wanted[++next]) {
      const bytes = w.t.read(w.start, w.end);
      // Whoever waits for an earlier one that fails never comes to wait for this one.
      bytes.catch(() => {});
      asked.push({ name: w.t.name, size: w.end - w.start, bytes });
      ahead += w.end - w.start;
    }
  };
  ask();
  for (let one = asked.shift(); one !== undefined; one = asked.shift()) {
    const read = await one.bytes;
    const bytes = read instanceof Uint8Array ? read : new Uint8Array(read);
    ahead -= one.size;
    ask();
    yield { name: one.name, bytes };
  }
}
