/** TensorFlow's operators that move elements: shapes, slices, gathers. */
import { elementTypeOf } from "../../onnx/format/value.ts";
import type { Value } from "./graph-builder.ts";
import { concatenated } from "./layer-nodes.ts";
import type { NodeCall } from "./graph-node.ts";
import type { Operator } from "./tensorflow-operators.ts";

const FAR = 2 ** 31 - 1;

function squeezed(n: NodeCall): Value {
  const dims = n.ints("squeeze_dims").length > 0 ? n.ints("squeeze_dims") : n.ints("axis");
  const { rank } = n.x;
  if (rank === null || dims.length === 0) return n.node("Squeeze", dims.length === 0 ? [n.last(0)] : [n.last(0), n.b.ints(dims)]);
  const axes = dims.map((axis) => (axis < 0 ? axis + rank : axis));
  // A picture of one element: what is left are its channels.
  if (n.x.first !== null && n.x.last === null && axes.length === rank - 2 && axes.every((axis) => axis > 0 && axis < rank - 1))
    return n.node("Squeeze", [n.x.first, n.b.ints(axes.map((axis) => axis + 1))], 2);
  return n.node("Squeeze", [n.last(0), n.b.ints(axes)], rank - axes.length);
}

function joined(n: NodeCall): Value {
  const isFirst = n.operator === "Concat";
  const axis = n.numbers(isFirst ? 0 : n.inputs.length - 1)[0]!;
  return concatenated(n.b, isFirst ? n.inputs.slice(1) : n.inputs.slice(0, -1), axis, n.label);
}

function packed(n: NodeCall): Value {
  const axis = n.int("axis", 0);
  const rank = n.inputs.find((v) => v.rank !== null)?.rank ?? null;
  const parts = n.inputs.map((_, i) => n.b.node("Unsqueeze", [n.last(i), n.b.ints([axis])], `${n.label}/part`));
  return n.node("Concat", parts, rank === null ? null : rank + 1, { axis });
}

function unpacked(n: NodeCall): readonly Value[] {
  const [axis, count] = [n.int("axis", 0), n.int("num", 1)];
  return split(
    n,
    axis,
    Array.from({ length: count }, () => 1),
  ).map((part, i) => n.b.plain(n.b.node("Squeeze", [part, n.b.ints([axis])], `${n.label}/${i}`), n.x.rank === null ? null : n.x.rank - 1));
}

/** Parts along an axis, by their lengths. */
function split(n: NodeCall, axis: number, lengths: readonly number[], x = 0): string[] {
  const outputs = lengths.map((_, i) => n.b.unique(`${n.label}/part${i}`));
  n.b.nodeOf("Split", [n.last(x), n.b.ints(lengths)], outputs, n.label, { axis });
  return outputs;
}

function evenly(n: NodeCall): readonly Value[] {
  const [axis] = n.numbers(0);
  const count = n.int("num_split", 1);
  const outputs = Array.from({ length: count }, (_, i) => n.b.unique(`${n.label}/part${i}`));
  n.b.nodeOf("Split", [n.last(1)], outputs, n.label, { axis: axis!, num_outputs: count });
  return outputs.map((name) => n.b.plain(name, n.input(1).rank));
}

const byLengths: Operator = (n) => split(n, n.numbers(2)[0]!, n.numbers(1)).map((name) => n.b.plain(name, n.x.rank));

/** From begin on, of a size; -1 is the rest. */
function sliced(n: NodeCall): Value {
  if (n.constant(1) === null || n.constant(2) === null) {
    const starts = n.longs(1);
    const size = n.longs(2);
    return n.node("Slice", [n.last(0), starts, n.b.node("Add", [starts, size], `${n.label}/ends`)], n.x.rank);
  }
  const [begin, size] = [n.numbers(1), n.numbers(2)];
  const ends = begin.map((at, i) => (size[i] === -1 ? FAR : at + size[i]!));
  return n.node("Slice", [n.last(0), n.b.ints(begin), n.b.ints(ends)], begin.length);
}

/** x[begin:end:stride, …] with new axes, axes that vanish, and an ellipsis. */
function strided(n: NodeCall): Value {
  const masks = ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"].map((name) => n.int(name, 0));
  const has = (mask: number, i: number): boolean => (masks[mask]! & (1 << i)) !== 0;
  const [begin, end, strides] = [n.numbers(1), n.numbers(2), n.numbers(3)];
  // Behind an ellipsis axes are counted from the end.
  const ellipsis = begin.findIndex((_, i) => has(2, i));
  const behind = ellipsis < 0 ? 0 : begin.filter((_, i) => i > ellipsis && !has(3, i)).length;
  const [starts, ends, axes, steps, shrunk]: [number[], number[], number[], number[], number[]] = [[], [], [], [], []];
  const added: number[] = [];
  let axis = 0;
  begin.forEach((from, i) => {
    if (i === ellipsis) axis = -behind;
    else if (has(3, i)) added.push(i);
    else {
      const step = has(4, i) ? 1 : strides[i]!;
      const far = step > 0 ? FAR : -FAR;
      starts.push(has(0, i) && !has(4, i) ? (step > 0 ? 0 : FAR) : from);
      ends.push(has(4, i) ? (from === -1 ? FAR : from + 1) : has(1, i) ? far : end[i]!);
      axes.push(axis);
      steps.push(step);
      if (has(4, i)) shrunk.push(axis);
      axis++;
    }
  });
  if (added.length > 0 && (ellipsis >= 0 || shrunk.length > 0))
    throw n.unsupported("a new axis next to an ellipsis or an axis that vanishes");
  let name = n.last(0);
  if (axes.length > 0)
    name = n.b.node("Slice", [name, n.b.ints(starts), n.b.ints(ends), n.b.ints(axes), n.b.ints(steps)], `${n.label}/slice`);
  if (shrunk.length > 0) name = n.b.node("Squeeze", [name, n.b.ints(shrunk)], `${n.label}/squeezed`);
  if (added.length > 0) name = n.b.node("Unsqueeze", [name, n.b.ints(added)], `${n.label}/added`);
  return n.b.plain(name, n.x.rank === null ? null : n.x.rank - shrunk.length + added.length, n.label);
}

function gathered(n: NodeCall): Value {
  if (n.int("batch_dims", 0) !== 0) throw n.unsupported("batch_dims");
  const axis = n.operator === "GatherV2" ? n.numbers(2)[0]! : 0;
  const [x, indices] = [n.input(0).rank, n.input(1).rank];
  return n.node("Gather", [n.last(0), n.last(1)], x === null || indices === null ? null : x + indices - 1, { axis });
}

function expanded(n: NodeCall): Value {
  return n.node("Unsqueeze", [n.last(0), n.b.ints([n.numbers(1)[0]!])], n.x.rank === null ? null : n.x.rank + 1);
}

/** Axes in another order; what only brings channels first is a form that may be there already. */
function transposed(n: NodeCall): Value {
  const perm = n.numbers(1);
  return n.node("Transpose", [n.last(0)], perm.length, { perm });
}

const depthToSpace: Operator = (n) => {
  n.requireLast();
  const name = n.b.node("DepthToSpace", [n.b.first(n.x, 4)], `${n.label}/blocks`, { blocksize: n.int("block_size", 2), mode: "DCR" });
  return n.b.channels(name, 4, n.label);
};

const spaceToDepth: Operator = (n) => {
  n.requireLast();
  const name = n.b.node("SpaceToDepth", [n.b.first(n.x, 4)], `${n.label}/blocks`, { blocksize: n.int("block_size", 2) });
  return n.b.channels(name, 4, n.label);
};

const asInts = { to: elementTypeOf("int32") };

export const moved: Readonly<Record<string, Operator>> = {
  BroadcastTo: (n) => n.node("Expand", [n.last(0), n.longs(1)], n.constant(1)?.shape[0] ?? null),
  Concat: joined,
  ConcatV2: joined,
  DepthToSpace: depthToSpace,
  ExpandDims: expanded,
  Fill: (n) => n.node("Expand", [n.last(1), n.longs(0)], n.constant(0)?.shape[0] ?? null),
  Gather: gathered,
  GatherNd: (n) => n.node("GatherND", [n.last(0), n.longs(1)]),
  GatherV2: gathered,
  Pack: packed,
  Range: (n) => n.node("Range", [n.last(0), n.last(1), n.last(2)], 1),
  Reshape: (n) => n.node("Reshape", [n.last(0), n.longs(1)], n.constant(1)?.shape[0] ?? null, { allowzero: 1 }),
  ReverseV2: (n) => {
    const axes = n.numbers(1);
    const fill = (value: number): string => n.b.ints(axes.map(() => value));
    return n.node("Slice", [n.last(0), fill(-1), fill(-FAR), n.b.ints(axes), fill(-1)], n.x.rank);
  },
  Shape: (n) => n.node("Cast", [n.b.node("Shape", [n.last(0)], `${n.label}/long`)], 1, asInts),
  Size: (n) => n.node("Cast", [n.b.node("Size", [n.last(0)], `${n.label}/long`)], 0, asInts),
  Slice: sliced,
  SpaceToDepth: spaceToDepth,
  Split: evenly,
  SplitV: byLengths,
  Squeeze: squeezed,
  StridedSlice: strided,
  Tile: (n) => n.node("Tile", [n.last(0), n.longs(1)], n.x.rank),
  Transpose: transposed,
  Unpack: unpacked,
  ZerosLike: (n) => n.node("Sub", [n.last(0), n.last(0)], n.x.rank),
};
