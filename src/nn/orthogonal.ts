/** Orthogonal matrices of any ones: the module behind parametrizations.orthogonal(). @package */
import { noGrad } from "../autograd/grad-mode.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { eye, tril } from "../ops/creation/ranges.ts";
import { zeros } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { copyInto } from "../ops/data/copy.ts";
import { clone } from "../ops/data/state.ts";
import { add, div, mul, sub } from "../ops/elementwise/binary.ts";
import { eq, le } from "../ops/elementwise/compare.ts";
import { abs } from "../ops/elementwise/unary.ts";
import { where } from "../ops/elementwise/where.ts";
import { matrixExp } from "../ops/linalg/functions.ts";
import { geqrf, householderProduct } from "../ops/linalg/qr.ts";
import { solve } from "../ops/linalg/solve.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import { randn, type Generator as RandomGenerator } from "../ops/random/random.ts";
import { amax } from "../ops/reduce/extrema.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { cat } from "../ops/shape/join.ts";
import { diagonal, expand, narrow, transpose, unsqueeze } from "../ops/shape/movement.ts";
import { Module } from "./module.ts";

/** How an orthogonal matrix is made of any one. */
export type OrthogonalMap = "matrix_exp" | "cayley" | "householder";

const across = (x: Tensor): Tensor => transpose(x, -1, -2);
const diagonalOf = (x: Tensor): Tensor => diagonal(x, { axis0: -2, axis1: -1 });
const identityLike = (x: Tensor, n: number, k = n): Tensor => eye(n, k, { dtype: x.dtype, device: x.device });

/** The Q of a QR decomposition whose R has a positive diagonal. */
function orthogonalized(x: Tensor): Tensor {
  const { a, tau } = geqrf(x);
  return mul(householderProduct(a, tau), unsqueeze(diagonalOf(a).sign(), -2));
}

/** The matrix itself where its columns are orthonormal, within rounding; else orthogonalized. */
function nearest(q: Tensor): Tensor {
  const n = q.shape.at(-2)!;
  const identity = identityLike(q, n);
  const tolerance = 10 * n * (q.dtype === "float32" ? 2 ** -23 : 2 ** -10);
  const excess = sub(abs(sub(matmul(across(q), q), identity)), add(mul(identity, 1e-5), tolerance));
  return where(le(amax(excess), 0), q, orthogonalized(q));
}

/** Of any matrix X an orthogonal one, of the map's kind. */
export class Orthogonal extends Module {
  readonly map: OrthogonalMap;
  readonly hasBase: boolean;
  readonly generator: RandomGenerator | undefined;

  constructor(map: OrthogonalMap, hasBase: boolean, generator: RandomGenerator | undefined) {
    super();
    this.map = map;
    this.hasBase = hasBase;
    this.generator = generator;
    // No formula gives the X of a matrix.
    if (!hasBase && map !== "householder") Object.defineProperty(this, "rightInverse", { value: undefined });
  }

  forward(original: Tensor): Tensor {
    const isWide = original.shape.at(-2)! < original.shape.at(-1)!;
    const x = isWide ? across(original) : original;
    const mapped = this.map === "householder" ? this.reflections(x) : this.ofSkew(x);
    const { base } = this as unknown as { readonly base?: Tensor };
    const q = base === undefined ? mapped : matmul(base, mapped);
    return isWide ? across(q) : q;
  }

  /** Of a tall X: the product of the reflections below its diagonal, with the signs of the diagonal. */
  private reflections(x: Tensor): Tensor {
    const a = tril(x, -1);
    const tau = div(2, add(sum(mul(a, a), -2), 1));
    const signs = toDType(toDType(diagonalOf(x), "int32"), x.dtype);
    return mul(householderProduct(a, tau), unsqueeze(signs, -2));
  }

  /** Of a tall X: the exponential, or the Cayley map, of the skew-symmetric matrix of its lower triangle. */
  private ofSkew(x: Tensor): Tensor {
    const [n, k] = x.shape.slice(-2) as [number, number];
    const lower = tril(x);
    const square = n === k ? lower : cat([lower, zeros([...x.shape.slice(0, -2), n, n - k], { dtype: x.dtype, device: x.device })], -1);
    const a = sub(square, across(square));
    const half = mul(a, 0.5);
    const identity = identityLike(a, n);
    const q = this.map === "matrix_exp" ? matrixExp(a) : solve(sub(identity, half), add(identity, half));
    return n === k ? q : narrow(q, -1, 0, k);
  }

  /** The X of a matrix; with a base, the base becomes the matrix and X one whose map is the identity. */
  rightInverse(value: Tensor): Tensor {
    return noGrad(() => {
      const [m, n] = value.shape.slice(-2) as [number, number];
      const isWide = m < n;
      const q = isWide ? across(value) : value;
      if (!this.hasBase) {
        const made = this.ofHouseholder(q);
        return isWide ? across(made) : made;
      }
      this.setBase(q);
      return clone(expand(mul(identityLike(value, m, n), -1), value.shape));
    });
  }

  private ofHouseholder(q: Tensor): Tensor {
    const { a, tau } = geqrf(q);
    const [n, k] = a.shape.slice(-2) as [number, number];
    const signs = diagonalOf(a).sign();
    // LAPACK gives zero for a reflection that it does not use.
    const used = where(eq(tau, 0), mul(signs, -1), signs);
    return where(eye(n, k, { dtype: "bool", device: a.device }), unsqueeze(used, -2), a);
  }

  private setBase(q: Tensor): void {
    const [n, k] = q.shape.slice(-2) as [number, number];
    const random = (): Tensor =>
      randn([...q.shape.slice(0, -2), n, n - k], { dtype: q.dtype, device: q.device, generator: this.generator });
    const base = outsideScopes(() => (n === k ? nearest(q) : orthogonalized(cat([q, random()], -1))));
    const { base: before } = this as unknown as { readonly base?: Tensor };
    if (before === undefined) this.registerBuffer("base", base);
    else copyInto("orthogonal", before, base);
  }
}
