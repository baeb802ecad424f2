/** Eigenvalues and eigenvectors. @package */
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { dispatch } from "../../dispatch/dispatch.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { diagEmbed } from "../shape/diagonals.ts";
import { div } from "../elementwise/division.ts";
import { cat } from "../shape/join.ts";
import { matmul } from "../matmul/matmul.ts";
import { diagonal, narrow, unsqueeze } from "../shape/movement.ts";
import { neg, square } from "../elementwise/unary.ts";
import { solve } from "./solve.ts";
import {
  columns,
  countOf,
  defineHost,
  requireConverged,
  requireFinite,
  requireSquare,
  eyeLike,
  mT,
  storeColumns,
  rowsOf,
} from "./support.ts";

/** eigenvalues, eigenvectors */
const eighOp = defineHost<{ readonly upper: boolean }>({
  name: "linalg.eigh",
  infer: ([a]) => [{ shape: a!.shape.slice(0, -1), dtype: a!.dtype }, a!],
  host: ([a], { upper }) => {
    requireFinite("linalg.eigh", a!);
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const values = new Float64Array(count * n);
    const vectors = new Float64Array(a!.data.length);
    for (let i = 0; i < count && n > 0; i++) {
      // Rows read as columns: the lower triangle of that is the upper one of A.
      const matrix = upper ? (a!.data.slice(i * n * n, (i + 1) * n * n) as Float64Array) : columns(a!, i, n, n);
      const w = values.subarray(i * n, (i + 1) * n);
      requireConverged("linalg.eigh", a!, i, engine().symmetricEigen(n, matrix, w));
      storeColumns(vectors, i, n, n, matrix);
    }
    return [values, vectors];
  },
  grad: (_, { outputs: [w, v], dys: [gw, gv] }) => [eighGradient(w!, v!, gw ?? null, gv ?? null)],
  saves: { inputs: [] },
});

/** The elements off the diagonals. */
const offDiagonal = (x: Tensor): Tensor => mul(x, sub(1, eyeLike(x, rowsOf(x.shape))));

function eighGradient(w: Tensor, v: Tensor, gw: Tensor | null, gv: Tensor | null): Tensor | null {
  if (gv === null) return gw === null ? null : matmul(mul(v, unsqueeze(gw, -2)), mT(v));
  const gap = add(sub(unsqueeze(w, -2), unsqueeze(w, -1)), eyeLike(w, w.shape.at(-1)!));
  const inner = offDiagonal(div(matmul(mT(v), gv), gap));
  return matmul(matmul(v, gw === null ? inner : add(inner, diagEmbed(gw))), mT(v));
}

/** Options of linalg.eigh() and linalg.eigvalsh(). Reference: torch.linalg.eigh. */
export interface EighOptions {
  /** The triangle of A that is read. Default: "L". */
  readonly uplo?: "L" | "U" | undefined;
}

/**
 * A = V diag(w) V^T of symmetric matrices [..., n, n]: ascending eigenvalues [..., n], orthonormal eigenvectors as columns, unique up to
 * their sign. Gradient: V (diag(dw) + (V^T dV) / (w_j - w_i)) V^T, infinite where eigenvalues are equal. Throws LinAlgError for infinities
 * and NaN. Runs on the host: LAPACK syevd. Reference: torch.linalg.eigh.
 */
export function eigh(a: Tensor, { uplo = "L" }: EighOptions = {}): { readonly eigenvalues: Tensor; readonly eigenvectors: Tensor } {
  requireSquare("linalg.eigh", a);
  const side = uplo.toUpperCase();
  if (side !== "L" && side !== "U") throw new ValueError("linalg.eigh", "uplo", '"L" or "U"', uplo);
  const [eigenvalues, eigenvectors] = dispatch(eighOp, [a], { upper: side === "U" });
  return { eigenvalues: eigenvalues!, eigenvectors: eigenvectors! };
}

/** The eigenvalues of symmetric matrices, ascending. Gradient: V diag(G) V^T. Reference: torch.linalg.eigvalsh. */
export const eigvalsh = (a: Tensor, options: EighOptions = {}): Tensor => eigh(a, options).eigenvalues;

/** Complex numbers inside of rules, of any dtype. */
interface ComplexPair {
  readonly real: Tensor;
  readonly imag: Tensor;
}

const complexMatmul = (a: ComplexPair, b: ComplexPair): ComplexPair => ({
  real: sub(matmul(a.real, b.real), matmul(a.imag, b.imag)),
  imag: add(matmul(a.real, b.imag), matmul(a.imag, b.real)),
});
const adjoint = ({ real, imag }: ComplexPair): ComplexPair => ({ real: mT(real), imag: neg(mT(imag)) });
const both = (x: ComplexPair, f: (part: Tensor) => Tensor): ComplexPair => ({ real: f(x.real), imag: f(x.imag) });
const plus = (a: ComplexPair, b: ComplexPair): ComplexPair => ({ real: add(a.real, b.real), imag: add(a.imag, b.imag) });

/** a^-1 b, by the real system of twice the order. */
function solved(a: ComplexPair, b: ComplexPair): ComplexPair {
  const n = rowsOf(a.real.shape);
  const system = cat([cat([a.real, neg(a.imag)], -1), cat([a.imag, a.real], -1)], -2);
  const x = solve(system, cat([b.real, b.imag], -2));
  return { real: narrow(x, -2, 0, n), imag: narrow(x, -2, n, n) };
}

/** eigenvalues and eigenvectors, each as real and imaginary part */
const eigOp = defineHost({
  name: "linalg.eig",
  infer: ([a]) => {
    const values = { shape: a!.shape.slice(0, -1), dtype: a!.dtype };
    return [values, values, a!, a!];
  },
  host: ([a]) => {
    requireFinite("linalg.eig", a!);
    const n = rowsOf(a!.shape);
    const count = countOf(a!.shape);
    const [re, im] = [new Float64Array(count * n), new Float64Array(count * n)];
    const [vectorsRe, vectorsIm] = [new Float64Array(a!.data.length), new Float64Array(a!.data.length)];
    for (let i = 0; i < count && n > 0; i++) {
      const found = engine().eigen(n, columns(a!, i, n, n));
      requireConverged("linalg.eig", a!, i, found.info);
      re.set(found.re, i * n);
      im.set(found.im, i * n);
      storeColumns(vectorsRe, i, n, n, found.vectorsRe);
      storeColumns(vectorsIm, i, n, n, found.vectorsIm);
    }
    return [re, im, vectorsRe, vectorsIm];
  },
  grad: (_, { outputs: [lr, li, vr, vi], dys: [glr, gli, gvr, gvi] }) => {
    const asComplex = (re: Tensor | null, im: Tensor | null): ComplexPair | null =>
      re === null && im === null ? null : { real: re ?? zerosLike(im!), imag: im ?? zerosLike(re!) };
    const gl = asComplex(glr ?? null, gli ?? null);
    const gv = asComplex(gvr ?? null, gvi ?? null);
    return [eigGradient({ real: lr!, imag: li! }, { real: vr!, imag: vi! }, gl, gv)];
  },
  saves: { inputs: [] },
});

/** Boeddeker, Hanebrink, Drude, Heymann and Haeb-Umbach, arXiv:1701.00392, equation 4.77, for vectors of length one. */
function eigGradient(l: ComplexPair, v: ComplexPair, gl: ComplexPair | null, gv: ComplexPair | null): Tensor | null {
  if (gl === null && gv === null) return null;
  const vh = adjoint(v);
  if (gv === null) {
    const scale = both(gl!, (x) => unsqueeze(x, -1));
    const scaled = {
      real: sub(mul(scale.real, vh.real), mul(scale.imag, vh.imag)),
      imag: add(mul(scale.real, vh.imag), mul(scale.imag, vh.real)),
    };
    return solved(vh, scaled).real;
  }
  const along = complexMatmul(vh, gv);
  const length = unsqueeze(diagonal(along.real, { axis0: -2, axis1: -1 }), -2);
  const moved = complexMatmul(
    vh,
    both(v, (x) => mul(x, length)),
  );
  const gap = both(l, (x) => sub(unsqueeze(x, -2), unsqueeze(x, -1)));
  // Divided by the conjugate of the gap: times the gap, by its square.
  const size = add(add(square(gap.real), square(gap.imag)), eyeLike(l.real, l.real.shape.at(-1)!));
  const rest = both({ real: sub(along.real, moved.real), imag: sub(along.imag, moved.imag) }, (x) => div(x, size));
  const inner = {
    real: sub(mul(rest.real, gap.real), mul(rest.imag, gap.imag)),
    imag: add(mul(rest.real, gap.imag), mul(rest.imag, gap.real)),
  };
  const middle =
    gl === null
      ? inner
      : plus(
          inner,
          both(gl, (x) => diagEmbed(x)),
        );
  return solved(vh, complexMatmul(middle, vh)).real;
}

/** The result of linalg.eig(). */
export interface Eigen {
  /** [..., N], complex. */
  readonly eigenvalues: ComplexTensor;
  /** [..., N, N], complex: one in each column. */
  readonly eigenvectors: ComplexTensor;
}

/**
 * A V = V diag(w) of real square matrices [..., n, n] of float32: complex eigenvalues [..., n] in no order (conjugate pairs are adjacent) and
 * eigenvectors as columns of norm 1, unique up to a factor of absolute value 1. Gradients are those of losses that do not depend on that factor. Throws
 * LinAlgError for infinities and NaN. Runs on the host: LAPACK geev. Reference: torch.linalg.eig.
 */
export function eig(a: Tensor): Eigen {
  requireSquare("linalg.eig", a);
  if (a.dtype !== "float32") throw new DTypeError("linalg.eig", "A", "of dtype float32: there is no complex128", a.describe());
  const [lr, li, vr, vi] = dispatch(eigOp, [a], undefined);
  return { eigenvalues: new ComplexTensor(lr!, li!), eigenvectors: new ComplexTensor(vr!, vi!) };
}

/** The eigenvalues of real square matrices, complex. Reference: torch.linalg.eigvals. */
export const eigvals = (a: Tensor): ComplexTensor => eig(a).eigenvalues;
