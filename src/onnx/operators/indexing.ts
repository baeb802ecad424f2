/** Elements by their indices, and indices by their elements. */
import * as ops from "../../ops/index.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** Indices below zero count from the end. */
const fromFront = (index: Tensor, length: number): Tensor => {
  const whole = ops.to(index, "int32");
  return ops.where(ops.lt(whole, 0), ops.add(whole, length), whole);
};

function gather(c: Call): Tensor {
  const [x, index] = [c.tensor(0), c.tensor(1)];
  const axis = c.axis(c.int("axis", 0), x.rank);
  const indices = fromFront(index, x.shape[axis]!);
  const found = ops.indexSelect(x, axis, ops.reshape(indices, [-1]));
  return ops.reshape(found, [...x.shape.slice(0, axis), ...index.shape, ...x.shape.slice(axis + 1)]);
}

function gatherElements(c: Call): Tensor {
  const [x, index] = [c.tensor(0), c.tensor(1)];
  const axis = c.axis(c.int("axis", 0), x.rank);
  return ops.gather(x, axis, fromFront(index, x.shape[axis]!));
}

/** Coordinates [..., k] of x's axes as indices in x with those axes flattened. */
function flatIndices(index: Tensor, lengths: readonly number[]): Tensor {
  // Without coordinates there is one index.
  if (lengths.length === 0) return ops.zeros(index.shape.slice(0, -1), { dtype: "int32", device: index.device });
  const parts = lengths.map((d, i) => fromFront(ops.select(index, -1, i), d));
  return parts.reduce((flat, part, i) => ops.add(ops.mul(flat, lengths[i]!), part));
}

function gatherNd(c: Call): Tensor {
  const [x, index] = [c.tensor(0), c.tensor(1)];
  const b = c.int("batch_dims", 0);
  const k = index.shape.at(-1) ?? -1;
  if (!(b >= 0 && b < index.rank && b + k <= x.rank && k >= 0))
    throw c.invalid("indices", `with a last axis of at most ${x.rank - b} and more than ${b} axes`, index.describe());
  const [batch, named, rest] = [x.shape.slice(0, b), x.shape.slice(b, b + k), x.shape.slice(b + k)];
  let indices = flatIndices(index, named);
  const [count, stride] = [sizeOf(batch), sizeOf(named)];
  if (b > 0) {
    const starts = ops.arange(count * stride, { step: stride, dtype: "int32", device: x.device });
    indices = ops.add(ops.reshape(indices, [count, -1]), ops.reshape(starts, [count, 1]));
  }
  const slices = ops.reshape(x, [count * stride, ...rest]);
  return ops.reshape(ops.indexSelect(slices, 0, ops.reshape(indices, [-1])), [...batch, ...index.shape.slice(b, -1), ...rest]);
}

const REDUCTIONS = { add: "sum", mul: "prod", max: "amax", min: "amin" } as const;
const KINDS = ["none", "add", "mul", "max", "min"] as const;

function scatterElements(c: Call): Tensor {
  const [x, index, updates] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  const axis = c.axis(c.int("axis", 0), x.rank);
  const indices = fromFront(index, x.shape[axis]!);
  const reduction = c.oneOf("reduction", "none", KINDS);
  return reduction === "none"
    ? ops.scatter(x, axis, indices, updates)
    : ops.scatterReduce(x, axis, indices, updates, REDUCTIONS[reduction]);
}

function scatterNd(c: Call): Tensor {
  const [x, index, updates] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  const k = index.shape.at(-1) ?? -1;
  if (!(k >= 0 && k <= x.rank)) throw c.invalid("indices", `with a last axis of at most ${x.rank}`, index.describe());
  const [named, rest] = [x.shape.slice(0, k), x.shape.slice(k)];
  const width = sizeOf(rest);
  const slices = ops.reshape(x, [sizeOf(named), width]);
  const indices = ops.reshape(flatIndices(index, named), [-1, 1]);
  const rows = ops.reshape(updates, [indices.shape[0]!, width]);
  const index2 = ops.contiguous(ops.expand(indices, [indices.shape[0]!, width]));
  const reduction = c.oneOf("reduction", "none", KINDS);
  const result =
    reduction === "none" ? ops.scatter(slices, 0, index2, rows) : ops.scatterReduce(slices, 0, index2, rows, REDUCTIONS[reduction]);
  return ops.reshape(result, x.shape);
}

/** Parts along an axis where the condition holds; the condition may be shorter than the axis. */
function compress(c: Call): Tensor {
  const x = c.hasAttribute("axis") ? c.x : ops.reshape(c.x, [-1]);
  const axis = c.hasAttribute("axis") ? c.axis(c.int("axis", 0), x.rank) : 0;
  const indices = c.numbers(1).flatMap((v, i) => (v !== 0 && i < x.shape[axis]! ? [i] : []));
  return ops.indexSelect(x, axis, c.make(indices, "int32"));
}

function oneHot(c: Call): Tensor {
  const [index, values] = [c.tensor(0), c.tensor(2)];
  const depth = c.size(Math.trunc(c.number(1)), "depth");
  const attribute = c.int("axis", -1);
  const axis = c.axis(attribute, index.rank + 1);
  const indices = ops.unsqueeze(ops.to(index, "int32"), axis);
  const wrapped = ops.where(ops.lt(indices, 0), ops.add(indices, depth), indices);
  const shape = new Array<number>(index.rank + 1).fill(1);
  shape[axis] = depth;
  const classes = ops.reshape(ops.arange(depth, { dtype: "int32", device: index.device }), shape);
  return ops.where(ops.eq(wrapped, classes), ops.select(values, 0, 1), ops.select(values, 0, 0));
}

function topK(c: Call): Tensor[] {
  const x = c.x;
  const axis = c.axis(c.int("axis", -1), x.rank);
  const k = c.opset < 10 ? c.int("k", 1) : c.number(1);
  const { values, indices } = ops.topk(x, k, axis, { largest: c.flag("largest", true), dtype: "int64" });
  return [values, indices];
}

/** Values, the index of each value's first element, the number of each element's value, and how often each occurs. axis: null for all elements. */
export function uniqueOf(input: Tensor, along: number | null, isSorted: boolean): Tensor[] {
  const x = along === null ? ops.reshape(input, [-1]) : input;
  const axis = along ?? 0;
  const found = ops.unique(x, { axis: along });
  const count = found.values.shape[axis]!;
  const inverse = ops.reshape(found.inverse, [-1]);
  const n = inverse.shape[0]!;
  const numbers = ops.arange(n, { dtype: "int32", device: x.device });
  const first = ops.scatterReduce(ops.full([count], n, { dtype: "int32", device: x.device }), 0, ops.to(inverse, "int32"), numbers, "amin");
  const long = (t: Tensor): Tensor => ops.to(t, "int64");
  if (isSorted) return [found.values, long(first), long(inverse), long(found.counts)];
  const order = ops.argsort(first, 0);
  const rank = ops.argsort(order, 0);
  return [
    ops.indexSelect(found.values, axis, order),
    long(ops.gather(first, 0, order)),
    long(ops.gather(rank, 0, ops.to(inverse, "int32"))),
    long(ops.gather(found.counts, 0, order)),
  ];
}

const unique = (c: Call): Tensor[] =>
  uniqueOf(c.x, c.hasAttribute("axis") ? c.axis(c.int("axis", 0), c.x.rank) : null, c.flag("sorted", true));

/** An update written into a cache at each batch's position; it wraps where asked. */
function tensorScatter(c: Call): Tensor {
  const [cache, update] = [c.tensor(0), c.tensor(1)];
  const axis = c.axis(c.int("axis", -2), cache.rank);
  const [length, steps] = [cache.shape[axis]!, update.shape[axis]!];
  const isCircular = c.oneOf("mode", "linear", ["linear", "circular"]) === "circular";
  const starts = c.has(2) ? ops.to(c.tensor(2), "int32") : ops.zeros([cache.shape[0]!], { dtype: "int32", device: cache.device });
  const indices = ops.add(
    ops.reshape(
      starts,
      cache.shape.map((_, i) => (i === 0 ? cache.shape[0]! : 1)),
    ),
    ops.reshape(
      ops.arange(steps, { dtype: "int32", device: cache.device }),
      cache.shape.map((_, i) => (i === axis ? steps : 1)),
    ),
  );
  const wrapped = isCircular ? ops.remainder(indices, length) : indices;
  return ops.scatter(cache, axis, ops.contiguous(ops.broadcastTo(wrapped, update.shape)), update);
}

export const indexing = family({
  Compress: compress,
  Gather: gather,
  GatherElements: gatherElements,
  GatherND: gatherNd,
  NonZero: (c) => ops.transpose(ops.nonzeroSync(c.x, { dtype: "int64" }), 0, 1),
  OneHot: oneHot,
  Scatter: scatterElements,
  ScatterElements: scatterElements,
  ScatterND: scatterNd,
  TensorScatter: tensorScatter,
  TopK: topK,
  Unique: unique,
});
