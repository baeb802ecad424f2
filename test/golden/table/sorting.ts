/** Order: sorting, the k-th element, quantiles, running extremes, search and counting. */
import * as dx from "../../../src/index.ts";
import { counting, type Table } from "./entry.ts";
import type { Call } from "../call.ts";

const both = ({ values, indices }: dx.Extremes): dx.Tensor[] => [values, indices];
const keep = (c: Call): { keepDims: boolean } => ({ keepDims: c.bool("keepdim") });
const dim = (c: Call): number => c.number("dim", -1);
const medianOf = (c: Call, f: typeof dx.median): dx.Tensor | dx.Tensor[] => (c.has("dim") ? both(f(c.x, dim(c), keep(c))) : f(c.x));

export const sorting: Table = {
  sort: counting((c) => both(dx.sort(c.x, dim(c), { descending: c.bool("descending") }))),
  argsort: counting((c) => dx.argsort(c.x, dim(c), { descending: c.bool("descending") })),
  topk: counting((c) => both(dx.topk(c.x, c.number("k", 1), dim(c), { largest: c.get("largest") !== false }))),
  kthvalue: counting((c) => both(dx.kthvalue(c.x, c.number("k", 1), dim(c), keep(c)))),
  median: counting((c) => medianOf(c, dx.median)), nanmedian: counting((c) => medianOf(c, dx.nanmedian)),
  mode: counting((c) => both(dx.mode(c.x, dim(c), keep(c)))),
  cummax: counting((c) => both(dx.cummax(c.x, dim(c)))), cummin: counting((c) => both(dx.cummin(c.x, dim(c)))),
};
