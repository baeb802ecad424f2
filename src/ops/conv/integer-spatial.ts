/**
 * Convolution and pooling of integers, which DirectML's operators do not take: the taps of all windows as views, and the integers' own
 * arithmetic over them, exact modulo 2^bits as in PyTorch.
 * @package
 */
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { add } from "../elementwise/binary.ts";
import { gt, logicalOr, lt } from "../elementwise/compare.ts";
import { tensor } from "../creation/creation.ts";
import { div } from "../elementwise/division.ts";
import { flip, stack } from "../shape/join.ts";
import { matmul } from "../matmul/matmul.ts";
import { broadcastTo, narrow, reshape, sliceView, transpose } from "../shape/movement.ts";
import { pad } from "../shape/pad.ts";
import { arange } from "../creation/ranges.ts";
import { maximum, where } from "../elementwise/where.ts";

/** Lists have one number for each spatial axis. */
interface Layout {
  readonly kernel: readonly number[];
  readonly output: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  /** Padding before the first element; negative where elements are left out. */
  readonly start: readonly number[];
}

/**
 * The geometry of y = conv(x, w) for x [N, Ci, input...] and y [N, Co, output...]. The three operations of conv.ts share it:
 * forward (y), data gradient or transposed convolution (x), and weight gradient (w). Lists have one number for each spatial axis.
 * @package
 */
export interface Geometry {
  readonly input: readonly number[];
  readonly kernel: readonly number[];
  readonly output: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly groups: number;
}

/** For each tap of the kernel, its element of all windows: x [N, C, input...] gives one [N, C, output...] a tap. */
function taps(x: Tensor, { kernel, output, stride, dilation, start }: Layout, value = 0): Tensor[] {
  const spatial = x.shape.slice(2);
  const end = spatial.map((d, i) => (output[i]! - 1) * stride[i]! + (kernel[i]! - 1) * dilation[i]! + 1 - d - start[i]!);
  const pads = spatial.flatMap((_, i) => [start[i]!, end[i]!]);
  // pad() names the last axis first.
  const listed = spatial.flatMap((_, i) => pads.slice(2 * (spatial.length - 1 - i), 2 * (spatial.length - i)));
  const padded = listed.every((p) => p === 0) ? x : pad(x, listed, { value });
  const offsets = kernel.reduce<number[][]>((all, k) => all.flatMap((p) => Array.from({ length: k }, (_, i) => [...p, i])), [[]]);
  return offsets.map((offset) =>
    sliceView(padded, {
      starts: [0, 0, ...offset.map((p, i) => p * dilation[i]!)],
      sizes: [x.shape[0]!, x.shape[1]!, ...output],
      steps: [1, 1, ...stride],
    }),
  );
}

/** w [Co, Ci/groups, kernel...] over windows of x [N, Ci, input...]. */
function correlated(x: Tensor, w: Tensor, bias: Tensor | null, layout: Layout, groups: number): Tensor {
  const [n, co] = [x.shape[0]!, w.shape[0]!];
  const [inner, positions] = [w.size / co, sizeOf(layout.output)];
  // [N, Ci, taps, output...] as [N, groups, Ci/groups * taps, output].
  const columns = reshape(stack(taps(x, layout), 2), [n, groups, inner, positions]);
  const rows = reshape(w, [1, groups, co / groups, inner]);
  const y = reshape(matmul(rows, columns), [n, co, ...layout.output]);
  return bias === null ? y : add(y, reshape(bias, [co, ...layout.output.map(() => 1)]));
}

export const integerConv = (x: Tensor, w: Tensor, bias: Tensor | null, o: Geometry): Tensor =>
  correlated(x, w, bias, { ...o, start: o.padding }, o.groups);

/** x with `by - 1` zeros between neighbours along an axis. */
function spaced(x: Tensor, axis: number, by: number): Tensor {
  const d = x.shape[axis]!;
  if (by === 1 || d < 2) return x;
  const apart = [...x.shape.slice(0, axis + 1), 1, ...x.shape.slice(axis + 1)];
  const pads = apart.flatMap((_, i) => (apart.length - 1 - i === axis + 1 ? [0, by - 1] : [0, 0]));
  const wide = reshape(pad(reshape(x, apart), pads), [...x.shape.slice(0, axis), d * by, ...x.shape.slice(axis + 1)]);
  return narrow(wide, axis, 0, (d - 1) * by + 1);
}

/** x [N, Ci, o.output...], w [Ci, Co/groups, kernel...]: [N, Co, o.input...]. */
export function integerConvTranspose(x: Tensor, w: Tensor, bias: Tensor | null, o: Geometry): Tensor {
  const apart = o.stride.reduce((t, by, i) => spaced(t, i + 2, by), x);
  const [ci, per] = w.shape as [number, number];
  const grouped = reshape(w, [o.groups, ci / o.groups, per, ...o.kernel]);
  const transposed = reshape(transpose(grouped, 1, 2), [o.groups * per, ci / o.groups, ...o.kernel]);
  const flipped = flip(
    transposed,
    o.kernel.map((_, i) => i + 2),
  );
  const layout: Layout = {
    kernel: o.kernel,
    output: o.input,
    stride: o.kernel.map(() => 1),
    dilation: o.dilation,
    start: o.kernel.map((k, i) => (k - 1) * o.dilation[i]! - o.padding[i]!),
  };
  return correlated(apart, flipped, bias, layout, o.groups);
}

interface Windows extends Layout {
  readonly input: readonly number[];
}

/** The sums of windows over their counts, rounded towards zero. counts: one for each window. */
export function integerAverage(x: Tensor, w: Windows, counts: readonly number[]): Tensor {
  const sum = taps(x, w).reduce((a, b) => add(a, b));
  const isOne = counts.every((n) => n === counts[0]);
  const over = tensor(isOne ? [counts[0]!] : counts, { shape: isOne ? [1] : w.output, dtype: x.dtype, device: x.device });
  return div(sum, over, { roundingMode: "trunc" });
}

function lowest(dtype: DType): number {
  const { sizeInBytes, isSigned } = DTYPES[dtype];
  return isSigned ? -(2 ** (8 * sizeInBytes - 1)) : 0;
}

/** The largest elements, and their indices within the plane; of equal elements the first. */
export function integerMaximumWithIndices(x: Tensor, w: Windows): { readonly values: Tensor; readonly indices: Tensor } {
  const all = taps(x, w, lowest(x.dtype));
  const plane = reshape(arange(sizeOf(w.input), { dtype: "int32", device: x.device }), [1, 1, ...w.input]);
  const tapIndices = taps(plane, w, -1);
  let [values, indices] = [all[0]!, broadcastTo(tapIndices[0]!, all[0]!.shape)];
  all.slice(1).forEach((tap, i) => {
    // The first tap may be padding, which nothing in the plane need exceed.
    const wins = logicalOr(gt(tap, values), lt(indices, 0));
    values = where(wins, tap, values);
    indices = where(wins, tapIndices[i + 1]!, indices);
  });
  return { values, indices };
}

export function integerMaximum(x: Tensor, w: Windows): Tensor {
  return taps(x, w, lowest(x.dtype)).reduce((a, b) => maximum(a, b));
}
