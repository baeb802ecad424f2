/** Reductions and scans. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { Missing } from "../cases.ts";
import type { Entry } from "./entry.ts";

const keep = (c: Call): { keepDims: boolean; dtype?: dx.DType | undefined } => ({ keepDims: c.bool("keepdim"), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
type Reduction = (x: dx.Tensor, axis: never, options: { keepDims: boolean; dtype?: dx.DType | undefined }) => dx.Tensor;
const over = (f: Reduction): Entry => ({ run: (c) => f(c.x, c.axes() as never, keep(c)) });
// PyTorch gives int64 indices; here that is a choice.
const indexOptions = { dtype: "int64" } as const;

const extremes = (name: "max" | "min"): Entry => ({ run: (c) => {
  const second = c.positional[1] ?? c.get("dim", "other");
  if (second === undefined) return name === "max" ? dx.max(c.x) : dx.min(c.x);
  if (second instanceof dx.Tensor) return name === "max" ? dx.maximum(c.x, second) : dx.minimum(c.x, second);
  const options = { keepDims: c.bool("keepdim"), ...indexOptions };
  const { values, indices } = name === "max" ? dx.max(c.x, second as number, options) : dx.min(c.x, second as number, options);
  return [values, indices];
} });

/** correction, or unbiased: 1 or 0. std(x, true) names unbiased by position. */
function variance(c: Call, f: typeof dx.var): dx.Tensor {
  const unbiased = c.get("unbiased");
  const correction = c.has("correction") ? c.number("correction", 1) : unbiased === false ? 0 : 1;
  return f(c.x, c.axes(), { keepDims: c.bool("keepdim"), correction });
}

function vectorNorm(c: Call): dx.Tensor {
  const p = c.get("p", "ord");
  if (c.has("dtype") && c.dtype() === "float64") throw new Missing("float64 does not compute");
  if (p === "nuc") return dx.matrixNorm(c.x, p, (c.axes() ?? [-2, -1]) as [number, number], keep(c));
  return dx.norm(c.x, p === undefined || p === null || p === "fro" ? 2 : (p as number), c.axes(), keep(c));
}

export const reduction: Readonly<Record<string, Entry>> = {
  sum: over(dx.sum), mean: over(dx.mean), prod: over(dx.prod as Reduction), any: over(dx.any), all: over(dx.all), amax: over(dx.amax), amin: over(dx.amin),
  argmax: { run: (c) => dx.argmax(c.x, c.axes() as number | null, { keepDims: c.bool("keepdim"), ...indexOptions }) },
  argmin: { run: (c) => dx.argmin(c.x, c.axes() as number | null, { keepDims: c.bool("keepdim"), ...indexOptions }) },
  max: extremes("max"), min: extremes("min"),
  var: { run: (c) => variance(c, dx.var) }, std: { run: (c) => variance(c, dx.std) },
  norm: { run: vectorNorm }, "linalg.vector_norm": { run: vectorNorm },
};
