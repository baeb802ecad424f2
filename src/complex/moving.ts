/**
 * Methods of complex tensors that move elements (reshape, transpose, slice, …): each calls the method of the tensor of pairs, with axes counted for
 * complex elements. The result is a view if the real method's result is one.
 */
import type { ComplexTensor } from "../core/complex-tensor.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { inferShape, normalizeAxis, sizeOf, type Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** The pairs' method that does it, and its arguments. */
export type Moving = (z: ComplexTensor, args: readonly unknown[]) => readonly [name: string, args: readonly unknown[]];
type Axes = number | readonly number[];

function axisOf(operation: string, z: ComplexTensor, axis: unknown): number {
  if (z.rank === 0) throw new ShapeError(operation, "x", "of at least one axis", z.describe());
  return normalizeAxis(operation, axis as number, z.rank);
}
/** Lengths as a list or as separate arguments. */
const lengths = (args: readonly unknown[]): Shape => (Array.isArray(args[0]) ? args[0] : args) as Shape;
const axesOf = (operation: string, z: ComplexTensor, axes: Axes, argument = "axis"): number[] =>
  [axes].flat().map((a) => normalizeAxis(operation, a as number, z.rank, argument));

/** The same shape of pairs. */
const shaped =
  (name: "reshape" | "view"): Moving =>
  (z, args) => [name, [[...inferShape(name, lengths(args), z.size), 2]]];
/** The first argument is an axis, the default is that of the method; the others are not. */
const along =
  (name: string, otherwise: number | null): Moving =>
  (z, [axis = otherwise, ...rest]) => [name, [axisOf(name, z, axis), ...rest]];

/** Where flattening begins and ends, by its names of now and before. */
type FlattenOptions = { readonly [K in "startDim" | "start" | "endDim" | "end"]?: number };

type Moved =
  | "reshape"
  | "view"
  | "flatten"
  | "unflatten"
  | "permute"
  | "transpose"
  | "t"
  | "movedim"
  | "expand"
  | "broadcastTo"
  | "squeeze"
  | "unsqueeze"
  | "slice"
  | "narrow"
  | "select"
  | "diagonal"
  | "flip"
  | "index"
  | "at"
  | "indexSelect"
  | "contiguous"
  | "clone"
  | "detach";
type Parted = "unbind" | "split" | "chunk";

/** Their types as methods of a complex tensor: the arguments are those of real tensors. */
export type MovingMethods = { [K in Moved]: (...args: Parameters<Tensor[K]>) => ComplexTensor } & {
  [K in Parted]: (...args: Parameters<Tensor[K]>) => ComplexTensor[];
};

/** One tensor of one. */
export const moving: { readonly [K in Moved]: Moving } = {
  reshape: shaped("reshape"),
  view: shaped("view"),
  flatten: (z, [start, end]) => {
    const settings: FlattenOptions =
      typeof start === "number" ? { startDim: start, endDim: end as number } : ((start ?? {}) as FlattenOptions);
    const a = normalizeAxis("flatten", settings.startDim ?? settings.start ?? 0, z.rank, "startDim");
    const b = normalizeAxis("flatten", settings.endDim ?? settings.end ?? -1, z.rank, "endDim");
    if (a > b) throw new ValueError("flatten", "startDim", `at most endDim (${b})`, a);
    if (a === b && z.rank > 0) return ["flatten", [a, b]];
    return ["reshape", [[...z.shape.slice(0, a), sizeOf(z.shape.slice(a, b + 1)), ...z.shape.slice(b + 1), 2]]];
  },
  unflatten: (z, [axis, sizes]) => ["unflatten", [axisOf("unflatten", z, axis), sizes]],
  permute: (z, args) => {
    const list = axesOf("permute", z, lengths(args), "axes");
    if (list.length !== z.rank) throw new ValueError("permute", "axes", `each of the ${z.rank} axes once`, list);
    return ["permute", [...list, z.rank]];
  },
  transpose: (z, [a, b]) => [
    "transpose",
    [...axesOf("transpose", z, a as number, "axis0"), ...axesOf("transpose", z, b as number, "axis1")],
  ],
  t: (z) => {
    if (z.rank > 2) throw new ShapeError("t", "x", "of at most two axes", z.describe(), "Use transpose() or permute().");
    return z.rank < 2 ? ["permute", [...z.pairs.shape.keys()]] : ["transpose", [0, 1]];
  },
  movedim: (z, [from, to]) => ["movedim", [axesOf("movedim", z, from as Axes, "from"), axesOf("movedim", z, to as Axes, "to")]],
  expand: (_, args) => ["expand", [...lengths(args), 2]],
  broadcastTo: (_, [shape]) => ["broadcastTo", [[...(shape as Shape), 2]]],
  squeeze: (z, [axis]) => ["squeeze", [axis === undefined ? [...z.shape.keys()] : axesOf("squeeze", z, axis as Axes)]],
  unsqueeze: (z, [axis]) => ["unsqueeze", [normalizeAxis("unsqueeze", axis as number, z.rank + 1)]],
  slice: along("slice", null),
  narrow: along("narrow", null),
  select: along("select", null),
  diagonal: (z, [options = {}]) => {
    const { offset = 0, axis0, axis1, dim1, dim2 } = options as NonNullable<Parameters<Tensor["diagonal"]>[0]>;
    const [a, b] = [axisOf("diagonal", z, axis0 ?? dim1 ?? 0), axisOf("diagonal", z, axis1 ?? dim2 ?? 1)];
    return ["diagonal", [{ offset, axis0: a, axis1: b }]];
  },
  flip: (z, [axes]) => ["flip", [axesOf("flip", z, axes as Axes)]],
  index: (_, args) => ["index", args.includes("...") ? [...args, ":"] : args],
  at: (_, args) => ["index", args.includes("...") ? [...args, ":"] : args],
  indexSelect: along("indexSelect", null),
  contiguous: () => ["contiguous", []],
  clone: () => ["clone", []],
  detach: () => ["detach", []],
};

/** Several of one. */
export const parting: { readonly [K in Parted]: Moving } = {
  unbind: along("unbind", 0),
  split: (z, [size, axis = 0]) => ["split", [size, axisOf("split", z, axis)]],
  chunk: (z, [count, axis = 0]) => ["chunk", [count, axisOf("chunk", z, axis)]],
};
