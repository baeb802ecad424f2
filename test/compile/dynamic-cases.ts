/** Calls of one axis of any size, for tests of `compile` with `dynamic`: the samples of all families, and what they leave out. */
import * as dx from "../../src/index.ts";
import type { Argument, Sample } from "../../src/sample.ts";
import { isFloat } from "../../src/dtype.ts";

/** A function of tensors whose axes of one length take any size. */
export interface SizedCase {
  readonly name: string;
  readonly run: Sample["run"];
  readonly axes: readonly (readonly number[] | null)[];
  readonly inputs: (size: number, seed: number) => dx.Tensor[];
}

/** Numbers between 0 and 1 that follow from a seed. */
function random(seed: number): () => number {
  let state = (seed + 1) * 2654435761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 3266489917) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

function values({ low, high, dtype, distinct }: Argument, count: number, seed: number): number[] {
  const next = random(seed);
  if (distinct) {
    const order = Array.from({ length: count }, (_, i) => [next(), i] as const).toSorted((a, b) => a[0] - b[0]);
    return order.map(([, i]) => low + ((high - low) * i) / count);
  }
  const steps = isFloat(dtype) ? 8 : 1;
  return Array.from({ length: count }, () => low + Math.floor(next() * ((high - low) * steps + (steps === 1 ? 1 : 0))) / steps);
}

/** The case of a sample in which all axes of one length are of any size. */
export function casesOf(sample: Sample): SizedCase[] {
  const lengths = new Set(sample.inputs.flatMap((a) => [...a.shape]));
  return [...lengths].map((length) => ({
    name: `${sample.name}, ${length} of ${sample.inputs.map((a) => `[${a.shape.join(", ")}]`).join(" ")}`,
    run: sample.run,
    axes: sample.inputs.map((a) => {
      const found = a.shape.flatMap((d, i) => (d === length ? [i] : []));
      return found.length === 0 ? null : found;
    }),
    inputs: (size, seed) =>
      sample.inputs.map((a, i) => {
        const shape = a.shape.map((d) => (d === length ? size : d));
        const list = values(
          a,
          shape.reduce((n, d) => n * d, 1),
          31 * seed + i,
        );
        return dx.tensor(list, { shape, dtype: "float32" }).to(a.dtype);
      }),
  }));
}
