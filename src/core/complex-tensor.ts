/** Complex numbers as two tensors of real ones, a composite of structure.ts. Its operations are added by complex/methods.ts. */
import { copyMark, ownCopy, type Copy } from "./copies.ts";
import type { Device } from "./device.ts";
import { DeviceError, DTypeError, ShapeError } from "./errors.ts";
import { sameShape, showShape, type Shape } from "./shape.ts";
import { PARTS, WITH_PARTS } from "./structure.ts";
import { Tensor } from "./tensor.ts";

/** Named as PyTorch does, by the bits of both parts. */
export type ComplexDType = "complex32" | "complex64";

/** Complex dtypes by that of their parts, and back. */
export const COMPLEX: { readonly [dtype: string]: ComplexDType | undefined } = { float16: "complex32", float32: "complex64" };
export const REAL: { readonly [K in ComplexDType]: "float16" | "float32" } = { complex32: "float16", complex64: "float32" };

/** A tensor of complex numbers: two tensors of one shape, dtype and device. Made by complex(), polar(), fft.fft() and the like. Reference: torch.complex64. */
export class ComplexTensor {
  /** The real parts. */
  readonly real: Tensor;
  /** The imaginary parts: of the same shape, dtype and device. */
  readonly imag: Tensor;

  constructor(real: Tensor, imag: Tensor) {
    if (!(real instanceof Tensor) || COMPLEX[real.dtype] === undefined)
      throw new DTypeError("complex", "real", "a tensor of float32 or float16", real);
    if (!(imag instanceof Tensor) || imag.dtype !== real.dtype)
      throw new DTypeError("complex", "imag", `a tensor of ${real.dtype}, as real is`, imag);
    if (imag.device !== real.device) throw new DeviceError("complex", "imag", `on ${real.device}`, String(imag.device));
    if (!sameShape(real.shape, imag.shape)) throw new ShapeError("complex", "imag", showShape(real.shape), showShape(imag.shape));
    this.real = real;
    this.imag = imag;
  }

  /** @internal */
  get [copyMark](): Copy {
    return ownCopy();
  }

  [PARTS](): readonly Tensor[] {
    return [this.real, this.imag];
  }

  [WITH_PARTS]([real, imag]: readonly Tensor[]): ComplexTensor {
    return new ComplexTensor(real!, imag!);
  }

  /** Length of each axis; [] for a scalar. */
  get shape(): Shape {
    return this.real.shape;
  }

  /** "complex64", of float32 parts, or "complex32", of float16 parts. */
  get dtype(): ComplexDType {
    return COMPLEX[this.real.dtype]!;
  }

  /** The device that holds both parts. */
  get device(): Device {
    return this.real.device;
  }

  /** Number of axes. */
  get rank(): number {
    return this.real.rank;
  }

  /** Number of elements. */
  get size(): number {
    return this.real.size;
  }

  /** Whether either part has been disposed of. */
  get isDisposed(): boolean {
    return this.real.isDisposed || this.imag.isDisposed;
  }

  /** Whether gradients flow to either part. */
  get requiresGrad(): boolean {
    return this.real.requiresGrad || this.imag.requiresGrad;
  }

  /** Whether both parts are leaves: made by the user, or without a gradient. Reference: torch.Tensor.is_leaf. */
  get isLeaf(): boolean {
    return this.real.isLeaf && this.imag.isLeaf;
  }

  /** "complex64[2, 3]", as error messages show it. */
  describe(): string {
    return `${this.dtype}${showShape(this.shape)}`;
  }

  /** Frees both parts. */
  dispose(): void {
    this.real.dispose();
    this.imag.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
