/** The hook through which compile() takes over dispatch. Nothing here knows how tracing works. */
import type { Device } from "./device.ts";
import type { DType } from "./dtype.ts";
import type { Definition } from "./definition.ts";
import type { Tensor } from "./tensor.ts";

export interface Tracer {
  /** False when nothing is to be written to the tape: a check of what was recorded before. */
  readonly recordsTape: boolean;
  /** A leaf's gradient is about to change. */
  touchGradient(leaf: Tensor): void;
  /** An operation: returns its results as traced tensors. */
  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[];
  /** An operation without inputs. */
  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor;
  /** A one-element tensor of a JavaScript number. */
  scalar(device: Device, dtype: DType, value: number | bigint | boolean): Tensor;
  /** A tensor made of data that JavaScript holds. */
  constant(device: Device, dtype: DType, shape: readonly number[], bytes: ArrayBufferView): Tensor;
  /** target (all of it, any strides) takes the value of source, which has its shape and dtype. */
  assign(target: Tensor, source: Tensor): void;
  /** The data of a tensor is asked for: an error while tracing. */
  read(operation: string, tensor: Tensor): never;
  backward(roots: readonly Tensor[], run: () => void): void;
  /**
   * A part of the traced function whose operations depend on nothing but `guards` (plain values), the tensors it reads, and
   * what was traced before: an optimizer's step. A later call whose guards are equal need not run it again; then a method
   * `beforeReplay` of the owner, if it has one, is called instead: it brings cells up to date that JavaScript values feed.
   */
  region(owner: object, guards: readonly unknown[], run: () => void): void;
}

let current: Tracer | null = null;

export const tracer = (): Tracer | null => current;

/** @internal Runs fn with a tracer in charge. */
export function withTracer<T>(next: Tracer, fn: () => T): T {
  const before = current;
  current = next;
  try {
    return fn();
  } finally {
    current = before;
  }
}
