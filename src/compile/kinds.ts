/** Compares the kinds of arguments of a function's calls: finds how they differ, and the option that avoids so many recordings. */
import type { Tensor } from "../core/tensor.ts";

type Seen = readonly Pick<Tensor, "shape" | "dtype" | "strides">[];

const show = (shape: readonly number[]): string => `[${shape.join(", ")}]`;

/** Kinds of arguments of one function that are kept. */
export const KINDS = 64;

export class Kinds {
  #last: Seen | null = null;
  /** Axes whose length differed, by the index of the argument; -1: the tensor is nested in an argument. */
  readonly #axes = new Map<number, Set<number>>();
  #count = 0;

  /** Notes a new kind; tells in what it differs from the one before. */
  add(tensors: readonly Tensor[], args: readonly unknown[]): string {
    const before = this.#last;
    this.#last = tensors.map(({ shape, dtype, strides }) => ({ shape, dtype, strides }));
    this.#count = args.length;
    const kind = "arguments of a new kind";
    if (before === null || before.length !== tensors.length) return kind;
    const differing: string[] = [];
    tensors.forEach((t, i) => {
      const b = before[i]!;
      const index = args.indexOf(t);
      const name = index < 0 ? "a tensor" : `argument ${index}`;
      if (t.dtype !== b.dtype) differing.push(`${name} is ${t.dtype} instead of ${b.dtype}`);
      else if (t.rank !== b.shape.length) differing.push(`${name} has the shape ${show(t.shape)} instead of ${show(b.shape)}`);
      else if (t.shape.some((d, k) => d !== b.shape[k])) {
        differing.push(`${name} has the shape ${show(t.shape)} instead of ${show(b.shape)}`);
        for (const [k, d] of t.shape.entries())
          if (d !== b.shape[k]) this.#axes.set(index, (this.#axes.get(index) ?? new Set<number>()).add(k));
      } else if (t.strides.some((s, k) => s !== b.strides[k])) differing.push(`${name} has other strides`);
    });
    return differing.length === 0 ? kind : `${kind}: ${differing.slice(0, 2).join(", ")}`;
  }

  /** What helps against many recordings. */
  get remedy(): string {
    if (this.#axes.size === 0) return "pass what changes as an argument, or as a number, and keep shapes few";
    const sorted = (axes: Iterable<number>): string => show([...axes].sort((a, b) => a - b));
    const all = sorted(new Set([...this.#axes.values()].flatMap((s) => [...s])));
    const each = Array.from({ length: this.#count }, (_, i) => (this.#axes.has(i) ? sorted(this.#axes.get(i)!) : "null"));
    const dynamic = this.#axes.has(-1) ? all : `[${each.join(", ")}]`;
    return `compile(fn, { dynamic: ${dynamic} }) serves all sizes of these axes with a few recordings`;
  }
}
