/** Padding: x with more elements before and behind, along chosen axes. @functional */
import { tie } from "../../autograd/tie.ts";
import { call } from "../../dispatch/dispatch.ts";
import { DTYPES, isFloat, isInteger, dataTypeName } from "../../core/dtype.ts";
import { requireRepresentable, element, notRepresentable } from "../../core/elements.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add } from "../elementwise/binary.ts";
import { full } from "../creation/creation.ts";
import { define, type Definition } from "../../core/definition.ts";
import { cat, flip } from "./join.ts";
import { narrow, sliceView, wholeSlice } from "./movement.ts";
import { indices, int32, takeAlong } from "../../core/padded-axes.ts";
import { sum } from "../reduce/reduce.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { withAttributes } from "../declare/batched.ts";

/** What padded elements are: a value, the input mirrored, its edge, or its other end. */
export type PadMode = "constant" | "reflect" | "replicate" | "circular";

interface ConstantAttributes {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly value: number;
}

const grown = (shape: readonly number[], before: readonly number[], after: readonly number[]): number[] =>
  shape.map((d, i) => d + before[i]! + after[i]!);

const inFront = withAttributes(<A extends { readonly before: readonly number[]; readonly after: readonly number[] }>(attrs: A): A => ({
  ...attrs,
  before: [0, ...attrs.before],
  after: [0, ...attrs.after],
}));

const padConstantOp: Definition<ConstantAttributes> = define<ConstantAttributes>({
  name: "pad",
  batched: inFront,
  traits: { carries: true },
  infer: ([x], { before, after }) => [{ shape: grown(x!.shape, before, after), dtype: x!.dtype }],
  lower: (g, [x], { before, after, value }, [out]) => [
    g.padding1(x!, {
      output: { sizes: out!.shape },
      paddingMode: "CONSTANT",
      paddingValueDataType: dataTypeName(x!.dtype),
      paddingValue: { dtype: x!.dtype, value: isFloat(x!.dtype) ? value : Math.trunc(value) },
      startPadding: before,
      endPadding: after,
    }),
  ],
  grad: (dy, { specs: [x], attrs: { before } }) => [sliceView(dy, { starts: before, sizes: x!.shape, steps: before.map(() => 1) })],
  saves: { inputs: [], outputs: false },
  padded: (_g, [x], { value }, _outputs, p, lower) => lower([p.filled(0, isFloat(x!.dtype) ? value : Math.trunc(value))]),
});

interface EdgeAttributes {
  readonly before: readonly number[];
  readonly after: readonly number[];
  readonly mode: "reflect" | "replicate";
}

interface Part {
  readonly position: number;
  readonly values: Tensor;
}

/** x with `values` added at positions along an axis. Parts come in ascending order; only these elements are computed, the rest is copied. */
function withAdded(x: Tensor, axis: number, parts: readonly Part[]): Tensor {
  const pieces: Tensor[] = [];
  let at = 0;
  const keepUntil = (end: number): void => {
    if (end > at) pieces.push(narrow(x, axis, at, end - at));
    at = end;
  };
  for (const { position, values } of parts) {
    keepUntil(position);
    at += values.shape[axis]!;
    pieces.push(add(narrow(x, axis, position, at - position), values));
  }
  keepUntil(x.shape[axis]!);
  return pieces.length === 1 ? pieces[0]! : cat(pieces, axis);
}

/** The gradient of padding one axis of length n: each padded element's gradient is added to its source, mirrored or at the edge. */
function edgeGradient(dy: Tensor, axis: number, n: number, before: number, after: number, mode: EdgeAttributes["mode"]): Tensor {
  const kept = narrow(dy, axis, before, n);
  const part = (start: number, length: number, mirrored: number, edge: number): Part[] => {
    if (length === 0) return [];
    const values = narrow(dy, axis, start, length);
    return [
      mode === "reflect"
        ? { position: mirrored, values: flip(values, axis) }
        : { position: edge, values: sum(values, axis, { keepDims: true }) },
    ];
  };
  const [low, high] = [part(0, before, 1, 0), part(before + n, after, n - 1 - after, n - 1)];
  const overlap = low.some(({ position, values }) => high.some((other) => position + values.shape[axis]! > other.position));
  return overlap ? withAdded(withAdded(kept, axis, low), axis, high) : withAdded(kept, axis, [...low, ...high]);
}

const padEdgeOp: Definition<EdgeAttributes> = define<EdgeAttributes>({
  name: "pad",
  batched: inFront,
  traits: { carries: true },
  infer: ([x], { before, after }) => [{ shape: grown(x!.shape, before, after), dtype: x!.dtype }],
  lower: (g, [x], { before, after, mode }, [out]) => [
    g.padding1(x!, {
      output: { sizes: out!.shape },
      paddingMode: mode === "reflect" ? "REFLECTION" : "EDGE",
      paddingValueDataType: dataTypeName(x!.dtype),
      paddingValue: { dtype: x!.dtype, value: 0 },
      startPadding: before,
      endPadding: after,
    }),
  ],
  padded: (g, [x], attrs, [out], p) => {
    const axes = x!.sizes.flatMap((_, a) => (p.isPadded(0, a) && (attrs.before[a]! > 0 || attrs.after[a]! > 0) ? [a] : []));
    const grownAlong = axes.reduce((y, a) => {
      const n = out!.shape[a]!;
      const last = g.expand(g.elementWiseSubtract(p.length(0, a), int32(g, 1, [1])), [n]);
      const at = g.elementWiseSubtract(indices(g, n), int32(g, attrs.before[a]!, [n]));
      const folded = attrs.mode === "reflect" ? g.elementWiseAbs(at) : at;
      // Mirrored at the last element; what lies behind is never read.
      const behind = attrs.mode === "reflect" ? g.elementWiseSubtract(g.elementWiseAdd(last, last), folded) : last;
      const from = g.elementWiseMin(folded, behind);
      return takeAlong(g, y, g.elementWiseMin(g.elementWiseMax(from, int32(g, 0, [n])), last), a);
    }, x!);
    const rest = (pads: readonly number[]): number[] => pads.map((n, a) => (axes.includes(a) ? 0 : n));
    const [before, after] = [rest(attrs.before), rest(attrs.after)];
    if ([...before, ...after].every((n) => n === 0)) return [grownAlong];
    return padEdgeOp.lower(g, [grownAlong], { ...attrs, before, after }, [out!]);
  },
  grad: (dy, { inputs: [x], attrs: { before, after, mode } }) => [
    tie(
      x!.shape.reduce(
        (result, n, i) => (before[i]! > 0 || after[i]! > 0 ? edgeGradient(result, i, n, before[i]!, after[i]!, mode) : result),
        dy,
      ),
      x!,
    ),
  ],
  saves: { outputs: false },
});

/**
 * x with elements added before and behind along its last axes.
 *
 * pads: [before, behind] of the last axis, then of the one before it, and so on; negative numbers take elements away.
 * mode: "constant" with `value` (default 0), "reflect" (mirrored without the edge; each pad shorter than the axis), "replicate",
 * "circular" (from the other end; each pad at most the axis). Throws ValueError for an odd list, ShapeError for one that does not fit. DirectML: PADDING1. Reference: torch.nn.functional.pad.
 */
export function pad(
  x: Tensor,
  pads: readonly number[],
  {
    mode = "constant",
    value: fill = 0,
  }: {
    /** What padded elements are. Default: "constant". */
    readonly mode?: PadMode; /** The value of padded elements, of mode "constant". Default: 0. */
    readonly value?: number | boolean;
  } = {},
): Tensor {
  const value = Number(fill);
  if (x.rank === 0 && pads.length === 0) return call(contiguousOp, [x], undefined);
  if (pads.length % 2 !== 0 || pads.length > 2 * x.rank || pads.some((p) => !Number.isInteger(p)))
    throw new ValueError("pad", "pads", `an even number of at most ${2 * x.rank} integers`, pads);
  const before = x.shape.map((_, i) => pads[2 * (x.rank - 1 - i)] ?? 0);
  const after = x.shape.map((_, i) => pads[2 * (x.rank - 1 - i) + 1] ?? 0);
  const shape = grown(x.shape, before, after);
  if (shape.some((d) => d < 0)) throw new ShapeError("pad", "pads", `pads that leave no negative length of ${showShape(x.shape)}`, pads);
  const cutting = wholeSlice(x);
  x.shape.forEach((d, i) => {
    const less = Math.max(0, -before[i]!);
    cutting.starts[i] = Math.min(less, d);
    cutting.sizes[i] = Math.max(0, d - less - Math.max(0, -after[i]!));
  });
  const wraps = mode === "reflect" || mode === "replicate";
  // Edges repeat what was there before anything was cut off.
  const isWhole = before.every((p, i) => p >= 0 && after[i]! >= 0) || (wraps && before.some((p, i) => p * after[i]! < 0));
  const core = isWhole ? x : sliceView(x, cutting);
  const [start, end] = [before.map((p) => Math.max(0, p)), after.map((p) => Math.max(0, p))];
  if (mode === "constant") {
    // PyTorch takes it for a real number here, so that -1 is not 255.
    if (value < 0 && isInteger(x.dtype) && !DTYPES[x.dtype].isSigned) throw notRepresentable("pad", "value", x.dtype, value);
    requireRepresentable("pad", "value", x.dtype, value);
    if (core.size === 0) return tie(full(shape, value, { dtype: x.dtype, device: x.device }), x, "linear");
    return call(padConstantOp, [core], { before: start, after: end, value: x.dtype === "bool" ? Number(element("bool", value)) : value });
  }
  if (mode !== "reflect" && mode !== "replicate" && mode !== "circular")
    throw new ValueError("pad", "mode", '"constant", "reflect", "replicate" or "circular"', mode);
  let result = core;
  start.forEach((_, axis) => {
    const [p, q] = [start[axis]!, end[axis]!];
    if (p === 0 && q === 0) return;
    const n = core.shape[axis]!;
    if (n === 0 || (mode === "reflect" && Math.max(p, q) >= n) || (mode === "circular" && Math.max(p, q) > n))
      throw new ShapeError(
        "pad",
        "pads",
        mode !== "replicate" && n > 0
          ? `${mode === "reflect" ? "shorter than" : "not longer than"} axis ${axis} of ${x.describe()}`
          : `zero along the empty axis ${axis}`,
        pads,
      );
    if (mode === "circular") result = cat([narrow(result, axis, n - p, p), result, narrow(result, axis, 0, q)], axis);
  });
  if (wraps && [...start, ...end].some((p) => p > 0)) result = call(padEdgeOp, [core], { before: start, after: end, mode });
  if (core === x && result !== x && wraps)
    before.forEach((p, axis) => {
      const q = after[axis]!;
      if (p < 0 || q < 0) result = narrow(result, axis, Math.max(0, -p), shape[axis]!);
    });
  return result === core ? call(contiguousOp, [core], undefined) : result;
}

export const methods = { pad };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "pad with a number", [real([2, 3, 4])], (x) => pad(x!, [1, 2, 0, 1], { value: 0.5 })),
];
