/** Reading and writing by index and by mask. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { indexOf } from "../call.ts";
import { counting, dynamic, method, op, type Entry, type Table } from "./entry.ts";

const dim = (c: Call): number => c.number("dim", 0);

/** A function of x and arguments, and the method with "_" that writes in place. */
const written = (name: string, args: (c: Call) => unknown[]): Entry => ({
  run: (c) => (dx as unknown as Record<string, (...a: unknown[]) => dx.Tensor>)[name]!(c.x, ...args(c)),
  inPlace: `${name}_` in dx.Tensor.prototype ? (c) => method(c, `${name}_`, ...args(c)) : undefined,
});
const source = (c: Call): unknown => c.get("src", "source", "value");
const self = (c: Call): object => ({ includeSelf: c.get("include_self") !== false });

const put = (c: Call): [dx.Index[], dx.Tensor, object] => [indexOf(c.case.args[0]!, ["args", 0], c.tensors), c.named("values"), { accumulate: c.bool("accumulate") }];

const distinct = (c: Call, f: typeof dx.unique): dx.Tensor | dx.Tensor[] => {
  const { values, inverse, counts } = f(c.x, { axis: c.has("dim") ? dim(c) : null });
  const results = [values, ...(c.bool("return_inverse") ? [inverse] : []), ...(c.bool("return_counts") ? [counts] : [])];
  return results.length === 1 ? values : results;
};

export const indexing: Table = {
  unique: dynamic((c) => distinct(c, dx.unique)), unique_consecutive: dynamic((c) => distinct(c, dx.uniqueConsecutive)),
  nonzero: dynamic((c) => (c.bool("as_tuple") ? dx.unbind(dx.nonzeroSync(dx.atleast1d(c.x)), 1) : dx.nonzeroSync(c.x))), argwhere: dynamic((c) => dx.argwhereSync(c.x)),
  masked_select: { dynamic: true, run: (c) => dx.maskedSelectSync(c.x, c.named("mask")) },
  masked_scatter: written("maskedScatter", (c) => [c.named("mask"), c.named("source")]),
  take: op((c) => dx.take(c.x, c.named("index"))),
  index_put: { dynamic: true, run: (c) => dx.indexPut(c.x, ...put(c)), inPlace: (c) => method(c, "indexPut_", ...put(c)) },
  searchsorted: counting((c) => {
    const side = c.text("side", "left");
    if (side !== "left" && side !== "right") throw new dx.ValueError("searchsorted", "side", "left or right", side);
    return dx.searchsorted(c.tensor(c.positional[0]), c.positional[1] as dx.Tensor, { right: c.bool("right") || side === "right", sorter: c.optional("sorter") });
  }),
  bucketize: counting((c) => dx.bucketize(c.x, c.named("boundaries"), { right: c.bool("right") })),
  histc: op((c) => dx.histc(c.x, { bins: c.number("bins", 100), min: c.number("min", 0), max: c.number("max", 0) })),
  bincount: dynamic((c) => dx.bincount(c.x, { weights: (c.get("weights") ?? c.positional[1] ?? null) as dx.Tensor | null, minLength: c.number("minlength", 0) })),
  scatter: written("scatter", (c) => [dim(c), c.named("index"), source(c), c.has("reduce") ? { reduce: c.text("reduce", "add") } : {}]),
  scatter_add: written("scatterAdd", (c) => [dim(c), c.named("index"), c.named("src")]),
  scatter_reduce: written("scatterReduce", (c) => [dim(c), c.named("index"), c.named("src"), c.text("reduce", "sum"), self(c)]),
  index_add: written("indexAdd", (c) => [dim(c), c.named("index"), c.named("source"), { alpha: c.number("alpha", 1) }]),
  index_copy: written("indexCopy", (c) => [dim(c), c.named("index"), c.named("source")]),
  index_fill: written("indexFill", (c) => [dim(c), c.named("index"), source(c)]),
  index_reduce: written("indexReduce", (c) => [dim(c), c.named("index"), c.named("source"), c.text("reduce", "prod"), self(c)]),
};
