/** Cumulative maximum, minimum and logsumexp. */
import { asItIs } from "../../core/padded-axes.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { largestOf } from "../../core/elements.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { eq, gt, lt } from "../elementwise/compare.ts";
import { zeros } from "../creation/creation.ts";
import { define, type Definition } from "../../core/definition.ts";
import type { Extremes, IndexDType } from "../reduce/extrema.ts";
import { sumElements } from "../index/gather.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { cat } from "../shape/join.ts";
import { narrow } from "../shape/movement.ts";
import { recurrence } from "./scan-linear.ts";
import { emitRunningMaximum, emitScan } from "./scan-lower.ts";
import { orderedKeys } from "../sort/sort.ts";
import { alongAxis, asIndex, BOOL, cast, computing, constant, requireFloat, sequence } from "../declare/support.ts";
import { abs, exp, log } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, distinct, real } from "../declare/sample.ts";
import { axisBehindBatch } from "../declare/batched.ts";

/** Unsigned numbers in the order of x's elements, or in the opposite one; NaN comes behind all others in both, both zeros are equal. */
function unsignedKeys(g: GraphBuilder, x: Expr, descending: boolean): Expr {
  if (isFloat(x.dtype)) return realKeys(g, g.packed(cast(g, x, "float32")), descending);
  const wide = x.dtype === "uint64" || x.dtype === "int64" ? x : cast(g, x, x.dtype === "uint32" ? "uint32" : "int32");
  const keys = orderedKeys(g, wide);
  const up =
    keys.dtype === "int32"
      ? g.elementWiseBitXor(g.reinterpret(keys, { dtype: "uint32" }), constant(g, "uint32", 0x80000000, keys.sizes))
      : keys;
  return descending ? g.elementWiseBitNot(up) : up;
}

/** The keys of float32: all of them from x and its bits as they lie, which is one pass where a device fuses. */
function realKeys(g: GraphBuilder, x: Expr, descending: boolean): Expr {
  const zero = constant(g, "float32", 0, x.sizes);
  const number = (v: number): Expr => constant(g, "uint32", v, x.sizes);
  const [negative, positive, none] = descending ? [0, 0x7fffffff, 0x7fffffff] : [0xffffffff, 0x80000000, 0x80000000];
  const mask = g.elementWiseIf(g.elementWiseLogicalLessThan(x, zero, BOOL), number(negative), number(positive));
  const key = g.elementWiseBitXor(g.reinterpret(x, { dtype: "uint32" }), mask);
  const ordered = g.elementWiseIf(g.elementWiseLogicalEquals(x, zero, BOOL), number(none), key);
  return g.elementWiseIf(g.elementWiseIsNan(x, BOOL), number(0xffffffff), ordered);
}

interface IndexAttributes {
  readonly axis: number;
  readonly descending: boolean;
  readonly dtype: IndexDType;
}

/** The index of the largest key up to each element, uint32; of equal keys the last index. */
function emitIndices(g: GraphBuilder, keys: Expr, axis: number): Expr {
  const { sizes } = keys;
  const own = g.packed(alongAxis(g, sequence(g, "uint32", [sizes[axis]!]), sizes, axis));
  const largest = emitRunningMaximum(g, keys, axis);
  if (largest !== null) {
    const hits = g.elementWiseIf(g.elementWiseLogicalEquals(keys, largest, BOOL), own, constant(g, "uint32", 0, sizes));
    return emitRunningMaximum(g, hits, axis)!;
  }
  const [, indices] = emitScan(g, [keys, own], {
    axis,
    identity: [0, 0],
    combine: ([k0, p0], [k1, p1]) => {
      const stays = g.elementWiseLogicalGreaterThan(k0!, k1!, BOOL);
      return [g.elementWiseIf(stays, k0!, k1!), g.elementWiseIf(stays, p0!, p1!)];
    },
  });
  return indices!;
}

/** The running extremes and their indices. */
const runningOp = define<IndexAttributes>({
  name: "cummax",
  batched: axisBehindBatch,
  infer: ([x], { dtype }) => [x!, { shape: x!.shape, dtype }],
  lower: (g, [x], { axis, descending, dtype }) => {
    const indices = emitIndices(g, g.packed(unsignedKeys(g, x!, descending)), axis);
    return [g.gatherElements(x!, indices, { output: { sizes: x!.sizes }, axis }), asIndex(g, indices, dtype)];
  },
  grad: (dy, { specs: [x], outputs: [, indices], attrs: { axis } }) => [sumElements(dy, indices!, axis, x!.shape)],
  saves: { inputs: [], outputs: [1] },
  padded: asItIs,
});

/** Options of cummax() and cummin(). Reference: torch.cummax. */
export interface RunningOptions {
  /** The dtype of the indices. Default: int32. */
  readonly dtype?: IndexDType | undefined;
}

function running(operation: string, x: Tensor, axis: number, descending: boolean, { dtype = "int32" }: RunningOptions): Extremes {
  computing(operation, x.dtype);
  const a = normalizeAxis(operation, axis, x.rank);
  const [values, indices] = dispatch(runningOp, [x], { axis: a, descending, dtype });
  return { values: values!, indices: indices! };
}

/**
 * The largest element up to each one along an axis, and its index (the last of equal ones): {values, indices}. NaN wins.
 * DirectML: MAX_POOLING2 where its windows take one pass, else compositions of SLICE1, PADDING1 and IF in log2(n) steps. Reference: torch.cummax.
 */
export const cummax = (x: Tensor, axis: number, options: RunningOptions = {}): Extremes => running("cummax", x, axis, false, options);
/** The smallest element up to each one along an axis, and its index: {values, indices}. NaN wins. Reference: torch.cummin. */
export const cummin = (x: Tensor, axis: number, options: RunningOptions = {}): Extremes => running("cummin", x, axis, true, options);

interface LogSumAttributes {
  readonly axis: number;
  readonly reverse: boolean;
}

/** log(exp(a) + exp(b)) without overflow, for infinities too. */
function logAddExp(g: GraphBuilder, a: Expr, b: Expr): Expr {
  const larger = g.elementWiseIf(g.elementWiseLogicalGreaterThan(a, b, BOOL), a, b);
  const apart = g.elementWiseAbs(g.elementWiseSubtract(a, b));
  const distance = g.elementWiseIf(g.elementWiseLogicalEquals(a, b, BOOL), constant(g, a.dtype, 0, a.sizes), apart);
  const ratio = g.elementWiseExp(distance, { scaleBias: [-1, 0] });
  return g.elementWiseAdd(larger, g.elementWiseLog(ratio, { scaleBias: [1, 1] }));
}

const logCumsumExpOp: Definition<LogSumAttributes> = define<LogSumAttributes>({
  name: "logcumsumexp",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, reverse }) => {
    const wide = g.packed(cast(g, x!, "float32"));
    const [sum] = emitScan(g, [wide], { axis, reverse, identity: [-Infinity], combine: ([a], [b]) => [logAddExp(g, a!, b!)] });
    return [cast(g, sum!, x!.dtype)];
  },
  padded: (_g, [x], { axis, reverse }, _outputs, p, lower) => lower([reverse && p.isPadded(0, axis) ? p.filled(0, -Infinity) : x!]),
  /*
   * dx[j] is the sum over i from j on of dy[i] exp(x[j] - y[i]). Since y never falls on its way, the sum of dy[i] exp(y[j] - y[i]) is a
   * recurrence whose factors are at most 1: nothing overflows.
   */
  grad: (dy, { inputs: [x], outputs: [y], attrs: { axis, reverse } }) => {
    if (x!.rank === 0) return [dy];
    if (isGradEnabled()) return [logSumGradient(dy, x!, y!, axis, reverse)];
    const n = x!.shape[axis]!;
    const [here, next] = reverse ? ([1, 0] as const) : ([0, 1] as const);
    const steps = apart(narrow(y!, axis, here, n - 1), narrow(y!, axis, next, n - 1));
    const none = zeros(
      x!.shape.map((d, i) => (i === axis ? 1 : d)),
      { dtype: dy.dtype, device: dy.device },
    );
    const factors = exp(cat(reverse ? [none, steps] : [steps, none], axis));
    // Of an infinite element it is NaN, and a gradient that is NaN counts as none, as in PyTorch.
    const known = where(eq(dy, dy), dy, scalarTensor(dy.device, dy.dtype, 0));
    return [mul(exp(sub(x!, y!)), recurrence(factors, known, axis, !reverse))];
  },
});

/** The same by PyTorch's formula, of which the second derivative is made: logarithms of the positive and of the negative gradients are summed. */
function logSumGradient(dy: Tensor, x: Tensor, y: Tensor, axis: number, reverse: boolean): Tensor {
  const size = log(abs(dy));
  const none = scalarTensor(dy.device, dy.dtype, -largestOf(dy.dtype));
  const part = (isTaken: Tensor): Tensor => {
    const terms = sub(where(isTaken, size, none), y);
    return exp(add(call(logCumsumExpOp, [terms], { axis, reverse: !reverse }), x));
  };
  return sub(part(gt(dy, 0)), part(lt(dy, 0)));
}

/** a - b, 0 where both are infinite alike. */
const apart = (a: Tensor, b: Tensor): Tensor => where(eq(a, b), scalarTensor(a.device, a.dtype, 0), sub(a, b));

/** log of the running sum of exp(x) along an axis, without overflow. x: floating. Reference: torch.logcumsumexp. */
export function logcumsumexp(x: Tensor, axis: number): Tensor {
  requireFloat("logcumsumexp", x);
  return call(logCumsumExpOp, [x], { axis: normalizeAxis("logcumsumexp", axis, x.rank), reverse: false });
}

export const methods = { cummax, cummin, logcumsumexp };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "running extremes", [distinct([3, 5])], (x) => [cummax(x!, 1).values, cummin(x!, 0).values]),
  sample("normalized", "running logarithms of sums", [real([3, 5])], (x) => logcumsumexp(x!, 1)),
];
