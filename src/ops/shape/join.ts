/** Concatenate, stack, split, chunk, repeat, roll, flip. */
import { int32, joinedAlong, shiftedToFront } from "../../core/padded-axes.ts";
import { tie } from "../../autograd/tie.ts";
import { asResult, call, requireSameDevice, together } from "../../dispatch/dispatch.ts";
import { resultType } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { normalizeAxis, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { toDType } from "../data/conversion.ts";
import { empty } from "../creation/creation.ts";
import { define, type Definition } from "../../core/definition.ts";
import { broadcastTo, expand, flatten, narrow, reshape, sliceView, unsqueeze, wholeSlice } from "./movement.ts";
import { existingAxis } from "../creation/ranges.ts";
import { axesBehindBatch, axisBehindBatch } from "../declare/batched.ts";

const catOp: Definition<{ readonly axis: number }> = define<{ readonly axis: number }>({
  name: "cat",
  batched: axisBehindBatch,
  traits: { carries: true },
  infer: (inputs, { axis }) => {
    const first = inputs[0]!;
    return [{ shape: first.shape.map((d, i) => (i === axis ? inputs.reduce((n, s) => n + s.shape[axis]!, 0) : d)), dtype: first.dtype }];
  },
  lower: (g, inputs, { axis }, [out]) => [
    inputs.length === 1 ? g.elementWiseIdentity(inputs[0]!) : g.join(inputs, { output: { sizes: out!.shape }, axis }),
  ],
  grad: (dy, { specs, needs, attrs: { axis } }) => {
    let start = 0;
    return specs.map((s, i) => {
      const length = s.shape[axis]!;
      const part = needs[i] ? narrow(dy, axis, start, length) : null;
      start += length;
      return part;
    });
  },
  saves: { inputs: [], outputs: false },
  padded: (g, inputs, { axis }, _outputs, p, lower) =>
    inputs.slice(0, -1).some((_, i) => p.isPadded(i, axis)) ? [joinedAlong(g, inputs, axis, p, lower)] : lower(inputs),
});

/**
 * The tensors concatenated along an axis. All other lengths must agree; dtypes promote. Tensors of shape [0] are left
 * out, as in PyTorch. Throws ShapeError when they do not fit. DirectML: JOIN. Reference: torch.cat.
 */
export function cat(tensors: readonly Tensor[], axis = 0): Tensor {
  if (tensors.length === 0) throw new ValueError("cat", "tensors", "at least one tensor", "none");
  requireSameDevice("cat", tensors);
  const dtype = resultType(tensors);
  const shaped = tensors.filter((t) => !(t.rank === 1 && t.shape[0] === 0));
  const first = shaped[0] ?? tensors[0]!;
  if (first.rank === 0) throw new ShapeError("cat", "tensors[0]", "of at least one axis", first.describe());
  const a = normalizeAxis("cat", axis, first.rank);
  shaped.forEach((t, i) => {
    if (t.rank !== first.rank || t.shape.some((d, k) => k !== a && d !== first.shape[k]))
      throw new ShapeError("cat", `tensors[${i}]`, `like ${first.describe()} but for axis ${a}`, t.describe());
  });
  const full = shaped.filter((t) => t.size > 0).map((t) => toDType(t, dtype));
  const shape = first.shape.map((d, i) => (i === a ? shaped.reduce((n, t) => n + t.shape[a]!, 0) : d));
  const joined = full.length === 0 ? empty(shape, { dtype, device: first.device }) : call(catOp, full, { axis: a });
  // Empty ones take no part, but have a gradient.
  return tensors.reduce((result, t) => (t.size === 0 ? tie(result, t, shaped.includes(t) ? "linear" : "zero") : result), joined);
}

/** Tensors of one shape as parts along a new axis. Reference: torch.stack. DirectML: JOIN. */
export function stack(tensors: readonly Tensor[], axis = 0): Tensor {
  if (tensors.length === 0) throw new ValueError("stack", "tensors", "at least one tensor", "none");
  const first = tensors[0]!;
  tensors.forEach((t, i) => {
    if (t.rank !== first.rank || t.shape.some((d, k) => d !== first.shape[k]))
      throw new ShapeError("stack", `tensors[${i}]`, `like ${first.describe()}`, t.describe());
  });
  const a = normalizeAxis("stack", axis, first.rank + 1);
  return cat(
    tensors.map((t) => unsqueeze(t, a)),
    a,
  );
}

/** Views that one call makes at most: each is an object. */
const MAX_PARTS = 2 ** 20;

/** @package */
export function requireParts(operation: string, argument: string, count: number, received: number): void {
  if (count > MAX_PARTS) throw new ValueError(operation, argument, `such that there are at most ${MAX_PARTS} parts`, received);
}

/** Views of x along an axis: parts of `size` elements (the last may be shorter), or of the sizes listed. Reference: torch.split. */
export function split(x: Tensor, size: number | readonly number[], axis = 0): Tensor[] {
  const a = existingAxis("split", x, axis);
  const n = x.shape[a]!;
  let sizes: readonly number[];
  if (typeof size === "number") {
    if (!Number.isInteger(size) || size < 0 || (size === 0 && n > 0))
      throw new ValueError("split", "size", "an integer of at least 1", size);
    requireParts("split", "size", n / size, size);
    sizes = n === 0 ? [0] : Array.from({ length: Math.ceil(n / size) }, (_, i) => Math.min(size, n - i * size));
  } else {
    sizes = size;
    if (sizes.some((s) => !Number.isInteger(s) || s < 0) || sizes.reduce((p, q) => p + q, 0) !== n)
      throw new ValueError("split", "size", `integers whose sum is ${n}`, sizes);
  }
  let start = 0;
  return together(
    sizes.map((length) => {
      const part = narrow(x, a, start, length);
      start += length;
      return part;
    }),
  );
}

/** Views of x along an axis: at most `count` equal parts, the last perhaps shorter. Reference: torch.chunk. */
export function chunk(x: Tensor, count: number, axis = 0): Tensor[] {
  if (!Number.isInteger(count) || count < 1) throw new ValueError("chunk", "count", "an integer of at least 1", count);
  const a = existingAxis("chunk", x, axis);
  const n = x.shape[a]!;
  if (n === 0) requireParts("chunk", "count", count, count);
  return n === 0 ? together(Array.from({ length: count }, () => narrow(x, a, 0, 0))) : split(x, Math.ceil(n / count), a);
}

/** x so many times along each axis; new axes come in front. Reference: torch.Tensor.repeat. */
export function repeat(x: Tensor, ...times: number[] | [Shape]): Tensor {
  const list = (Array.isArray(times[0]) ? times[0] : times) as Shape;
  if (list.length < x.rank || list.some((n) => !Number.isInteger(n) || n < 0))
    throw new ValueError("repeat", "times", `at least ${x.rank} integers of at least 0`, list);
  const shape = [...new Array<number>(list.length - x.rank).fill(1), ...x.shape];
  const target = shape.map((d, i) => d * list[i]!);
  if (sizeOf(target) === 0) return tie(empty(target, { dtype: x.dtype, device: x.device }), x, x.size === 0 ? "linear" : "zero");
  // Each repeated axis of more than one element is seen as two, of which the first is broadcast.
  const from: number[] = [];
  const to: number[] = [];
  shape.forEach((d, i) => {
    const n = list[i]!;
    if (d > 1 && n > 1) {
      from.push(1);
      to.push(n);
    }
    from.push(d);
    to.push(d > 1 ? d : n);
  });
  const wide = broadcastTo(reshape(x, from), to);
  return copied(x, reshape(wide, target));
}

/** A result that shares nothing with x. */
const copied = (x: Tensor, result: Tensor): Tensor =>
  asResult(result.storage === x.storage ? call(contiguousOp, [result], undefined) : result);

/** repeat() in which missing counts are 1, in front. Reference: torch.tile. */
export function tile(x: Tensor, ...times: number[] | [Shape]): Tensor {
  const list = (Array.isArray(times[0]) ? times[0] : times) as Shape;
  return repeat(x, [...new Array<number>(Math.max(0, x.rank - list.length)).fill(1), ...list]);
}

/** Each element so many times in a row. @package */
export function repeatEach(x: Tensor, times: number, axis: number | null = null): Tensor {
  if (!Number.isInteger(times) || times < 0) throw new ValueError("repeatInterleave", "times", "an integer of at least 0", times);
  if (axis === null) return repeatEach(flatten(x), times, 0);
  const a = existingAxis("repeatInterleave", x, axis);
  const target = x.shape.map((d, i) => (i === a ? d * times : d));
  if (sizeOf(target) === 0) return tie(empty(target, { dtype: x.dtype, device: x.device }), x, x.size === 0 ? "linear" : "zero");
  const wide = unsqueeze(x, a + 1);
  const repeated = expand(
    wide,
    wide.shape.map((d, i) => (i === a + 1 ? times : d)),
  );
  return copied(x, reshape(repeated, target));
}

const flipOp: Definition<{ readonly axes: readonly number[] }> = define<{ readonly axes: readonly number[] }>({
  name: "flip",
  batched: axesBehindBatch,
  traits: { carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x], { axes }) => [
    g.slice1(x!, {
      output: { sizes: x!.sizes },
      inputWindowOffsets: x!.sizes.map(() => 0),
      inputWindowSizes: x!.sizes,
      inputWindowStrides: x!.sizes.map((_, i) => (axes.includes(i) ? -1 : 1)),
    }),
  ],
  grad: (dy, { attrs }) => [call(flipOp, [dy], attrs)],
  // The padding comes first then.
  padded: (g, inputs, { axes }, _outputs, p, lower) =>
    axes
      .filter((a) => p.isPadded(0, a))
      .reduce((list, a) => {
        const n = inputs[0]!.sizes[a]!;
        const by = g.elementWiseSubtract(int32(g, n, [1]), p.length(0, a));
        return [shiftedToFront(g, list[0]!, by, a)];
      }, lower(inputs)),
  saves: { inputs: [], outputs: false },
});

/** x in reverse order along the axes. Reference: torch.flip. DirectML: SLICE1. */
export function flip(x: Tensor, axes: number | readonly number[]): Tensor {
  const list = [axes].flat().map((a) => normalizeAxis("flip", a as number, x.rank));
  if (new Set(list).size !== list.length) throw new ValueError("flip", "axes", "a list without repeats", axes);
  return call(flipOp, [x], { axes: list });
}

/** x moved along axes, what leaves at the end coming in at the start. Without axes: of the flattened tensor. Reference: torch.roll. */
export function roll(x: Tensor, shifts: number | readonly number[], axes?: number | readonly number[]): Tensor {
  const by = [shifts].flat() as number[];
  if (by.some((n) => !Number.isInteger(n))) throw new ValueError("roll", "shifts", "integers", shifts);
  if (axes === undefined) {
    if (by.length !== 1) throw new ValueError("roll", "shifts", "one number when no axes are given", shifts);
    return asResult(reshape(roll(flatten(x), by[0]!, 0), x.shape));
  }
  const list = ([axes].flat() as number[]).map((a) => existingAxis("roll", x, a));
  if (list.length !== by.length) throw new ValueError("roll", "shifts", `as many as axes (${list.length})`, shifts);
  return list.reduce(
    (result, a, i) => {
      const n = x.shape[a]!;
      if (n === 0) return result;
      const start = (((n - by[i]!) % n) + n) % n;
      return cat([narrow(result, a, start, n - start), narrow(result, a, 0, start)], a);
    },
    sliceView(x, wholeSlice(x)),
  );
}

export const methods = { split, chunk, repeat, tile, flip, roll };
