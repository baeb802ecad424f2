/** Determinants. @package */
import { call, dispatch } from "../../dispatch/dispatch.ts";
import type { HostArray } from "../../core/definition.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import type { Tensor } from "../../core/tensor.ts";
import { lt } from "../elementwise/compare.ts";
import { mul } from "../elementwise/binary.ts";
import { unsqueeze } from "../shape/movement.ts";
import { where } from "../elementwise/where.ts";
import { invEx } from "./solve.ts";
import {
  batchOf,
  columns,
  countOf,
  defineHost,
  requireConverged,
  requireFinite,
  requireSquare,
  mT,
  storeColumns,
  rowsOf,
} from "./support.ts";

/** The diagonal of U, and whether the rows were exchanged an odd number of times. */
function diagonalOf(n: number, matrix: Float64Array): { readonly diagonal: Float64Array; readonly sign: number } {
  const pivots = new Int32Array(n);
  if (n > 0) engine().lu(n, n, matrix, pivots);
  const diagonal = Float64Array.from({ length: n }, (_, i) => matrix[i * n + i]!);
  return { diagonal, sign: pivots.reduce((s, p, i) => (p === i + 1 ? s : -s), 1) };
}

const detOp = defineHost({
  name: "linalg.det",
  infer: ([a]) => [{ shape: batchOf(a!.shape), dtype: a!.dtype }],
  host: ([a]) => {
    const n = rowsOf(a!.shape);
    const out = new Float64Array(countOf(a!.shape));
    out.forEach((_, i) => {
      const { diagonal, sign } = diagonalOf(n, columns(a!, i, n, n));
      out[i] = diagonal.reduce((p, x) => p * x, sign);
    });
    return [out];
  },
  grad: (dy, { inputs: [a] }) => [mul(unsqueeze(unsqueeze(dy, -1), -1), call(cofactorsOp, [a!], undefined))],
  saves: { outputs: false },
});

/** U, s, V^T, and the determinant of U V^T. */
function signedSvd(a: HostArray, i: number) {
  const n = rowsOf(a.shape);
  const { s, u, vt, info } = engine().svd(n, n, columns(a, i, n, n), "all");
  requireConverged("linalg.det", a, i, info);
  const product = multiplied(n, u, vt);
  const { diagonal, sign } = diagonalOf(n, product);
  return { s, u, vt, sign: Math.sign(diagonal.reduce((p, x) => p * x, sign)) };
}

function multiplied(n: number, a: Float64Array, b: Float64Array, transpose = { a: false, b: false }): Float64Array {
  const out = new Float64Array(n * n);
  for (let j = 0; j < n; j++)
    for (let i = 0; i < n; i++) {
      let total = 0;
      for (let k = 0; k < n; k++) total += (transpose.a ? a[i * n + k]! : a[k * n + i]!) * (transpose.b ? b[k * n + j]! : b[j * n + k]!);
      out[j * n + i] = total;
    }
  return out;
}

/** The product of all elements of s except i and j. */
function productWithout(s: Float64Array, i: number, j: number): number {
  let product = 1;
  for (let k = 0; k < s.length; k++) if (k !== i && k !== j) product *= s[k]!;
  return product;
}

/** The gradient of the determinant, for singular matrices too: by A = U diag(s) V^T it is det(U V^T) U diag(product of the others) V^T. */
const cofactorsOp = defineHost({
  name: "linalg.det",
  infer: ([a]) => [a!],
  host: ([a]) => {
    requireFinite("linalg.det", a!);
    const n = rowsOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    for (let b = 0; b < countOf(a!.shape) && n > 0; b++) {
      const { s, u, vt, sign } = signedSvd(a!, b);
      const scaled = u.map((x, at) => x * sign * productWithout(s, Math.floor(at / n), -1));
      storeColumns(out, b, n, n, multiplied(n, scaled, vt));
    }
    return [out];
  },
  grad: (dy, { inputs: [a] }) => [call(cofactorsGradientOp, [a!, dy], undefined)],
  saves: { outputs: false },
});

/** The determinant's second derivatives, which are products of the other s in the basis where A is diagonal, times a matrix G. */
const cofactorsGradientOp = defineHost({
  name: "linalg.det",
  infer: ([a]) => [a!],
  host: ([a, g]) => {
    requireFinite("linalg.det", a!);
    const n = rowsOf(a!.shape);
    const out = new Float64Array(a!.data.length);
    for (let b = 0; b < countOf(a!.shape) && n > 0; b++) {
      const { s, u, vt, sign } = signedSvd(a!, b);
      const inner = multiplied(n, multiplied(n, u, columns(g!, b, n, n), { a: true, b: false }), vt, { a: false, b: true });
      const result = new Float64Array(n * n);
      for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++) {
          if (i === j) continue;
          const others = sign * productWithout(s, i, j);
          result[i * n + i]! += others * inner[j * n + j]!;
          result[j * n + i]! -= others * inner[i * n + j]!;
        }
      storeColumns(out, b, n, n, multiplied(n, multiplied(n, u, result), vt));
    }
    return [out];
  },
  grad: null,
});

/**
 * The determinants of square matrices [..., n, n]; 1 for n = 0. First and second gradients hold for singular matrices too. Runs on the
 * host: LAPACK getrf; gesdd for gradients. Reference: torch.linalg.det.
 */
export function det(a: Tensor): Tensor {
  requireSquare("linalg.det", a);
  return call(detOp, [a], undefined);
}

/** sign, logabsdet */
const slogdetOp = defineHost({
  name: "linalg.slogdet",
  infer: ([a]) => {
    const each = { shape: batchOf(a!.shape), dtype: a!.dtype };
    return [each, each];
  },
  host: ([a]) => {
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const [signs, logs] = [new Float64Array(count), new Float64Array(count)];
    for (let i = 0; i < count; i++) {
      const { diagonal, sign } = diagonalOf(n, columns(a!, i, n, n));
      signs[i] = diagonal.reduce((p, x) => p * Math.sign(x), sign);
      logs[i] = diagonal.reduce((t, x) => t + Math.log(Math.abs(x)), 0);
    }
    return [signs, logs];
  },
  grad: (_, { inputs: [a], dys: [, dlog] }) => [dlog == null ? null : mul(unsqueeze(unsqueeze(dlog, -1), -1), mT(invEx(a!).inverse))],
  saves: { outputs: false },
});

/**
 * The signs of the determinants and the logarithms of their absolute values: 0 and -Infinity for a singular matrix. Gradient of the logarithm:
 * A^-T, NaN for a singular matrix. Runs on the host: LAPACK getrf. Reference: torch.linalg.slogdet.
 */
export function slogdet(a: Tensor): { readonly sign: Tensor; readonly logabsdet: Tensor } {
  requireSquare("linalg.slogdet", a);
  const [sign, logabsdet] = dispatch(slogdetOp, [a], undefined);
  return { sign: sign!, logabsdet: logabsdet! };
}

/** The logarithms of the determinants: NaN for negative ones, -Infinity for 0. Reference: torch.logdet. */
export function logdet(a: Tensor): Tensor {
  const { sign, logabsdet } = slogdet(a);
  return where(lt(sign, 0), NaN, logabsdet);
}
