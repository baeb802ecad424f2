/** Movement of elements, and shapes as values. */
import * as ops from "../../ops/index.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, isNumeric, KEPT, type Value } from "../format/value.ts";
import { family, type Result } from "./operator.ts";

function shapeOf(c: Call): Constant {
  const { shape } = c.numeric(0);
  const clip = (n: number): number => Math.min(Math.max(n < 0 ? n + shape.length : n, 0), shape.length);
  return Constant.integers(shape.slice(clip(c.int("start", 0)), clip(c.int("end", shape.length))));
}

/** A small constant stays one: shapes are computed with constants. */
const reshaped = (c: Call, v: Tensor | Constant, shape: readonly number[]): Tensor | Constant =>
  v instanceof Constant && v.size <= KEPT ? new Constant(v.dtype, shape, v.data, v.narrow) : ops.reshape(c.asTensor(v), [...shape]);

function reshape(c: Call): Value {
  const x = c.numeric(0);
  const asked = c.opset < 5 ? (c.ints("shape") ?? []) : c.numbers(1);
  const keepsZero = c.flag("allowzero");
  if (
    asked.some((d, i) => !Number.isSafeInteger(d) || d < -1 || (d === 0 && !keepsZero && i >= x.shape.length)) ||
    asked.indexOf(-1) !== asked.lastIndexOf(-1)
  )
    throw c.invalid("shape", "of lengths of at least 0, one -1 at most", asked);
  const shape = asked.map((d, i) => (d === 0 && !keepsZero ? x.shape[i]! : d));
  const known = sizeOf(shape.filter((d) => d !== -1));
  const whole = shape.map((d) => (d === -1 ? (known === 0 ? 0 : sizeOf(x.shape) / known) : d));
  if (sizeOf(whole) !== sizeOf(x.shape)) throw c.invalid("shape", `of ${sizeOf(x.shape)} elements`, asked);
  return reshaped(c, x, whole);
}

function flatten(c: Call): Value {
  const x = c.numeric(0);
  const axis = c.int("axis", 1);
  const at = axis < 0 ? axis + x.shape.length : axis;
  if (!(at >= 0 && at <= x.shape.length)) throw c.invalid("axis", `in [${-x.shape.length}, ${x.shape.length}]`, axis);
  return reshaped(c, x, [sizeOf(x.shape.slice(0, at)), sizeOf(x.shape.slice(at))]);
}

function squeeze(c: Call): Value {
  const x = c.numeric(0);
  const listed = c.list("axes", 1);
  const axes = listed === null ? x.shape.flatMap((d, i) => (d === 1 ? [i] : [])) : c.axes(listed, x.shape.length);
  if (axes.some((a) => x.shape[a] !== 1)) throw c.invalid("axes", "of length 1", axes);
  return reshaped(
    c,
    x,
    x.shape.filter((_, i) => !axes.includes(i)),
  );
}

function unsqueeze(c: Call): Value {
  const x = c.numeric(0);
  const listed = c.list("axes", 1) ?? [];
  const axes = c.axes(listed, x.shape.length + listed.length);
  const rest = [...x.shape];
  return reshaped(
    c,
    x,
    Array.from({ length: x.shape.length + axes.length }, (_, i) => (axes.includes(i) ? 1 : rest.shift()!)),
  );
}

function transpose(c: Call): Tensor {
  const x = c.x;
  return ops.permute(x, c.ints("perm") ?? x.shape.map((_, i) => x.rank - 1 - i));
}

/** Lengths of 1 on either side give way to the other's. */
function expand(c: Call): Tensor {
  const x = c.x;
  const asked = c.numbers(1).map((d) => c.size(d, "shape"));
  const rank = Math.max(x.rank, asked.length);
  const own = [...new Array<number>(rank - x.rank).fill(1), ...x.shape];
  const other = [...new Array<number>(rank - asked.length).fill(1), ...asked];
  return ops.broadcastTo(
    x,
    own.map((d, i) => (d === 1 ? other[i]! : d)),
  );
}

function tile(c: Call): Tensor {
  const x = c.x;
  if (c.opset >= 6) return ops.tile(x, c.numbers(1));
  const times = x.shape.map(() => 1);
  times[c.number(2)] = c.number(1);
  return ops.tile(x, times);
}

function concat(c: Call): Tensor {
  const parts = c.all();
  return ops.cat(parts, c.axis(c.int("axis", 1), parts[0]!.rank));
}

function split(c: Call): Value[] {
  const x = c.x;
  const axis = c.axis(c.int("axis", 0), x.rank);
  const listed = c.list("split", 1);
  if (listed !== null) return ops.split(x, listed, axis);
  const count = c.int("num_outputs", c.node.outputs.length);
  if (count !== c.node.outputs.length) throw c.invalid("attribute num_outputs", `${c.node.outputs.length}, the number of outputs`, count);
  const length = Math.ceil(x.shape[axis]! / count);
  const sizes = Array.from({ length: count }, (_, i) => Math.max(0, Math.min(length, x.shape[axis]! - i * length)));
  return ops.split(x, sizes, axis);
}

/** Starts, ends, axes and steps, whose numbers may lie far beyond the ends; a negative step goes backwards. */
function slice(c: Call): Tensor {
  let x = c.x;
  const [starts, ends] = [c.list("starts", 1) ?? [], c.list("ends", 2) ?? []];
  const axes = c.axes(c.list("axes", 3) ?? starts.map((_, i) => i), x.rank);
  const steps = c.has(4) ? c.numbers(4) : starts.map(() => 1);
  if (starts.length !== ends.length || steps.length !== starts.length || axes.length !== starts.length || steps.includes(0))
    throw c.invalid("starts, ends, axes and steps", "lists of one length, steps other than 0", [starts, ends, axes, steps]);
  axes.forEach((axis, i) => {
    x = sliced(x, axis, starts[i]!, ends[i]!, steps[i]!);
  });
  return x;
}

function sliced(x: Tensor, axis: number, start: number, end: number, step: number): Tensor {
  const length = x.shape[axis]!;
  const from = (n: number): number => (n < 0 ? n + length : n);
  const clip = (n: number, low: number, high: number): number => Math.min(Math.max(n, low), high);
  if (step > 0) {
    const first = clip(from(start), 0, length);
    return ops.slice(x, axis, first, Math.max(first, clip(from(end), 0, length)), step);
  }
  const first = clip(from(start), -1, length - 1);
  const last = clip(from(end), -1, length - 1);
  // Backwards from first down to last, which is left out, is forwards in the flipped tensor.
  return ops.slice(ops.flip(x, axis), axis, length - 1 - first, Math.max(length - 1 - first, length - 1 - last), -step);
}

const MODES = { constant: "constant", reflect: "reflect", edge: "replicate", wrap: "circular" } as const;

function pad(c: Call): Tensor {
  const x = c.x;
  const listed = c.list(c.opset < 2 ? "paddings" : "pads", 1) ?? [];
  const axes = c.has(3) ? c.axes(c.numbers(3), x.rank) : x.shape.map((_, i) => i);
  if (listed.length !== 2 * axes.length || !listed.every(Number.isSafeInteger))
    throw c.invalid("pads", `${2 * axes.length} integers`, listed);
  const mode = c.oneOf("mode", "constant", ["constant", "reflect", "edge", "wrap"]);
  const value = c.opset < 11 ? c.float("value", 0) : c.number(2, 0);
  const before = x.shape.map(() => 0);
  const after = x.shape.map(() => 0);
  axes.forEach((axis, i) => {
    before[axis] = listed[i]!;
    after[axis] = listed[axes.length + i]!;
  });
  if (mode === "reflect" || mode === "wrap") return repeated(c, x, before, after, mode);
  const pads = x.shape.flatMap((_, i) => [before[x.rank - 1 - i]!, after[x.rank - 1 - i]!]);
  return ops.pad(x, pads, mode === "constant" ? { value } : { mode: MODES[mode] });
}

/** Reflection and wrapping may go round several times: each element is read where it comes from. */
function repeated(c: Call, x: Tensor, before: readonly number[], after: readonly number[], mode: "reflect" | "wrap"): Tensor {
  let y = x;
  x.shape.forEach((length, axis) => {
    const [b, a] = [before[axis]!, after[axis]!];
    if (b === 0 && a === 0) return;
    if (length === 0) throw c.invalid("input", `of lengths of at least 1 where it is padded by ${mode}`, x.describe());
    c.hosted(length + b + a, "pads");
    const period = mode === "wrap" ? length : Math.max(1, 2 * (length - 1));
    const from = Int32Array.from({ length: length + b + a }, (_, i) => {
      const at = (((i - b) % period) + period) % period;
      return at < length ? at : period - at;
    });
    y = ops.indexSelect(y, axis, ops.tensor(from, { device: x.device }));
  });
  return y;
}

/** Cut or padded evenly to the asked lengths; an odd one more comes behind. */
function centerCropPad(c: Call): Tensor {
  let x = c.x;
  const lengths = c.numbers(1).map((d) => c.size(d, "shape"));
  const axes = c.axes(c.ints("axes") ?? x.shape.map((_, i) => i), x.rank);
  axes.forEach((axis, i) => {
    const [have, want] = [x.shape[axis]!, lengths[i]!];
    if (want <= have) x = ops.narrow(x, axis, Math.floor((have - want) / 2), want);
    else {
      const before = Math.floor((want - have) / 2);
      const pads = new Array<number>(2 * (x.rank - axis)).fill(0);
      pads[2 * (x.rank - 1 - axis)] = before;
      pads[2 * (x.rank - 1 - axis) + 1] = want - have - before;
      x = ops.pad(x, pads);
    }
  });
  return x;
}

function depthToSpace(c: Call): Tensor {
  const x = c.x;
  if (x.rank !== 4) throw c.invalid("input", "[N, C, H, W]", x.describe());
  const [n, channels, h, w] = x.shape as [number, number, number, number];
  const b = c.size(c.int("blocksize", 1), "attribute blocksize", 1);
  const rest = channels / (b * b);
  if (!Number.isInteger(rest)) throw c.invalid("channels", `a multiple of ${b * b}`, channels);
  if (c.oneOf("mode", "DCR", ["DCR", "CRD"]) === "DCR")
    return ops.reshape(ops.permute(ops.reshape(x, [n, b, b, rest, h, w]), [0, 3, 4, 1, 5, 2]), [n, rest, h * b, w * b]);
  return ops.reshape(ops.permute(ops.reshape(x, [n, rest, b, b, h, w]), [0, 1, 4, 2, 5, 3]), [n, rest, h * b, w * b]);
}

function spaceToDepth(c: Call): Tensor {
  const x = c.x;
  if (x.rank !== 4) throw c.invalid("input", "[N, C, H, W]", x.describe());
  const [n, channels, h, w] = x.shape as [number, number, number, number];
  const b = c.size(c.int("blocksize", 1), "attribute blocksize", 1);
  if (h % b !== 0 || w % b !== 0) throw c.invalid("input", `of height and width that are multiples of ${b}`, x.describe());
  const rest = channels * b * b;
  const split = ops.reshape(x, [n, channels, h / b, b, w / b, b]);
  const order = c.oneOf("mode", "DCR", ["DCR", "CRD"]) === "DCR" ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4];
  return ops.reshape(ops.permute(split, order), [n, rest, h / b, w / b]);
}

/** The first so many steps of each sequence, backwards. */
function reverseSequence(c: Call): Tensor {
  const x = c.x;
  const [time, batch] = [c.int("time_axis", 0), c.int("batch_axis", 1)];
  const lengths = c.numbers(1);
  if (time + batch !== 1 || time * batch !== 0 || x.rank < 2)
    throw c.invalid("axes", "0 and 1, of a tensor of two axes or more", [time, batch]);
  const [steps, count] = [x.shape[time]!, x.shape[batch]!];
  if (lengths.length !== count || lengths.some((n) => !(n >= 0 && n <= steps)))
    throw c.invalid("sequence_lens", `${count} numbers in [0, ${steps}]`, lengths);
  c.hosted(steps * count, "input");
  const indices = Array.from({ length: steps * count }, (_, i) => {
    const [t, length] = [Math.floor(i / count), lengths[i % count]!];
    return t < length ? length - 1 - t : t;
  });
  const shape = x.shape.map((d, i) => (i === time || i === batch ? d : 1));
  const laid = c.make(indices, "int32", [steps, count]);
  const index = ops.reshape(time < batch ? laid : ops.transpose(laid, 0, 1), shape);
  return ops.gather(x, time, ops.contiguous(ops.broadcastTo(index, x.shape)));
}

function trilu(c: Call): Tensor {
  const k = c.number(1, 0);
  return c.flag("upper", true) ? ops.triu(c.x, k) : ops.tril(c.x, k);
}

export const shapes = family(
  {
    CenterCropPad: centerCropPad,
    Concat: concat,
    DepthToSpace: depthToSpace,
    Expand: expand,
    Flatten: flatten,
    Identity: (c): Result => (isNumeric(c.inputs[0]) ? c.inputs[0] : [c.inputs[0] ?? null]),
    Pad: pad,
    Reshape: reshape,
    ReverseSequence: reverseSequence,
    Shape: shapeOf,
    Size: (c) => Constant.scalar("int64", BigInt(sizeOf(c.numeric(0).shape))),
    Slice: slice,
    SpaceToDepth: spaceToDepth,
    Split: split,
    Squeeze: squeeze,
    Tile: tile,
    Transpose: transpose,
    Trilu: trilu,
    Unsqueeze: unsqueeze,
  },
  { isRaw: false },
);
