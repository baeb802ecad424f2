/** Batched and chained matrix products: chains, batches summed, Kronecker and cross products. */
import { requireRepresentable } from "../../core/elements.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isHalf, isFloat, resultType } from "../../core/dtype.ts";
import { isBroadcastableTo, normalizeAxis, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { asResult } from "../../dispatch/dispatch.ts";
import { add, mul, mulReadLater, sub } from "../elementwise/binary.ts";
import { roll } from "../shape/join.ts";
import { addmm, dot, matmul } from "./matmul.ts";
import { movedim, reshape, unsqueeze } from "../shape/movement.ts";
import { roundedOnce, toDType } from "../data/conversion.ts";

interface Scale {
  readonly alpha?: number | undefined;
  readonly beta?: number | undefined;
}

const scaled = (x: Tensor, by: number): Tensor => (by === 1 ? x : mul(x, isFloat(x.dtype) ? by : Math.trunc(by)));

/** beta c + alpha product; c broadcasts to the shape of `product`, and is left out for a beta of 0. */
function addScaled(operation: string, c: Tensor, matmulResult: Tensor, { alpha = 1, beta = 1 }: Scale): Tensor {
  if (!isBroadcastableTo(c.shape, matmulResult.shape))
    throw new ShapeError(operation, "c", `broadcastable to ${showShape(matmulResult.shape)}`, c.describe());
  requireRepresentable(operation, "alpha", matmulResult.dtype, alpha);
  requireRepresentable(operation, "beta", matmulResult.dtype, beta);
  const right = scaled(matmulResult, alpha);
  return beta === 0 ? right : add(scaled(c, beta), right);
}

function requireLike(operation: string, a: Tensor, t: Tensor, argument: string): void {
  if (t.dtype !== a.dtype) throw new DTypeError(operation, argument, `of a's dtype ${a.dtype}`, t.describe());
}

function requireRank(operation: string, argument: string, x: Tensor, rank: number): void {
  if (x.rank !== rank) throw new ShapeError(operation, argument, `of ${rank} axes`, x.describe());
}

/** beta c + alpha times the sum of a [B, M, K] times b [B, K, N] over the batch, as one GEMM. DirectML: GEMM. Reference: torch.addbmm. @autocast lower */
export function addbmm(c: Tensor, a: Tensor, b: Tensor, { alpha = 1, beta = 1 }: Scale = {}): Tensor {
  requireRank("addbmm", "a", a, 3);
  requireRank("addbmm", "b", b, 3);
  const [batch, m, k] = a.shape as [number, number, number];
  if (b.shape[0] !== batch || b.shape[1] !== k) throw new ShapeError("addbmm", "b", `[${batch}, ${k}, N]`, b.describe());
  const left = reshape(movedim(a, 0, 1), [m, batch * k]);
  const right = reshape(b, [batch * k, b.shape[2]!]);
  return addmm(c, left, right, { alpha, beta });
}

/** beta c + alpha times a matrix times a vector. DirectML: GEMM. Reference: torch.addmv. @autocast lower */
export function addmv(c: Tensor, a: Tensor, b: Tensor, options: Scale = {}): Tensor {
  requireRank("addmv", "a", a, 2);
  requireRank("addmv", "b", b, 1);
  requireLike("addmv", a, c, "c");
  return roundedOnce([c, a, b], (z, x, y) => addScaled("addmv", z!, matmul(x!, y!), options));
}

/** beta c + alpha times the outer product of two vectors. Reference: torch.addr. @autocast lower */
export function addr(c: Tensor, a: Tensor, b: Tensor, { alpha = 1, beta = 1 }: Scale = {}): Tensor {
  requireRank("addr", "a", a, 1);
  requireRank("addr", "b", b, 1);
  const outerOf = (x: Tensor, y: Tensor): Tensor => mul(unsqueeze(x, 1), y);
  if (resultType([c, a, b]) !== "bool") return roundedOnce([c, a, b], (z, x, y) => addScaled("addr", z!, outerOf(x!, y!), { alpha, beta }));
  const outer = outerOf(a, b);
  // Products and sums of truth values are and, or.
  const right = alpha === 0 ? mul(outer, false) : outer;
  return beta === 0 ? right : add(c, right);
}

/** The dot product of two real vectors. Reference: torch.vdot. @autocast widest */
export const vdot = (a: Tensor, b: Tensor): Tensor => dot(a, b);

/**
 * The product of several matrices in the order that costs least; the first and the last may be vectors. DirectML: GEMM.
 * Reference: torch.linalg.multi_dot. @autocast lower
 */
export function multiDot(...tensors: Tensor[]): Tensor {
  if (tensors.length < 2) throw new ValueError("multiDot", "tensors", "at least two", tensors.length);
  const last = tensors.length - 1;
  tensors.forEach((t, i) => {
    const fits = t.rank === 2 || (t.rank === 1 && (i === 0 || i === last));
    if (!fits) throw new ShapeError("multiDot", `tensors[${i}]`, i === 0 || i === last ? "a vector or a matrix" : "a matrix", t.describe());
  });
  const matrices = tensors.map((t, i) => (t.rank === 2 ? t : reshape(t, i === 0 ? [1, t.size] : [t.size, 1])));
  const sides = [matrices[0]!.shape[0]!, ...matrices.map((t) => t.shape[1]!)];
  // cost[i][j]: least multiplications for the product of i to j; cut[i][j]: after which to split.
  const cost = matrices.map(() => new Array<number>(matrices.length).fill(0));
  const cut = matrices.map(() => new Array<number>(matrices.length).fill(0));
  for (let length = 1; length < matrices.length; length++)
    for (let i = 0; i + length < matrices.length; i++) {
      const j = i + length;
      cost[i]![j] = Infinity;
      for (let k = i; k < j; k++) {
        const here = cost[i]![k]! + cost[k + 1]![j]! + sides[i]! * sides[k + 1]! * sides[j + 1]!;
        if (here < cost[i]![j]!) [cost[i]![j], cut[i]![j]] = [here, k];
      }
    }
  const chain = (i: number, j: number): Tensor => (i === j ? matrices[i]! : matmul(chain(i, cut[i]![j]!), chain(cut[i]![j]! + 1, j)));
  const whole = chain(0, last);
  return reshape(whole, [...(tensors[0]!.rank === 2 ? [whole.shape[0]!] : []), ...(tensors[last]!.rank === 2 ? [whole.shape[1]!] : [])]);
}
/** multiDot() by its older name. Reference: torch.chain_matmul. @autocast lower */
export const chainMatmul = (...tensors: Tensor[]): Tensor => (tensors.length === 1 ? tensors[0]! : multiDot(...tensors));

/** Every element of a times the whole of b, as blocks. Axes are aligned at the last. Reference: torch.kron. */
export function kron(a: Tensor, b: Tensor): Tensor {
  const rank = Math.max(a.rank, b.rank);
  const full = (t: Tensor): number[] => [...new Array<number>(rank - t.rank).fill(1), ...t.shape];
  const [x, y] = [full(a), full(b)];
  const left = reshape(
    a,
    x.flatMap((d) => [d, 1]),
  );
  const right = reshape(
    b,
    y.flatMap((d) => [1, d]),
  );
  const product = mulReadLater(left, right);
  return asResult(
    reshape(
      product,
      x.map((d, i) => d * y[i]!),
    ),
  );
}

/**
 * The cross product of vectors of three elements along an axis; the other axes broadcast. Without an axis the first of length 3 is taken.
 * Reference: torch.cross. @autocast widest
 */
export function cross(a: Tensor, b: Tensor, axis?: number): Tensor {
  if (a.rank !== b.rank) throw new ShapeError("cross", "b", `of ${a.rank} axes, like a`, b.describe());
  requireLike("cross", a, b, "b");
  const at = axis === undefined ? a.shape.findIndex((d, i) => d === 3 && b.shape[i] === 3) : normalizeAxis("cross", axis, a.rank);
  if (at < 0 || a.shape[at] !== 3 || b.shape[at] !== 3)
    throw new ShapeError("cross", "a and b", "of length 3 along the axis", `${a.describe()}, ${b.describe()}`);
  const { dtype } = a;
  // The two products nearly cancel: halves are multiplied in single precision.
  const inner = isHalf(dtype) ? "float32" : dtype;
  const [x, y] = [toDType(a, inner), toDType(b, inner)];
  const found = sub(mul(roll(x, -1, at), roll(y, -2, at)), mul(roll(x, -2, at), roll(y, -1, at)));
  return toDType(found, dtype);
}

export const methods = { addbmm, addmv, addr, vdot, kron, cross };
export const inPlaceMethods = { addbmm_: addbmm, addmv_: addmv, addr_: addr };
