/** Convolutions. */
import * as ops from "../../ops/index.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** Where a window goes along each spatial axis. */
export interface Window {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
}

/** kernel_shape, strides, dilations, pads and auto_pad. */
export function windowOf(c: Call, input: readonly number[], kernel: readonly number[]): Window {
  const ones = input.map(() => 1);
  const strides = c.ints("strides") ?? ones;
  const dilations = c.ints("dilations") ?? ones;
  const auto = c.oneOf("auto_pad", "NOTSET", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]);
  if (auto === "NOTSET" || auto === "VALID") {
    const pads = auto === "VALID" ? null : c.ints("pads");
    const n = input.length;
    return { kernel, strides, dilations, before: pads?.slice(0, n) ?? input.map(() => 0), after: pads?.slice(n) ?? input.map(() => 0) };
  }
  const total = input.map((d, i) => {
    const output = Math.ceil(d / strides[i]!);
    return Math.max(0, (output - 1) * strides[i]! + (kernel[i]! - 1) * dilations[i]! + 1 - d);
  });
  const less = total.map((t) => Math.floor(t / 2));
  const more = total.map((t, i) => t - less[i]!);
  const isUpper = auto === "SAME_UPPER";
  return { kernel, strides, dilations, before: isUpper ? less : more, after: isUpper ? more : less };
}

/** x with a value around its spatial axes. */
export function padded(x: Tensor, before: readonly number[], after: readonly number[], value = 0): Tensor {
  if (before.every((p) => p === 0) && after.every((p) => p === 0)) return x;
  const n = before.length;
  return ops.pad(
    x,
    before.flatMap((_, i) => [before[n - 1 - i]!, after[n - 1 - i]!]),
    { value },
  );
}

const CONVOLUTIONS = [ops.conv1d, ops.conv2d, ops.conv3d];
const TRANSPOSED = [ops.convTranspose1d, ops.convTranspose2d, ops.convTranspose3d];

/** Whether a picture is one column, of which each window takes some rows: exporters write a convolution of sequences so. */
const isColumn = (x: Tensor, { kernel, before, after }: Window): boolean =>
  x.rank === 4 && x.shape[2]! > 1 && kernel[0]! > 1 && x.shape[3] === 1 && kernel[1] === 1 && before[1] === 0 && after[1] === 0;

export function convolve(c: Call, x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const spatial = x.rank - 2;
  const run = CONVOLUTIONS[spatial - 1];
  if (run === undefined) throw c.unsupported(`${spatial} spatial axes`);
  const w = windowOf(c, x.shape.slice(2), c.ints("kernel_shape") ?? weight.shape.slice(2));
  const isEven = w.before.every((p, i) => p === w.after[i]);
  const groups = c.int("group", 1);
  if (isColumn(x, w) && isEven) {
    // Kernels for NHWC run along the width: over one column they take twice as long.
    const options = { stride: w.strides[0]!, dilation: w.dilations[0]!, padding: w.before[0]!, groups };
    return ops.unsqueeze(ops.conv1d(ops.squeeze(x, 3), ops.squeeze(weight, 3), bias, options), 3);
  }
  const options = { stride: w.strides, dilation: w.dilations, groups };
  return isEven ? run(x, weight, bias, { ...options, padding: w.before }) : run(padded(x, w.before, w.after), weight, bias, options);
}

/** Where a transposed convolution writes: the whole result's lengths, and how many elements are cut from each end of it; below 0: added. */
export function transposedWindow(c: Call, input: readonly number[], kernel: readonly number[]) {
  const spatial = input.length;
  const ones = input.map(() => 1);
  const [strides, dilations] = [c.ints("strides") ?? ones, c.ints("dilations") ?? ones];
  const extra = c.ints("output_padding") ?? input.map(() => 0);
  const full = input.map((d, i) => (d - 1) * strides[i]! + (kernel[i]! - 1) * dilations[i]! + 1);
  const auto = c.oneOf("auto_pad", "NOTSET", ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]);
  const asked = c.ints("output_shape");
  const isSame = auto === "SAME_UPPER" || auto === "SAME_LOWER";
  const lengths = asked === null ? (isSame ? input.map((d, i) => d * strides[i]!) : null) : asked.slice(-spatial);
  const pads = c.ints("pads");
  let before = auto === "VALID" ? input.map(() => 0) : (pads?.slice(0, spatial) ?? input.map(() => 0));
  let after = auto === "VALID" ? input.map(() => 0) : (pads?.slice(spatial) ?? input.map(() => 0));
  if (lengths !== null) {
    const total = full.map((f, i) => f + extra[i]! - lengths[i]!);
    const half = total.map((t) => Math.floor(t / 2));
    before = auto === "SAME_UPPER" ? half : total.map((t, i) => t - half[i]!);
    after = total.map((t, i) => t - before[i]!);
  }
  return { strides, dilations, full, before, after: full.map((_, i) => after[i]! - extra[i]!) };
}

function convTranspose(c: Call): Tensor {
  const [x, weight, bias] = [c.tensor(0), c.tensor(1), c.optional(2)];
  const spatial = x.rank - 2;
  const run = TRANSPOSED[spatial - 1];
  if (run === undefined) throw c.unsupported(`${spatial} spatial axes`);
  const input = x.shape.slice(2);
  const { strides, dilations, before, after } = transposedWindow(c, input, c.ints("kernel_shape") ?? weight.shape.slice(2));
  // All of the result is made, and cut or grown afterwards.
  const whole = run(x, weight, bias, { stride: strides, dilation: dilations, groups: c.int("group", 1) });
  const grown = after.map((p) => -p);
  const cut = before.map((p) => -p);
  if (grown.every((g) => g <= 0) || bias === null) return padded(whole, cut, grown);
  const bare = run(x, weight, null, { stride: strides, dilation: dilations, groups: c.int("group", 1) });
  return ops.add(padded(bare, cut, grown), ops.reshape(bias, [1, bias.size, ...input.map(() => 1)]));
}

function convInteger(c: Call): Tensor {
  const less = (i: number, zero: number): Tensor => {
    const t = ops.to(c.tensor(i), "float32");
    const z = c.optional(zero);
    if (z === null) return t;
    const laid =
      z.rank === 1 && z.size > 1 ? ops.reshape(z, [z.size, ...t.shape.slice(1).map(() => 1)]) : z.rank === 1 ? ops.reshape(z, []) : z;
    return ops.sub(t, ops.to(laid, "float32"));
  };
  return ops.to(ops.round(convolve(c, less(0, 2), less(1, 3), null)), "int32");
}

/** Deformable convolution: each tap of the kernel is sampled at its position plus an offset; then a GEMM of the columns. */
function deformConv(c: Call): Tensor {
  const [x, weight, offset, bias, mask] = [c.tensor(0), c.tensor(1), c.tensor(2), c.optional(3), c.optional(4)];
  if (x.rank !== 4) throw c.unsupported(`${x.rank - 2} spatial axes`);
  const [n, channels] = x.shape as [number, number];
  const input = x.shape.slice(2) as [number, number];
  const w = windowOf(c, input, c.ints("kernel_shape") ?? weight.shape.slice(2));
  const [kh, kw] = w.kernel as [number, number];
  const [oh, ow] = offset.shape.slice(2) as [number, number];
  const [groups, offsetGroups] = [c.int("group", 1), c.int("offset_group", 1)];
  c.hosted(kh * kw * Math.max(1, oh * ow), "attribute kernel_shape");
  const taps = kh * kw;
  // Offsets [N, offset groups, taps, (y, x), H, W].
  const moved = ops.reshape(offset, [n, offsetGroups, taps, 2, oh, ow]);
  const base = (axis: 0 | 1): Tensor => {
    const list: number[] = [];
    for (let k = 0; k < taps; k++)
      for (let y = 0; y < oh; y++)
        for (let z = 0; z < ow; z++) {
          const [at, tap] = axis === 0 ? [y, Math.floor(k / kw)] : [z, k % kw];
          list.push(at * w.strides[axis]! - w.before[axis]! + tap * w.dilations[axis]!);
        }
    return c.make(list, x.dtype, [1, 1, taps, oh, ow]);
  };
  // gridSample's coordinates with the corners' centres at -1 and 1.
  const normal = (axis: 0 | 1): Tensor => {
    const positions = ops.add(ops.select(moved, 3, axis), base(axis));
    return ops.sub(ops.mul(positions, 2 / input[axis]), 1 - 1 / input[axis]);
  };
  const grid = ops.reshape(ops.stack([normal(1), normal(0)], -1), [n * offsetGroups, taps * oh, ow, 2]);
  const planes = ops.reshape(x, [n * offsetGroups, channels / offsetGroups, ...input]);
  const sampled = ops.gridSample(planes, grid, { mode: "bilinear", paddingMode: "zeros", alignCorners: false });
  let columns = ops.reshape(sampled, [n, offsetGroups, channels / offsetGroups, taps, oh, ow]);
  if (mask !== null) columns = ops.mul(columns, ops.reshape(mask, [n, offsetGroups, 1, taps, oh, ow]));
  const flatColumns = ops.reshape(columns, [n, groups, (channels / groups) * taps, oh * ow]);
  const kernel = ops.reshape(weight, [1, groups, weight.shape[0]! / groups, (channels / groups) * taps]);
  const result = ops.reshape(ops.matmul(kernel, flatColumns), [n, weight.shape[0]!, oh, ow]);
  return bias === null ? result : ops.add(result, ops.reshape(bias, [1, bias.size, 1, 1]));
}

/** Columns of blocks added into an image of any number of axes: one addition for each element of a block. */
function col2im(c: Call): Tensor {
  const x = c.x;
  const [image, block] = [c.numbers(1), c.numbers(2)];
  if (image.length !== block.length || x.rank !== 3)
    throw c.invalid("block_shape", `${image.length} numbers, for an input of three axes`, block);
  const none = image.map(() => 0);
  const ones = image.map(() => 1);
  const [strides, dilations] = [c.ints("strides") ?? ones, c.ints("dilations") ?? ones];
  const pads = c.ints("pads") ?? [...none, ...none];
  const rank = image.length;
  const total = image.map((d, i) => d + pads[i]! + pads[rank + i]!);
  const counts = total.map((d, i) => Math.floor((d - dilations[i]! * (block[i]! - 1) - 1) / strides[i]!) + 1);
  const [n, rows] = x.shape as [number, number];
  for (const d of [...image, ...block, ...total, ...counts]) c.size(d, "sizes");
  c.hosted(sizeOf(counts) * sizeOf(block), "sizes");
  const channels = rows / sizeOf(block);
  const laid = ops.reshape(x, [n, channels, sizeOf(block), ...counts]);
  // The flat index of each block's element in the padded image.
  const indices: number[] = [];
  const visit = (axis: number, at: number, tap: readonly number[]): void => {
    if (axis === rank) {
      indices.push(at);
      return;
    }
    for (let i = 0; i < counts[axis]!; i++) visit(axis + 1, at * total[axis]! + i * strides[axis]! + tap[axis]! * dilations[axis]!, tap);
  };
  for (let k = 0; k < sizeOf(block); k++) {
    const tap: number[] = [];
    for (let axis = rank - 1, rest = k; axis >= 0; axis--) {
      tap.unshift(rest % block[axis]!);
      rest = Math.floor(rest / block[axis]!);
    }
    visit(0, 0, tap);
  }
  const flat = ops.zeros([n * channels, sizeOf(total)], { dtype: x.dtype, device: x.device });
  const index = ops.contiguous(ops.expand(c.make(indices, "int32", [1, indices.length]), [n * channels, indices.length]));
  const sum = ops.scatterAdd(flat, 1, index, ops.reshape(laid, [n * channels, indices.length]));
  let result = ops.reshape(sum, [n, channels, ...total]);
  image.forEach((d, i) => (result = ops.narrow(result, i + 2, pads[i]!, d)));
  return result;
}

/** A depthwise convolution that sees only what came before, with the end of the input before as its past. */
function causalConv(c: Call): Tensor[] {
  const [x, weight, bias, past] = [c.tensor(0), c.tensor(1), c.optional(2), c.optional(3)];
  const history = weight.shape.at(-1)! - 1;
  const before = past ?? ops.zeros([...x.shape.slice(0, 2), history], { dtype: x.dtype, device: x.device });
  const all = ops.cat([before, x], 2);
  const y = ops.conv1d(all, weight, bias, { groups: x.shape[1]! });
  const kind = c.oneOf("activation", "none", ["none", "silu", "swish"]);
  return [kind === "none" ? y : ops.silu(y), ops.narrow(all, 2, all.shape[2]! - history, history)];
}

export const convolution = family({
  CausalConvWithState: causalConv,
  Col2Im: col2im,
  Conv: (c) => convolve(c, c.tensor(0), c.tensor(1), c.optional(2)),
  ConvInteger: convInteger,
  ConvTranspose: convTranspose,
  DeformConv: deformConv,
});
