/** Tensors of a description: sizes and strides, the bytes they span, and layouts to try. */
import type { TensorDescription } from "../../native/binding.ts";
import { typeOf, type DataType } from "./types.ts";

const roundUp4 = (bytes: number): number => Math.ceil(bytes / 4) * 4;

export const elementsOf = (sizes: readonly number[]): number => sizes.reduce((n, d) => n * d, 1);

export function packedStrides(sizes: readonly number[]): number[] {
  const strides = Array.from<number>({ length: sizes.length });
  let stride = 1;
  for (let i = sizes.length - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= sizes[i]!;
  }
  return strides;
}

/** DMLCalcBufferTensorSize: from the first element to the last one, in whole units of 4 bytes. */
export function tensorBytes(bits: number, sizes: readonly number[], strides: readonly number[] | null): number {
  const elements = strides === null ? elementsOf(sizes) : 1 + sizes.reduce((n, d, i) => n + (d - 1) * strides[i]!, 0);
  return roundUp4(Math.ceil((elements * bits) / 8));
}

export function tensor(type: DataType, sizes: readonly number[], strides: readonly number[] | null = null): TensorDescription {
  return { dataType: type.id, sizes, strides, sizeInBytes: tensorBytes(type.bits, sizes, strides) };
}

export const withStrides = (t: TensorDescription, strides: readonly number[] | null): TensorDescription =>
  tensor(typeOf(t.dataType)!, t.sizes, strides);

/** Calls f with the offset (in elements) of each element, in row-major order. */
export function eachOffset(t: TensorDescription, f: (offset: number, index: number) => void): void {
  const strides = t.strides ?? packedStrides(t.sizes);
  const rank = t.sizes.length;
  const count = elementsOf(t.sizes);
  const at = new Array<number>(rank).fill(0);
  let offset = 0;
  for (let i = 0; i < count; i++) {
    f(offset, i);
    for (let d = rank - 1; d >= 0; d--) {
      offset += strides[d]!;
      if (++at[d]! < t.sizes[d]!) break;
      offset -= strides[d]! * t.sizes[d]!;
      at[d] = 0;
    }
  }
}

/** Strides in the given order of axes (innermost last), with gaps of `gap` elements after each axis. */
function strided(sizes: readonly number[], order: readonly number[], gap: number): number[] {
  const strides = new Array<number>(sizes.length).fill(0);
  let stride = 1;
  for (const axis of order.toReversed()) {
    strides[axis] = stride;
    stride = stride * sizes[axis]! + gap;
  }
  return strides;
}

const axesOf = (sizes: readonly number[]): number[] => sizes.map((_, i) => i);

export type Layout = "packed" | "padded" | "transposed" | "broadcast";

/** The same tensor in another layout. broadcast: the first axis of several elements shows one of them. */
export function layOut(t: TensorDescription, layout: Layout): TensorDescription {
  const { sizes } = t;
  switch (layout) {
    case "packed":
      return t;
    case "padded":
      return withStrides(t, strided(sizes, axesOf(sizes), 3));
    case "transposed":
      return withStrides(t, strided(sizes, axesOf(sizes).toReversed(), 0));
    case "broadcast": {
      const strides = packedStrides(sizes);
      const axis = sizes.findIndex((d) => d > 1);
      if (axis >= 0) strides[axis] = 0;
      return withStrides(t, strides);
    }
  }
  return layout satisfies never;
}
