/** Views, stacks and splits by other names, windows, diagonals, differences and slopes. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { op, type Entry, type Table } from "./entry.ts";

/** Indices as a tensor are read: here the caller says toArraySync(). */
const sections = (c: Call): number | readonly number[] => { const v = sectionsOf(c); return v instanceof dx.Tensor ? c.recorded(v) : v; };
const sectionsOf = (c: Call): number | readonly number[] | dx.Tensor => (c.get("indices", "sections", "indices_or_sections", "split_size_or_sections") ?? c.positional[1]) as number | dx.Tensor;
const variadic = (f: (...tensors: dx.Tensor[]) => dx.Tensor | dx.Tensor[]): Entry => op((c) => f(...c.several()));
const meshgrid = op((c) => dx.meshgrid(c.several(), { indexing: c.text("indexing", "ij") as "ij" }));
/** Every operand, as for atleast: one gives one, several give several. */
const each = (f: (x: dx.Tensor) => dx.Tensor): Entry => op((c) => (c.positional.length === 1 && !Array.isArray(c.positional[0]) ? f(c.x) : c.several().map(f)));
const from = (c: Call): { offset: number; axis0: number; axis1: number } => ({ offset: c.number("offset", 0), axis0: c.number("dim1", 0), axis1: c.number("dim2", 1) });
const trapezoid = op((c) => {
  const x = c.get("x");
  const y = c.tensor(c.positional[0]);
  return dx.trapezoid(y, { x: x instanceof dx.Tensor && x !== y ? x : c.positional[1] instanceof dx.Tensor ? c.positional[1] : null, dx: c.number("dx", 1), axis: c.number("dim", -1) });
});
const spacing = (c: Call): number | readonly (number | dx.Tensor)[] | undefined => {
  const value = c.get("spacing") as number | readonly (number | dx.Tensor)[] | undefined | null;
  if (value === undefined || value === null) return undefined;
  if (value instanceof dx.Tensor) return [value];
  return value;
};
const offset = (c: Call): number | undefined => c.defined<number>("storage_offset");

export const shapes: Table = {
  H: op((c) => {
    if (c.x.rank !== 0 && c.x.rank !== 2) throw new dx.ShapeError("H", "x", "a matrix", c.x.describe());
    return dx.t(c.x);
  }),
  mH: op((c) => dx.mT(c.x)),
  atleast_1d: each(dx.atleast1d), atleast_2d: each(dx.atleast2d), atleast_3d: each(dx.atleast3d),
  block_diag: variadic(dx.blockDiag), broadcast_tensors: variadic(dx.broadcastTensors), cartesian_prod: variadic(dx.cartesianProd),
  combinations: op((c) => dx.combinations(c.x, c.number("r", 2), { withReplacement: c.bool("with_replacement") })), meshgrid,
  tensor_split: op((c) => dx.tensorSplit(c.x, sections(c), c.number("dim", 0))),
  rot90: op((c) => dx.rot90(c.x, c.number("k", 1), c.has("dims") ? c.list("dims") : [0, 1])),
  as_strided: { packed: true, run: (c) => dx.asStrided(c.x, c.positional[1] as number[], c.positional[2] as number[], offset(c)) },
  as_strided_scatter: { packed: true, run: (c) => dx.asStridedScatter(c.x, c.tensor(c.positional[1]), c.list("size"), c.list("stride"), offset(c)) },
  slice_scatter: op((c) => dx.sliceScatter(c.x, c.named("src"), c.number("dim", 0), c.number("start", 0), c.number("end", Number.MAX_SAFE_INTEGER), c.number("step", 1))),
  select_scatter: op((c) => dx.selectScatter(c.x, c.named("src"), c.number("dim", 0), c.number("index", 0))),
  diagonal_scatter: op((c) => dx.diagonalScatter(c.x, c.named("src"), from(c))),
  sum_to_size: op((c) => dx.sumToSize(c.x, (Array.isArray(c.positional[1]) ? c.positional[1] : c.positional.slice(1)) as number[])),
  diag: op((c) => dx.diag(c.x, c.number("diagonal", 0))), diagflat: op((c) => dx.diagflat(c.x, c.number("offset", 0))),
  diag_embed: op((c) => dx.diagEmbed(c.x, { offset: c.number("offset", 0), axis0: c.number("dim1", -2), axis1: c.number("dim2", -1) })),
  trapezoid, trapz: trapezoid,
  cumulative_trapezoid: op((c) => dx.cumulativeTrapezoid(c.x, { x: c.optional("x"), dx: c.number("dx", 1), axis: c.number("dim", -1) })),
  gradient: op((c) => dx.gradient(c.x, { spacing: spacing(c), axis: c.axes("dim"), edgeOrder: c.number("edge_order", 1) as 1 })),
  vander: op((c) => dx.vander(c.x, { n: c.defined("N", "n"), increasing: c.bool("increasing") })), "linalg.vander": op((c) => dx.vander(c.x, { n: c.defined("N"), increasing: true })),
};
