/** Matrix multiplication. Transposed and strided operands are read in place by DirectML's GEMM. */
import { matmulAxes } from "../../core/padded-axes.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { batchedMatmulShader, matmulShader } from "../../shader/kernels/select-gemm.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { asResult, call, requireSameDevice } from "../../dispatch/dispatch.ts";
import type { BatchedCall } from "../../core/batching.ts";
import { DTYPES, isFloat, isInteger, type DType } from "../../core/dtype.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { broadcastShapes, isBroadcastableTo, sameShape, showShape, sizeOf, viewStrides, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { add, mul } from "../elementwise/binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { define } from "../../core/definition.ts";
import { reshape, transpose, expand } from "../shape/movement.ts";
import { emitIntegerMatmul } from "./integer-matmul.ts";
import { sumTo } from "../declare/support.ts";
import { spreadBehind } from "../shape/batched-channels.ts";

interface Side {
  readonly x: Expr;
  readonly transform: "NONE" | "TRANSPOSE";
}

/** A matrix whose rows lie densely as it is; one whose columns do, as the transpose of a dense one. */
function side(g: GraphBuilder, x: Expr): Side {
  const rank = x.sizes.length;
  if (x.sizes[rank - 1] === 1 || x.strides[rank - 1] === 1 || x.strides[rank - 2] !== 1) return { x, transform: "NONE" };
  const order = x.sizes.map((_, i) => (i < rank - 2 ? i : 2 * rank - 3 - i));
  return { x: g.transpose(x, order), transform: "TRANSPOSE" };
}

/** x [..., R, C], broadcast over `batch`, with four axes: by other strides where that is possible, else by a copy. */
function fourAxes(g: GraphBuilder, x: Expr, batch: Shape): Expr {
  const rank = x.sizes.length;
  const matrix = [x.sizes[rank - 2]!, x.sizes[rank - 1]!];
  const full = g.expand(x, [...batch, ...matrix]);
  if (batch.length <= 2) {
    const lead = 2 - batch.length;
    return g.reinterpret(full, {
      sizes: [...new Array<number>(lead).fill(1), ...full.sizes],
      strides: [...new Array<number>(lead).fill(0), ...full.strides],
    });
  }
  const merged = viewStrides(batch, full.strides.slice(0, -2), [sizeOf(batch)]);
  if (merged === null) return g.reshape(full, [1, sizeOf(batch), ...matrix]);
  return g.reinterpret(full, { sizes: [1, sizeOf(batch), ...matrix], strides: [0, merged[0]!, ...full.strides.slice(-2)] });
}

interface Scale {
  readonly alpha: number;
  readonly beta: number;
}

/** alpha * a b + beta * c over batches. The result has the sizes [batch..., M, N], packed. @package */
export function emitGemm(g: GraphBuilder, a: Expr, b: Expr, c: Expr | null, batch: Shape, { alpha, beta }: Scale): Expr {
  const [m, k] = a.sizes.slice(-2) as [number, number];
  const n = b.sizes[b.sizes.length - 1]!;
  const leadA = a.sizes.slice(0, -2);
  const shader = batch.length === 0 ? matmulShader(g, a, b, c, { alpha, beta }) : null;
  if (shader !== null) return shader;
  // One matrix for the whole batch: the batch becomes rows of one GEMM where the rows have one stride.
  if (c === null && b.sizes.length === 2 && sameShape(leadA, batch) && batch.length > 0) {
    const rows = sizeOf(batch) * m;
    const strides = viewStrides(a.sizes, a.strides, [rows, k]);
    const flat = strides === null ? g.reshape(a, [rows, k]) : g.reinterpret(a, { sizes: [rows, k], strides });
    return emitGemm(g, flat, b, null, [], { alpha, beta });
  }
  const several = c === null || beta === 0 ? batchedMatmulShader(g, a, b, batch, alpha) : null;
  if (several !== null) return several;
  const left = side(g, fourAxes(g, a, batch));
  const right = side(g, fourAxes(g, b, batch));
  const sizes = [...left.x.sizes.slice(0, 2), m, n];
  const bias =
    c === null || beta === 0
      ? null
      : fourAxes(
          g,
          g.expand(c, [m, n].length > c.sizes.length ? [...new Array<number>(2 - c.sizes.length).fill(1), ...c.sizes] : c.sizes),
          batch,
        );
  return g.gemm(left.x, right.x, {
    c: bias === null ? null : g.expand(bias, sizes),
    output: { sizes },
    transA: left.transform,
    transB: right.transform,
    alpha,
    beta: bias === null ? 0 : beta,
  });
}

/** Matmul of integers, exact in their own arithmetic (modulo 2^bits). */
const emitIntegers = (g: GraphBuilder, a: Expr, b: Expr, batch: Shape, dtype: DType): Expr =>
  emitIntegerMatmul(g, a, b, batch, dtype, (x, y) => emitGemm(g, x, y, null, batch, { alpha: 1, beta: 0 }));

const batchOf = (operation: string, a: Shape, b: Shape): number[] => broadcastShapes(operation, a.slice(0, -2), b.slice(0, -2));

/** Products of each sample: the batch is in front of both operands' own, which broadcast. */
function productOfBatch({ inputs: [a, b], isBatched, run }: BatchedCall<undefined>): readonly Tensor[] {
  const rank = Math.max(a!.rank - (isBatched[0] ? 1 : 0), b!.rank - (isBatched[1] ? 1 : 0));
  const front = (x: Tensor, own: boolean): Tensor => (own ? spreadBehind(x, rank + 1) : x);
  return run([front(a!, isBatched[0]!), front(b!, isBatched[1]!)], undefined);
}

/** a [B, ..., K] or [..., K] times the vectors b [B, K]. */
function matmulOfVector(a: Tensor, b: Tensor, isBatched: boolean, size: number): Tensor {
  const rows = isBatched ? a : expand(a, [size, ...a.shape]);
  const left = rows.rank === 2 ? reshape(rows, [size, 1, rows.shape[1]!]) : rows;
  const column = spreadBehind(reshape(b, [...b.shape, 1]), left.rank);
  return reshape(matmul(left, column), rows.shape.slice(0, -1));
}

/** a [..., M, K] b [..., K, N], both with at least two axes. */
const matmulOp = define({
  name: "matmul",
  batched: productOfBatch,
  infer: ([a, b]) => [{ shape: [...batchOf("matmul", a!.shape, b!.shape), a!.shape.at(-2)!, b!.shape.at(-1)!], dtype: a!.dtype }],
  lower: (g, [a, b], _, [out]) => {
    const batch = out!.shape.slice(0, -2);
    return [isFloat(out!.dtype) ? emitGemm(g, a!, b!, null, batch, { alpha: 1, beta: 0 }) : emitIntegers(g, a!, b!, batch, out!.dtype)];
  },
  grad: (dy, { inputs: [a, b], specs, needs }) => [
    needs[0] ? sumTo(matmul(dy, transpose(b!, -1, -2)), specs[0]!) : null,
    needs[1] ? weightGradient(a!, dy, specs[1]!.shape) : null,
  ],
  saves: { inputs: ([a, b]) => [...(b ? [0] : []), ...(a ? [1] : [])], outputs: false },
  padded: matmulAxes(0, 1, (rank) => rank - 2),
  multiplyAdds: ([a], _, [y]) => sizeOf(y!.shape) * a!.shape.at(-1)!,
  whenEmpty: 0,
});

/** a [..., K] b [K]: the vector as a column, without that axis afterwards. */
const vectorOp = define({
  name: "matmul",
  batched: ({ inputs: [a, b], isBatched, size, run }) =>
    isBatched[1] ? [matmulOfVector(a!, b!, isBatched[0]!, size)] : run([a!, b!], undefined),
  infer: ([a]) => [{ shape: a!.shape.slice(0, -1), dtype: a!.dtype }],
  lower: (g, [a, b], _, [out]) => {
    const length = b!.sizes[0]!;
    const left = a!.sizes.length === 1 ? g.reshape(a!, [1, length]) : a!;
    const column = g.reshape(b!, [length, 1]);
    const batch = left.sizes.slice(0, -2);
    const gemm = isFloat(out!.dtype)
      ? emitGemm(g, left, column, null, batch, { alpha: 1, beta: 0 })
      : emitIntegers(g, left, column, batch, out!.dtype);
    return [g.reinterpret(gemm, { sizes: out!.shape.length === 0 ? [1] : out!.shape })];
  },
  grad: (dy, { inputs: [a, b], needs }) => [
    needs[0] ? mul(reshape(dy, [...dy.shape, 1]), b!) : null,
    needs[1] ? (dy.rank === 0 ? mul(dy, a!) : matmul(transpose(asRows(a!), 0, 1), reshape(dy, [dy.size]))) : null,
  ],
  saves: { inputs: ([a, b]) => [...(b ? [0] : []), ...(a ? [1] : [])], outputs: false },
  padded: matmulAxes(0, 1, () => 0),
  multiplyAdds: ([a]) => sizeOf(a!.shape),
  whenEmpty: 0,
});

/** The gradient of b in a b: a^T dy, summed over the batch where b has none, in one GEMM. */
function weightGradient(a: Tensor, dy: Tensor, shape: Shape): Tensor {
  if (shape.length === 2 && a.rank > 2 && sameShape(a.shape.slice(0, -1), dy.shape.slice(0, -1)))
    return matmul(transpose(asRows(a), 0, 1), asRows(dy));
  return sumTo(matmul(transpose(a, -1, -2), dy), { shape });
}

/** [..., C] as [rows, C]. */
const asRows = (x: Tensor): Tensor => (x.rank === 2 ? x : reshape(x, [sizeOf(x.shape.slice(0, -1)), x.shape.at(-1)!]));

function requireMatmul(operation: string, a: Tensor, b: Tensor, name = "b"): void {
  requireSameDevice(operation, [a, b]);
  if (a.dtype !== b.dtype) throw new DTypeError(operation, name, `of a's dtype ${a.dtype}`, b.dtype);
  if (!DTYPES[a.dtype].computes || a.dtype === "bool")
    throw new DTypeError(operation, "a and b", "of a number type that computes", a.dtype);
}

function requireRank(operation: string, argument: string, x: Tensor, rank: number): void {
  if (x.rank !== rank) throw new ShapeError(operation, argument, `of ${rank} ${rank === 1 ? "axis" : "axes"}`, x.describe());
}

const requireInner = (operation: string, a: Tensor, b: Tensor, inner: number): void => {
  if (a.shape.at(-1) !== inner)
    throw new ShapeError(
      operation,
      "last axis of a",
      `equal to ${b.rank > 1 ? "the second to last of b" : "b's length"} (${inner})`,
      `a ${a.describe()}, b ${b.describe()}`,
    );
};

/** Whether the rows of x [..., C] have one stride, as those of one matrix. */
const hasEvenRows = (x: Tensor): boolean => viewStrides(x.shape, x.strides, [x.size / x.shape.at(-1)!, x.shape.at(-1)!]) !== null;

const copied = (x: Tensor): Tensor => call(contiguousOp, [x], undefined);

/**
 * a and b as matmul saves them for the gradients. Where PyTorch has to copy a stack of matrices for the matmul with one matrix, the
 * copy is what it saves: writing into the stack afterwards is no error, and changes no gradient.
 */
function kept(a: Tensor, b: Tensor): [Tensor, Tensor] {
  if (!isGradEnabled() || a.size === 0 || b.size === 0 || a.rank < 3 === b.rank < 3) return [a, b];
  if (b.rank < 3) return [b.requiresGrad && !hasEvenRows(a) ? copied(a) : a, b];
  return [a, a.requiresGrad && !hasEvenRows(transpose(b, -1, -2)) ? copied(b) : b];
}

/**
 * The matrix product with PyTorch's rules: vectors are rows on the left and columns on the right and lose that axis again; axes
 * before the last two are batches and broadcast.
 *
 * a: [K] or [..., M, K]; b: [K] or [..., K, N]; of one dtype. Result: [..., M, N] without the axes that vectors lack.
 * Integers are multiplied and added exactly, modulo 2^bits. Throws ShapeError when the inner lengths differ, DTypeError for bool,
 * float64, bfloat16 and mixed dtypes. DirectML: GEMM; for integers by digits of eight bits, or by size MULTIPLY and REDUCE. Reference: torch.matmul.
 * @autocast lower
 */
export function matmul(a: Tensor, b: Tensor): Tensor {
  requireMatmul("matmul", a, b);
  if (a.rank === 0 || b.rank === 0) throw new ShapeError("matmul", a.rank === 0 ? "a" : "b", "of at least one axis", "a scalar");
  requireInner("matmul", a, b, b.rank === 1 ? b.shape[0]! : b.shape.at(-2)!);
  if (b.rank === 1) return call(vectorOp, kept(a, b), undefined);
  if (a.rank > 1) return call(matmulOp, kept(a, b), undefined);
  const row = call(matmulOp, kept(reshape(a, [1, a.shape[0]!]), b), undefined);
  return asResult(reshape(row, [...row.shape.slice(0, -2), row.shape.at(-1)!]));
}

/** a [M, K] times b [K, N]. Errors as for matmul, and for other ranks. DirectML: GEMM. Reference: torch.mm. @autocast lower */
export function mm(a: Tensor, b: Tensor): Tensor {
  requireRank("mm", "a", a, 2);
  requireRank("mm", "b", b, 2);
  return matmul(a, b);
}

/** a [B, M, K] times b [B, K, N], batch by batch. Nothing broadcasts. DirectML: GEMM. Reference: torch.bmm. @autocast lower */
export function bmm(a: Tensor, b: Tensor): Tensor {
  requireRank("bmm", "a", a, 3);
  requireRank("bmm", "b", b, 3);
  if (a.shape[0] !== b.shape[0]) throw new ShapeError("bmm", "b", `of a's batch (${a.shape[0]})`, b.describe());
  return matmul(a, b);
}

/** a [M, K] times the vector b [K]. DirectML: GEMM. Reference: torch.mv. @autocast lower */
export function mv(a: Tensor, b: Tensor): Tensor {
  requireRank("mv", "a", a, 2);
  requireRank("mv", "b", b, 1);
  return matmul(a, b);
}

/** Sum of a * b for two vectors [K], as a scalar. DirectML: GEMM. Reference: torch.dot. @autocast widest */
export function dot(a: Tensor, b: Tensor): Tensor {
  requireRank("dot", "a", a, 1);
  requireRank("dot", "b", b, 1);
  return matmul(a, b);
}

/** The outer product [M, N] of a [M] and b [N]. DirectML: ELEMENT_WISE_MULTIPLY. Reference: torch.outer. */
export function outer(a: Tensor, b: Tensor): Tensor {
  requireRank("outer", "a", a, 1);
  requireRank("outer", "b", b, 1);
  return mul(reshape(a, [a.shape[0]!, 1]), b);
}

const addmmOp = define<Scale>({
  name: "addmm",
  batched: ({ attrs: { alpha, beta }, full }) => {
    const [c, a, b] = [full(0), full(1), full(2)];
    return [add(mul(matmul(a, b), alpha), mul(spreadBehind(c, 3), beta))];
  },
  infer: ([, a, b]) => [{ shape: [...a!.shape.slice(0, -1), b!.shape.at(-1)!], dtype: a!.dtype }],
  lower: (g, [c, a, b], scale, [out]) => [emitGemm(g, a!, b!, c!, out!.shape.slice(0, -2), scale)],
  grad: (dy, { inputs: [, a, b], specs, needs, attrs: { alpha, beta } }) => {
    const scaled = (x: Tensor, by: number): Tensor => (by === 1 ? x : mul(x, by));
    return [
      needs[0] ? scaled(sumTo(dy, specs[0]!), beta) : null,
      needs[1] ? scaled(matmul(dy, transpose(b!, -1, -2)), alpha) : null,
      needs[2] ? scaled(matmul(transpose(a!, -1, -2), dy), alpha) : null,
    ];
  },
  saves: { inputs: ([, a, b]) => [...(b ? [1] : []), ...(a ? [2] : [])], outputs: false },
  padded: matmulAxes(1, 2, (rank) => rank - 2),
  multiplyAdds: ([, a], _, [y]) => sizeOf(y!.shape) * a!.shape.at(-1)!,
});

function addMatmul(
  operation: string,
  c: Tensor,
  a: Tensor,
  b: Tensor,
  { alpha = 1, beta = 1 }: { readonly alpha?: number | undefined; readonly beta?: number | undefined },
): Tensor {
  requireMatmul(operation, a, b);
  requireMatmul(operation, a, c, "c");
  requireInner(operation, a, b, b.shape.at(-2)!);
  const shape = [...a.shape.slice(0, -1), b.shape.at(-1)!];
  if (!isBroadcastableTo(c.shape, shape)) throw new ShapeError(operation, "c", `broadcastable to ${showShape(shape)}`, c.describe());
  const scale = isInteger(a.dtype) ? a.dtype : "float32";
  requireRepresentable(operation, "alpha", scale, alpha);
  requireRepresentable(operation, "beta", scale, beta);
  if (isInteger(a.dtype) || sizeOf(shape) === 0 || a.shape.at(-1) === 0) {
    const ab = matmul(a, b);
    const factor = (x: Tensor, by: number): Tensor => (by === 1 ? x : mul(x, isInteger(x.dtype) ? Math.trunc(by) : by));
    return add(beta === 0 ? zerosLike(c) : factor(c, beta), factor(ab, alpha));
  }
  return call(addmmOp, [c, a, b], { alpha, beta });
}

/**
 * beta * c + alpha * a b. a: [M, K]; b: [K, N]; c: broadcastable to [M, N]. beta 0 leaves c out, whatever it holds.
 * DirectML: GEMM. Reference: torch.addmm. @autocast lower
 */
export function addmm(
  c: Tensor,
  a: Tensor,
  b: Tensor,
  options: {
    /** Factor of the matrix product. Default: 1. */
    readonly alpha?: number; /** Factor of what is added to it. Default: 1. */
    readonly beta?: number;
  } = {},
): Tensor {
  requireRank("addmm", "a", a, 2);
  requireRank("addmm", "b", b, 2);
  return addMatmul("addmm", c, a, b, options);
}

/** beta * c + alpha * a b for batches: a [B, M, K], b [B, K, N], c broadcastable to [B, M, N]. DirectML: GEMM. Reference: torch.baddbmm. @autocast lower */
export function baddbmm(
  c: Tensor,
  a: Tensor,
  b: Tensor,
  options: {
    /** Factor of the matrix product. Default: 1. */
    readonly alpha?: number; /** Factor of what is added to it. Default: 1. */
    readonly beta?: number;
  } = {},
): Tensor {
  requireRank("baddbmm", "a", a, 3);
  requireRank("baddbmm", "b", b, 3);
  if (a.shape[0] !== b.shape[0]) throw new ShapeError("baddbmm", "b", `of a's batch (${a.shape[0]})`, b.describe());
  return addMatmul("baddbmm", c, a, b, options);
}

/** x [..., I], weight [O, I] and, if there is one, bias [O]. */
const linearOp = define({
  name: "linear",
  batched: (batch) => {
    const { inputs: [x, w, bias], isBatched, run, full } = batch; // prettier-ignore
    if (!isBatched[1] && isBatched[2] !== true) return run(bias === undefined ? [x!, w!] : [x!, w!, bias], undefined);
    const rows = full(0);
    const [left, right] = [rows.rank === 2 ? reshape(rows, [rows.shape[0]!, 1, rows.shape[1]!]) : rows, transpose(w!, -1, -2)];
    const product = matmul(left, isBatched[1] ? spreadBehind(right, left.rank) : right);
    const y = reshape(product, [...rows.shape.slice(0, -1), product.shape.at(-1)!]);
    return [bias === undefined ? y : add(y, isBatched[2] ? spreadBehind(bias, y.rank) : bias)];
  },
  infer: ([x, w]) => [{ shape: [...x!.shape.slice(0, -1), w!.shape[0]!], dtype: x!.dtype }],
  lower: (g, [x, w, bias], _, [out]) => {
    const inner = x!.sizes.at(-1)!;
    const rows = sizeOf(x!.sizes) / inner;
    const strides = viewStrides(x!.sizes, x!.strides, [rows, inner]);
    const flat = strides === null ? g.reshape(x!, [rows, inner]) : g.reinterpret(x!, { sizes: [rows, inner], strides });
    return [
      g.reinterpret(emitGemm(g, flat, g.transpose(w!, [1, 0]), bias ?? null, [], { alpha: 1, beta: 1 }), {
        sizes: out!.shape.length === 0 ? [1] : out!.shape,
      }),
    ];
  },
  grad: (dy, { inputs: [x, w], specs, needs }) => {
    const rows = asRows(dy.rank === 1 ? reshape(dy, [1, dy.size]) : dy);
    const from = (): Tensor => asRows(x!.rank === 1 ? reshape(x!, [1, x!.size]) : x!);
    return [
      needs[0] ? matmul(dy, w!) : null,
      needs[1] ? matmul(transpose(rows, 0, 1), from()) : null,
      needs[2] ? sumTo(rows, specs[2]!) : null,
    ];
  },
  saves: { inputs: ([x, w]) => [...(w ? [0] : []), ...(x ? [1] : [])], outputs: false },
  padded: matmulAxes(0, 1, (rank) => rank - 1),
  multiplyAdds: ([x], _, [y]) => sizeOf(y!.shape) * x!.shape.at(-1)!,
});

/**
 * x W^T + bias. x: [..., I]; weight: [O, I]; bias: [O] or none. Result: [..., O].
 * DirectML: GEMM, the bias as its C. Reference: torch.nn.functional.linear.
 * @functional @autocast lower
 */
export function linear(x: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  if (weight.rank === 1) return single(x, weight, bias);
  requireRank("linear", "weight", weight, 2);
  requireMatmul("linear", x, weight, "weight");
  if (x.rank === 0 || x.shape.at(-1) !== weight.shape[1])
    throw new ShapeError(
      "linear",
      "last axis of x",
      `of weight's input length (${weight.shape[1]})`,
      `x ${x.describe()}, weight ${weight.describe()}`,
    );
  if (bias !== null) {
    requireMatmul("linear", x, bias, "bias");
    if (!sameShape(bias.shape, [weight.shape[0]!])) throw new ShapeError("linear", "bias", showShape([weight.shape[0]!]), bias.describe());
  }
  if (!isFloat(x.dtype) || x.size === 0 || weight.size === 0) {
    const y = matmul(x, transpose(weight, 0, 1));
    return bias === null ? y : add(y, bias);
  }
  const rows = kept(x, weight)[0];
  return call(linearOp, bias === null ? [rows, weight] : [rows, weight, bias], undefined);
}

/** The linear layer of one output, whose axis the result lacks: weight [I], bias a scalar. */
function single(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  if (bias !== null && bias.rank > 0) throw new ShapeError("linear", "bias", "a scalar, as weight has one axis", bias.describe());
  const y = linear(x, reshape(weight, [1, weight.size]), bias === null ? null : reshape(bias, [1]));
  return reshape(y, y.shape.slice(0, -1));
}

export const methods = { matmul, mm, bmm, mv, dot, outer, addmm, baddbmm };
