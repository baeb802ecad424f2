/** Reductions and normalisations of masked elements. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import type { Table } from "./entry.ts";

const { masked } = dx;
const mask = (c: Call): dx.Tensor | null => c.optional("mask");
const reduce = (c: Call): { mask: dx.Tensor | null; keepDims: boolean; dtype?: dx.DType | undefined } => ({ mask: mask(c), keepDims: c.bool("keepdim"), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
const along = (c: Call): { mask: dx.Tensor | null; dtype?: dx.DType | undefined } => ({ mask: mask(c), ...(c.dtype() === undefined ? {} : { dtype: c.dtype() }) });
const moments = (c: Call): { mask: dx.Tensor | null; keepDims: boolean; correction: number } => ({ mask: mask(c), keepDims: c.bool("keepdim"), correction: c.number("correction", c.get("unbiased") === false ? 0 : 1) });
const axis = (c: Call): number => c.axes() as number;
const indexOptions = { dtype: "int64" } as const;
/** PyTorch casts these indices to the dtype of the tensor that they index. */
const recast = (c: Call, t: dx.Tensor): dx.Tensor => t.to(c.dtype() ?? c.x.dtype);

export const maskedTable: Table = {
  "masked.sum": { run: (c) => masked.sum(c.x, c.axes(), reduce(c)) }, "masked.prod": { run: (c) => masked.prod(c.x, c.axes(), reduce(c)) }, "masked.mean": { run: (c) => masked.mean(c.x, c.axes(), reduce(c)) },
  "masked.amax": { run: (c) => masked.amax(c.x, c.axes(), reduce(c)) }, "masked.amin": { run: (c) => masked.amin(c.x, c.axes(), reduce(c)) },
  "masked.argmax": { run: (c) => recast(c, masked.argmax(c.x, c.axes() as number | null, { ...indexOptions, mask: mask(c), keepDims: c.bool("keepdim") })) },
  "masked.argmin": { run: (c) => recast(c, masked.argmin(c.x, c.axes() as number | null, { ...indexOptions, mask: mask(c), keepDims: c.bool("keepdim") })) },
  "masked.var": { run: (c) => masked.variance(c.x, c.axes(), moments(c)) }, "masked.std": { run: (c) => masked.std(c.x, c.axes(), moments(c)) },
  "masked.norm": { run: (c) => masked.norm(c.x, c.number("ord", 2), c.axes(), reduce(c)) },
  "masked.logsumexp": { run: (c) => masked.logsumexp(c.x, c.axes(), reduce(c)) },
  "masked.logaddexp": { run: (c) => masked.logaddexp(c.x, c.named("other"), { mask: c.optional("input_mask"), otherMask: c.optional("other_mask") }) },
  "masked.softmax": { run: (c) => masked.softmax(c.x, axis(c), along(c)) },
};
