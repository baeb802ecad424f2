/** Statistics, distances and norms. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import type { Entry, Result } from "./entry.ts";

const optional = (c: Call, name: string): dx.Tensor | null => (c.has(name) ? c.tensor(c.get(name)) : null);
const keep = (c: Call): { keepDims: boolean; dtype?: dx.DType | undefined } => ({ keepDims: c.bool("keepdim"), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
const moments = (c: Call): dx.VarianceOptions => {
  const correction = c.has("correction") ? c.number("correction", 1) : c.get("unbiased") === false ? 0 : 1;
  return { keepDims: c.bool("keepdim"), correction };
};

/** A matrix norm: ord and two axes. */
function matrixNorm(c: Call, order: unknown, axes: unknown): Result {
  return dx.matrixNorm(c.x, order as "fro", (axes ?? [-2, -1]) as [number, number], keep(c));
}

export const statistics: Readonly<Record<string, Entry>> = {
  histogram: { run: (c) => {
    const { hist, binEdges } = dx.histogram(c.x, (c.get("bins") ?? 100) as number, { range: c.defined("range"), weight: optional(c, "weight"), density: c.bool("density") });
    return [hist, binEdges];
  } },
  segment_reduce: { run: (c) => dx.segmentReduce(c.x, c.text("reduce", "sum") as "sum", {
    lengths: optional(c, "lengths"), offsets: optional(c, "offsets"), axis: c.number("axis", 0), initial: c.defined("initial"), unsafe: c.bool("unsafe"),
  }) },
  histogramdd: { run: (c) => {
    const bins = c.get("bins") as number | readonly number[] | readonly dx.Tensor[];
    const ranges = c.defined<readonly number[]>("range");
    const { hist, binEdges } = dx.histogramdd(c.x, bins as number[], { range: ranges, weight: optional(c, "weight"), density: c.bool("density") });
    return [hist, binEdges];
  } },
  "nn.functional.cosine_similarity": { run: (c) => dx.cosineSimilarity(c.x, c.tensor(c.get("x2", "input2") ?? c.positional[1]), { axis: c.number("dim", 1), eps: c.number("eps", 1e-8) }) },
  "nn.functional.pdist": { run: (c) => dx.pdist(c.x, c.number("p", 2)) },
  nansum: { run: (c) => dx.nansum(c.x, c.axes(), keep(c)) }, nanmean: { run: (c) => dx.nanmean(c.x, c.axes(), keep(c)) },
  count_nonzero: { run: (c) => dx.countNonzero(c.x, c.axes()) },
  aminmax: { run: (c) => { const r = dx.aminmax(c.x, { axis: c.axes() as number | null, keepDims: c.bool("keepdim") }); return [r.min, r.max]; } },
  var_mean: { run: (c) => { const r = dx.varMean(c.x, c.axes(), moments(c)); return [r.var, r.mean]; } },
  std_mean: { run: (c) => { const r = dx.stdMean(c.x, c.axes(), moments(c)); return [r.std, r.mean]; } },
  cov: { run: (c) => dx.cov(c.x, { correction: c.number("correction", 1), fweights: optional(c, "fweights"), aweights: optional(c, "aweights") }) },
  dist: { run: (c) => dx.dist(c.x, c.tensor(c.get("other")), c.number("p", 2)) },
  cdist: { run: (c) => dx.cdist(c.x, c.tensor(c.get("x2")), { p: c.number("p", 2) }) },
  "nn.functional.pairwise_distance": { run: (c) => dx.pairwiseDistance(c.x, c.tensor(c.get("x2")), { p: c.number("p", 2), eps: c.number("eps", 1e-6), keepDims: c.bool("keepdim") }) },
  "linalg.matrix_norm": { run: (c) => matrixNorm(c, c.get("ord") ?? "fro", c.get("dim")) },
  "linalg.vecdot": { run: (c) => dx.vecdot(c.x, c.tensor(c.positional[1] ?? c.get("y")), c.number("dim", -1)) },
};
