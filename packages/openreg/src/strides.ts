/** Loops over tensors with strides. */
import type { backend } from "dxtensor";

export type Tensor = backend.BackendTensor;

/** Strides of a packed tensor. */
export function packed(sizes: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length).fill(1);
  for (let i = sizes.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * sizes[i + 1]!;
  return strides;
}

/** Called for each row: the offset of its first element in each tensor. */
export type Row = (offsets: readonly number[]) => void;

export interface Rows {
  /** Elements of a row. */
  readonly length: number;
  /** Distance of a row's elements in each tensor. */
  readonly steps: readonly number[];
  readonly visit: (row: Row) => void;
}

/** The rows of several tensors of one shape, as long as their strides allow. */
export function rows(sizes: readonly number[], strides: readonly (readonly number[])[]): Rows {
  const axes: { size: number; steps: number[] }[] = [];
  sizes.forEach((size, i) => {
    if (size === 1) return;
    const steps = strides.map((s) => s[i]!);
    const outer = axes.at(-1);
    if (outer !== undefined && outer.steps.every((s, k) => s === steps[k]! * size))
      axes[axes.length - 1] = { size: outer.size * size, steps };
    else axes.push({ size, steps });
  });
  const inner = axes.pop() ?? { size: 1, steps: strides.map(() => 1) };
  return {
    length: inner.size,
    steps: inner.steps,
    visit(row) {
      const at = axes.map(() => 0);
      const offsets = strides.map(() => 0);
      for (;;) {
        row(offsets);
        let axis = axes.length - 1;
        for (; axis >= 0; axis--) {
          const { size, steps } = axes[axis]!;
          at[axis]!++;
          for (let k = 0; k < offsets.length; k++) offsets[k]! += steps[k]!;
          if (at[axis]! < size) break;
          for (let k = 0; k < offsets.length; k++) offsets[k]! -= steps[k]! * size;
          at[axis] = 0;
        }
        if (axis < 0) return;
      }
    },
  };
}
