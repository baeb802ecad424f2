/** The memory of a tensor's elements: a buffer of a device, shared by all views of it. */
import type { Device } from "./device.ts";
import { isPacked, packedStrides, sameShape, sizeOf, type Shape } from "./shape.ts";
import { DTYPES, type DType } from "./dtype.ts";
import { Generations } from "./bounded-map.ts";
import { FIRST_INFERENCE_VERSION, firstVersion } from "./inference.ts";

/** A buffer of the addon: a small positive integer; 0 is none. */
export type Handle = number;

let releaseHandle: (handle: Handle) => void = () => {};

/** @internal Set by the runtime, which knows the addon. */
export function setReleaser(release: (handle: Handle) => void): void {
  releaseHandle = release;
}

/** Writes that a divided storage remembers. */
const MAX_WRITES = 64;

/**
 * Mutable: the buffer behind it may be replaced (in-place operations that compute into a new one). Owned by its tensors and by
 * the tape, which count; freed with the last of them, or by the sweep when nothing refers to it any more.
 */
export class Storage {
  /** How often a storage got another buffer: code that caches handles compares this first. */
  static repoints = 0;
  /** How many there have been: what is made later has a higher number. */
  static made = 0;
  readonly device: Device;
  /** Bytes of the elements, exactly; a view of fewer shows a part, even where both round up to the same size. */
  readonly contentInBytes: number;
  /** 0: none (empty tensors, traced ones, disposed of). */
  handle: Handle = 0;
  /** Counts writes, so that autograd sees that a saved tensor was changed. Negative for inference tensors. */
  version = firstVersion();
  refs = 0;
  /** How many of these are programs that read or write it as state. */
  programs = 0;
  /** The object that the addon knows as the buffer's owner, when the buffer was taken over from another storage. */
  owner: object | null = null;
  /** Its number in the order of making; -1 for those that are shared on purpose. */
  birth = Storage.made++;
  #writes: { readonly version: number; readonly start: number; readonly end: number }[] | null = null;
  /** Who has the buffer; see lend(). */
  #lent: Storage | null = null;
  /** What the running trace knows of it. */
  trace: object | null = null;
  /** The number of the last run of a compiled function that wrote to it as to a storage from outside. */
  writtenIn = 0;

  constructor(device: Device, contentInBytes: number) {
    this.device = device;
    this.contentInBytes = contentInBytes;
  }

  /** Of the buffer: a multiple of 4. */
  get sizeInBytes(): number {
    return Math.ceil(this.contentInBytes / 4) * 4;
  }

  /** Whether its tensors are inference tensors. */
  get isInference(): boolean {
    return this.version < 0;
  }

  /** The version before the first write. */
  get firstVersion(): number {
    return this.version < 0 ? FIRST_INFERENCE_VERSION : 0;
  }

  get isWritten(): boolean {
    return this.version > this.firstVersion;
  }

  /** The library keeps it for all that need its elements: never written, never reused for a result. */
  share(): void {
    this.birth = -1;
    this.version = 0;
  }

  retain(): void {
    this.refs++;
  }

  release(): void {
    if (--this.refs > 0) return;
    if (this.#lent !== null) this.#setHandle(0);
    if (this.handle === 0) return;
    const handle = this.handle;
    this.handle = 0;
    releaseHandle(handle);
  }

  /** Several separate tensors are adjacent here (an optimizer's parameters): their writes are distinguished by ranges. */
  divide(): void {
    this.#writes ??= [];
  }

  /** Elements from `start` on, before `end`, were written. */
  wrote(start: number, end: number): void {
    this.#countWrite();
    if (this.#writes === null) return;
    this.#writes.push({ version: this.version, start, end });
    if (this.#writes.length > MAX_WRITES) this.#writes.shift();
  }

  #countWrite(): void {
    // An inference tensor stays one, however often it is written.
    if (++this.version === 0) this.version = FIRST_INFERENCE_VERSION;
  }

  /** Forgets the writes after a version: they were rolled back. */
  forgetWrites(version: number): void {
    this.version = version;
    this.#writes = this.#writes?.filter((w) => w.version <= version) ?? null;
  }

  /** Whether elements from `start` on, before `end`, may have been written after a version. */
  isChanged(since: number, start: number, end: number): boolean {
    const writes = this.#writes?.filter((w) => w.version > since) ?? [];
    // A version that is not among them was a write to the whole, or is forgotten.
    return this.version - since !== writes.length || writes.some((w) => w.start < end && start < w.end);
  }

  /** The buffer as it is now, as a storage of its own: this one is about to be repointed, and something still needs the old bytes. */
  split(): Storage {
    const old = new Storage(this.device, this.sizeInBytes);
    old.handle = this.handle;
    old.owner = this.owner ?? this;
    this.handle = 0;
    return old;
  }

  /**
   * The buffer as a storage of its own, for somebody who reads it until takeBack(). As soon as this storage's handle is asked for meanwhile, copyOf makes a
   * copy that it takes: what is done with its tensors is done with that.
   */
  lend(copyOf: (lent: Storage) => Storage): Storage {
    const lent = this.split();
    // Code that caches handles asks again.
    Storage.repoints++;
    this.#lent = lent;
    Object.defineProperty(this, "handle", {
      configurable: true,
      enumerable: true,
      get: (): Handle => {
        const copy = copyOf(lent);
        this.#setHandle(copy.handle);
        this.owner = copy;
        copy.handle = 0;
        return this.handle;
      },
      set: (handle: Handle) => {
        this.#setHandle(handle);
      },
    });
    return lent;
  }

  /** Nobody reads the buffer any more: it is this storage's again, unless this has another one by now, or is freed. */
  takeBack(lent: Storage): void {
    if (this.#lent !== lent) return;
    this.#setHandle(lent.handle);
    this.owner = lent.owner === this ? null : lent.owner;
    lent.handle = 0;
  }

  #setHandle(handle: Handle): void {
    this.#lent = null;
    Object.defineProperty(this, "handle", { configurable: true, enumerable: true, writable: true, value: handle });
  }

  /** Another buffer replaces this one's, which is freed. `owner`: the object that the addon knows as its owner. */
  repoint(handle: Handle, owner: object | null): void {
    const old = this.handle;
    Storage.repoints++;
    this.handle = handle;
    this.owner = owner;
    this.#countWrite();
    if (old !== 0 && old !== handle) releaseHandle(old);
  }
}

/** Device, dtype, shape and strides of a tensor; interned, so that equal ones are as a rule the same object with the same id. */
export class Desc {
  /** Never given twice. */
  readonly id: number;
  readonly device: Device;
  readonly dtype: DType;
  readonly shape: Shape;
  /** In elements. */
  readonly strides: readonly number[];
  /** Number of elements. */
  readonly size: number;
  /** Of the elements. */
  readonly sizeInBytes: number;
  readonly isPacked: boolean;
  /** Elements of the storage from the first to behind the last one: what a view with gaps spans. */
  readonly extent: number;

  constructor(id: number, device: Device, dtype: DType, shape: Shape, strides: readonly number[]) {
    this.id = id;
    this.device = device;
    this.dtype = dtype;
    this.shape = shape;
    this.strides = strides;
    this.size = sizeOf(shape);
    this.sizeInBytes = this.size * DTYPES[dtype].sizeInBytes;
    this.isPacked = isPacked(shape, strides);
    this.extent = this.size === 0 ? 0 : shape.reduce((n, d, i) => n + (d - 1) * strides[i]!, 1);
  }
}

/** At most this many descriptions of one hash are kept: the next one replaces all. */
const ALIKE = 64;
const DESCS = 1 << 14;

/**
 * By a hash of all that makes a description: packed ones, and those that were asked for by their strides. One that was long not
 * asked for is forgotten: a tensor that has it stays right, a new one gets another object with another id.
 */
const packedDescs = new Generations<number, Desc[]>(DESCS);
const stridedDescs = new Generations<number, Desc[]>(DESCS);
let count = 0;

/** @internal For tests: how many hashes of descriptions are known. */
export const internedDescs = (): number => packedDescs.size + stridedDescs.size;

function mixed(hash: number, list: readonly number[]): number {
  for (let i = 0; i < list.length; i++) hash = (Math.imul(hash, 31) + list[i]!) | 0;
  return hash;
}

const frozen = (list: readonly number[]): readonly number[] => Object.freeze([...list]);

export function internDesc(device: Device, dtype: DType, shape: Shape, strides?: readonly number[]): Desc {
  let hash = mixed(Math.imul(device.id, 64) + DTYPES[dtype].rank, shape);
  if (strides !== undefined) hash = mixed(hash, strides);
  const known = strides === undefined ? packedDescs : stridedDescs;
  let bucket = known.get(hash);
  if (bucket === undefined) known.set(hash, (bucket = []));
  for (const d of bucket)
    if (d.device === device && d.dtype === dtype && sameShape(d.shape, shape) && (strides === undefined || sameShape(d.strides, strides)))
      return d;
  const packed = packedStrides(shape);
  const desc =
    strides !== undefined && sameShape(strides, packed)
      ? internDesc(device, dtype, shape)
      : new Desc(count++, device, dtype, frozen(shape), frozen(strides ?? packed));
  if (bucket.length >= ALIKE) bucket.length = 0;
  bucket.push(desc);
  return desc;
}
