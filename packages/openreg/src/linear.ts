/** Matrix products, reductions, softmax. Sums are float64, rounded once. */
import type { backend } from "dxtensor";
import type { Compute } from "./elementwise.ts";
import { rows, type Tensor } from "./strides.ts";

type Call = backend.BackendCall;

/** Whether all that are there are float32. */
export const isFloat = (...tensors: readonly (Tensor | null | undefined)[]): boolean =>
  tensors.every((t) => t == null || t.dtype === "float32");

/** GEMM: alpha * A x B + beta * C, of the last two axes. */
export function gemm(call: Call): Compute | null {
  const [a, b, c] = call.inputs as [Tensor, Tensor, Tensor | null];
  const out = call.outputs[0]!;
  const { transA, transB, alpha, beta, fusedActivation } = call.attributes;
  if (!isFloat(a, b, c, out) || fusedActivation !== null) return null;
  const rank = out.sizes.length;
  const matrix = (t: Tensor, isTransposed: boolean): [row: number, column: number] => {
    const [row, column] = [t.strides[rank - 2]!, t.strides[rank - 1]!];
    return isTransposed ? [column, row] : [row, column];
  };
  const [am, ak] = matrix(a, transA === "TRANSPOSE");
  const [bk, bn] = matrix(b, transB === "TRANSPOSE");
  const [cm, cn] = c === null ? [0, 0] : matrix(c, false);
  const [ym, yn] = matrix(out, false);
  const [m, n] = [out.sizes[rank - 2]!, out.sizes[rank - 1]!];
  const k = a.sizes[transA === "TRANSPOSE" ? rank - 2 : rank - 1]!;
  const lead = (t: Tensor): number[] => t.sizes.slice(0, -2).map((d, i) => (d === 1 ? 0 : t.strides[i]!));
  const batches = rows(
    [...out.sizes.slice(0, -2), 1],
    [a, b, ...(c === null ? [] : [c]), out].map((t) => [...lead(t), 0]),
  );
  const [scale, keep] = [alpha as number, beta as number];
  return (inputs, [result]) => {
    const [x, w, z] = inputs as Float32Array[];
    const y = result as Float32Array;
    const sums = new Float64Array(n);
    batches.visit((offsets) => {
      for (let batch = 0; batch < batches.length; batch++) {
        const starts = offsets.map((o, i) => o + batch * batches.steps[i]!);
        const [xo, wo] = [starts[0]!, starts[1]!];
        const yo = starts.at(-1)!;
        for (let i = 0; i < m; i++) {
          sums.fill(0);
          for (let p = 0; p < k; p++) {
            const left = x![xo + i * am + p * ak]!;
            for (let j = 0, at = wo + p * bk; j < n; j++, at += bn) sums[j]! += left * w![at]!;
          }
          for (let j = 0; j < n; j++)
            y[yo + i * ym + j * yn] = scale * sums[j]! + (c === null ? 0 : keep * z![starts[2]! + i * cm + j * cn]!);
        }
      }
    });
  };
}

interface Fold {
  readonly start: number;
  readonly step: (sum: number, x: number) => number;
  readonly end?: (sum: number, count: number) => number;
}

const folds: { readonly [name: string]: Fold } = {
  SUM: { start: 0, step: (s, x) => s + x },
  AVERAGE: { start: 0, step: (s, x) => s + x, end: (s, n) => s / n },
  MULTIPLY: { start: 1, step: (s, x) => s * x },
  L1: { start: 0, step: (s, x) => s + Math.abs(x) },
  L2: { start: 0, step: (s, x) => s + x * x, end: Math.sqrt },
  SUM_SQUARE: { start: 0, step: (s, x) => s + x * x },
  MAX: { start: -Infinity, step: (s, x) => (x > s || Number.isNaN(x) ? x : s) },
  MIN: { start: Infinity, step: (s, x) => (x < s || Number.isNaN(x) ? x : s) },
};

/** Strides of the axes that are kept, and of those that are reduced. */
function split(t: Tensor, axes: readonly number[]): { kept: number[]; reduced: { size: number; stride: number }[] } {
  return {
    kept: t.strides.map((s, i) => (axes.includes(i) ? 0 : s)),
    reduced: axes.map((i) => ({ size: t.sizes[i]!, stride: t.strides[i]! })),
  };
}

/** Offsets of the elements that one result comes from, in row-major order. */
export function offsetsOf(axes: readonly { size: number; stride: number }[]): number[] {
  let list = [0];
  for (const { size, stride } of axes) list = list.flatMap((at) => Array.from({ length: size }, (_, i) => at + i * stride));
  return list;
}

export function reduce(call: Call): Compute | null {
  const [x, out] = [call.inputs[0]!, call.outputs[0]!];
  const fold = folds[call.attributes["function"] as string];
  const isInteger = x.dtype === "int32" || x.dtype === "uint32";
  if (fold === undefined || x.dtype !== out.dtype || !(x.dtype === "float32" || (isInteger && fold.end === undefined))) return null;
  const { kept, reduced } = split(x, call.attributes["axes"] as readonly number[]);
  const from = offsetsOf(reduced);
  const { length, steps, visit } = rows(out.sizes, [kept, out.strides]);
  return ([a], [y]) => {
    const [source, to] = [a as Float32Array, y as Float32Array];
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!) {
        let sum = fold.start;
        for (let k = 0; k < from.length; k++) sum = fold.step(sum, source[i + from[k]!]!);
        to[o] = fold.end === undefined ? sum : fold.end(sum, from.length);
      }
    });
  };
}

/** ARGMAX and ARGMIN: the index of the first extreme element, or the last one. */
export function extreme(call: Call): Compute | null {
  const [x, out] = [call.inputs[0]!, call.outputs[0]!];
  if (x.dtype.endsWith("64") || out.dtype.endsWith("64")) return null;
  const { kept, reduced } = split(x, call.attributes["axes"] as readonly number[]);
  const from = offsetsOf(reduced);
  const sign = call.operator === "ARGMAX" ? 1 : -1;
  const isLast = call.attributes["axisDirection"] === "DECREASING";
  const { length, steps, visit } = rows(out.sizes, [kept, out.strides]);
  return ([a], [y]) => {
    const [source, to] = [a as Float32Array, y as Float32Array];
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!) {
        let best = 0;
        for (let k = 1; k < from.length; k++) {
          const difference = sign * (source[i + from[k]!]! - source[i + from[best]!]!);
          if (difference > 0 || (isLast && difference === 0)) best = k;
        }
        to[o] = best;
      }
    });
  };
}

/** ACTIVATION_SOFTMAX1 and ACTIVATION_LOG_SOFTMAX1 over some axes. */
export const softmax = (call: Call): Compute | null =>
  softmaxAlong(
    call.inputs[0]!,
    call.outputs[0]!,
    call.attributes["axes"] as readonly number[],
    call.operator === "ACTIVATION_LOG_SOFTMAX1",
  );

/** exp(x) over its sum along the axes, or the logarithm of that. */
export function softmaxAlong(x: Tensor, out: Tensor, axes: readonly number[], isLog: boolean): Compute | null {
  if (!isFloat(x, out)) return null;
  const [source, target] = [split(x, axes), split(out, axes)];
  const [from, to] = [offsetsOf(source.reduced), offsetsOf(target.reduced)];
  const sizes = x.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
  const { length, steps, visit } = rows(sizes, [source.kept, target.kept]);
  return ([a], [y]) => {
    const [input, output] = [a as Float32Array, y as Float32Array];
    visit((offsets) => {
      for (let n = 0, i = offsets[0]!, o = offsets[1]!; n < length; n++, i += steps[0]!, o += steps[1]!) {
        let most = -Infinity;
        for (const k of from) most = Math.max(most, input[i + k]!);
        let sum = 0;
        for (const k of from) sum += Math.exp(input[i + k]! - most);
        from.forEach((k, at) => {
          const z = input[i + k]! - most;
          output[o + to[at]!] = isLog ? z - Math.log(sum) : Math.exp(z) / sum;
        });
      }
    });
  };
}
