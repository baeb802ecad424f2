/** Reading and writing by index and by mask. */
import * as dx from "../../../src/index.ts";
import { type Call, indexOf } from "../call.ts";
import { counting, dynamic, method, type Table } from "./entry.ts";

const dim = (c: Call): number => c.number("dim", 0);

const put = (c: Call): [dx.Index[], dx.Tensor, object] => [indexOf(c.case.args[0]!, ["args", 0], c.tensors), c.named("values"), { accumulate: c.bool("accumulate") }];

const distinct = (c: Call, f: typeof dx.unique): dx.Tensor | dx.Tensor[] => {
  const { values, inverse, counts } = f(c.x, { axis: c.has("dim") ? dim(c) : null });
  const results = [values, ...(c.bool("return_inverse") ? [inverse] : []), ...(c.bool("return_counts") ? [counts] : [])];
  return results.length === 1 ? values : results;
};

export const indexing: Table = {
  unique: dynamic((c) => distinct(c, dx.unique)), unique_consecutive: dynamic((c) => distinct(c, dx.uniqueConsecutive)),
  nonzero: dynamic((c) => (c.bool("as_tuple") ? dx.unbind(dx.nonzeroSync(dx.atleast1d(c.x)), 1) : dx.nonzeroSync(c.x))), argwhere: dynamic((c) => dx.argwhereSync(c.x)),
  nonzero_static: { counts: true, run: (c) => dx.nonzero(c.x, { size: c.number("size", 0), fill: c.number("fill_value", -1) }) },
  masked_select: { dynamic: true, run: (c) => dx.maskedSelectSync(c.x, c.named("mask")) },
  index_put: { dynamic: true, run: (c) => dx.indexPut(c.x, ...put(c)), inPlace: (c) => method(c, "indexPut_", ...put(c)) },
  searchsorted: counting((c) => {
    const side = c.text("side", "left");
    if (side !== "left" && side !== "right") throw new dx.ValueError("searchsorted", "side", "left or right", side);
    return dx.searchsorted(c.tensor(c.positional[0]), c.positional[1] as dx.Tensor, { right: c.bool("right") || side === "right", sorter: c.optional("sorter") });
  }),
  bucketize: counting((c) => dx.bucketize(c.x, c.named("boundaries"), { right: c.bool("right") })),
  bincount: dynamic((c) => dx.bincount(c.x, { weights: (c.get("weights") ?? c.positional[1] ?? null) as dx.Tensor | null, minlength: c.number("minlength", 0) })),
};
