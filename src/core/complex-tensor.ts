/** Complex numbers as a tensor of pairs of real ones, a composite of structure.ts. Its operations are added by complex/methods.ts. */
import { copyMark, ownCopy, type Copy } from "./copies.ts";
import type { Device } from "./device.ts";
import { DeviceError, DTypeError, ShapeError } from "./errors.ts";
import { sameShape, showShape, type Shape } from "./shape.ts";
import { KIND, PARTS, WITH_PARTS } from "./structure.ts";
import { Tensor } from "./tensor.ts";
import { tracer } from "./tracer.ts";

/** Named as PyTorch does, by the bits of both parts. */
export type ComplexDType = "complex32" | "complex64";

/** Complex dtypes by that of their parts, and back. */
export const COMPLEX: { readonly [dtype: string]: ComplexDType | undefined } = { float16: "complex32", float32: "complex64" };
export const REAL: { readonly [K in ComplexDType]: "float16" | "float32" } = { complex32: "float16", complex64: "float32" };

/** What takes pairs apart and puts them together. complex/pairs.ts sets it: nothing here may import an operation. */
export interface PairOperations {
  /** Pairs [..., 2] of two tensors: a copy. */
  join(real: Tensor, imag: Tensor): Tensor;
  /** The first (0) or second (1) number of each pair: a view. */
  part(pairs: Tensor, index: 0 | 1): Tensor;
  /** -x. */
  negative(x: Tensor): Tensor;
  /** Whether gradients are recorded. */
  isGradEnabled(): boolean;
}
export const pairOperations = {} as PairOperations;

/** Tensors of the real and of the imaginary parts. They depend on the grad mode, and while a function is traced none is kept for later. */
class Parts {
  readonly #kept: (Tensor | null)[] = [null, null, null, null];

  get(index: 0 | 1, make: () => Tensor): Tensor {
    if (tracer() !== null) return make();
    const slot = index + (pairOperations.isGradEnabled() ? 2 : 0);
    const before = this.#kept[slot]!;
    return before === null || before.isDisposed ? (this.#kept[slot] = make()) : before;
  }

  /** Later calls make new ones. */
  forget(): void {
    this.#kept.fill(null);
  }

  dispose(): void {
    for (const t of this.#kept) t?.dispose();
    this.forget();
  }
}

/** A tensor of complex numbers: pairs of real ones in one tensor, of which `real` and `imag` are views. Made by complex(), polar(), fft.fft() and the like. Reference: torch.complex64. */
export class ComplexTensor {
  /** @internal The numbers [..., 2] as they are stored: those of a conjugate are the pairs of the tensor that it is a view of. */
  readonly pairs: Tensor;
  /** Whether it is the conjugate of what is stored: conj() is a view. Reference: torch.Tensor.is_conj. */
  readonly isConj: boolean;
  /** What users have seen, and what operations read: hooks on the former see no gradients of the latter. */
  readonly #seen = new Parts();
  readonly #read = new Parts();

  constructor(real: Tensor, imag: Tensor);
  /** @internal */
  constructor(pairs: Tensor, isConj: boolean);
  constructor(first: Tensor, second: Tensor | boolean) {
    this.isConj = second === true;
    this.pairs = typeof second === "boolean" ? first : joined(first, second);
  }

  /** The real parts: a view. Reference: torch.Tensor.real. */
  get real(): Tensor {
    return this.#seen.get(0, () => pairOperations.part(this.pairs, 0));
  }

  /** The imaginary parts: a view; of a conjugate a copy. Reference: torch.Tensor.imag. */
  get imag(): Tensor {
    return this.#seen.get(1, () => this.#imag());
  }

  /** @internal The real parts, to compute with. */
  get re(): Tensor {
    return this.#read.get(0, () => pairOperations.part(this.pairs, 0));
  }

  /** @internal The imaginary parts, to compute with. */
  get im(): Tensor {
    return this.#read.get(1, () => this.#imag());
  }

  #imag(): Tensor {
    const stored = pairOperations.part(this.pairs, 1);
    return this.isConj ? pairOperations.negative(stored) : stored;
  }

  /** @internal The pairs changed from or to a leaf that requires a gradient: earlier views are dropped. */
  forgetParts(): void {
    this.#seen.forget();
    this.#read.forget();
  }

  /** @internal */
  get [copyMark](): Copy {
    return ownCopy();
  }

  [PARTS](): readonly Tensor[] {
    return [this.pairs];
  }

  [WITH_PARTS]([pairs]: readonly Tensor[]): ComplexTensor {
    return new ComplexTensor(pairs!, this.isConj);
  }

  [KIND](): string {
    return this.isConj ? "conjugate" : "complex";
  }

  /** Length of each axis; [] for a scalar. */
  get shape(): Shape {
    return this.pairs.shape.slice(0, -1);
  }

  /** "complex64", of float32 parts, or "complex32", of float16 parts. */
  get dtype(): ComplexDType {
    return COMPLEX[this.pairs.dtype]!;
  }

  /** The device of both parts. */
  get device(): Device {
    return this.pairs.device;
  }

  /** Number of axes. */
  get rank(): number {
    return this.pairs.rank - 1;
  }

  /** Number of elements. */
  get size(): number {
    return this.pairs.size / 2;
  }

  /** Whether it has been disposed of. */
  get isDisposed(): boolean {
    return this.pairs.isDisposed;
  }

  /** Whether gradients flow to it. */
  get requiresGrad(): boolean {
    return this.pairs.requiresGrad;
  }

  /** Whether it was made in inferenceMode(), or is a view of such a tensor. Reference: torch.Tensor.is_inference. */
  get isInference(): boolean {
    return this.pairs.isInference;
  }

  /** Whether it is a leaf: made by the user, or without a gradient. Reference: torch.Tensor.is_leaf. */
  get isLeaf(): boolean {
    return this.pairs.isLeaf;
  }

  /** "complex64[2, 3]", as error messages show it. */
  describe(): string {
    return `${this.dtype}${showShape(this.shape)}`;
  }

  /** Frees it, and its parts: unless other views need the memory. */
  dispose(): void {
    this.#seen.dispose();
    this.#read.dispose();
    this.pairs.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function joined(real: Tensor, imag: Tensor): Tensor {
  if (!(real instanceof Tensor) || COMPLEX[real.dtype] === undefined)
    throw new DTypeError("complex", "real", "a tensor of float32 or float16", real);
  if (!(imag instanceof Tensor) || imag.dtype !== real.dtype)
    throw new DTypeError("complex", "imag", `a tensor of ${real.dtype}, as real is`, imag);
  if (imag.device !== real.device) throw new DeviceError("complex", "imag", `on ${real.device}`, String(imag.device));
  if (!sameShape(real.shape, imag.shape)) throw new ShapeError("complex", "imag", showShape(real.shape), showShape(imag.shape));
  return pairOperations.join(real, imag);
}
