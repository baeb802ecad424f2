/** Least squares. @package */
import { dispatch } from "../../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { engine } from "../../runtime/lapack/engine.ts";
import { sameShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { empty } from "../creation/creation.ts";
import { dataSync } from "../data/conversion.ts";
import { matmul } from "../matmul/matmul.ts";
import { squeeze, unsqueeze } from "../shape/movement.ts";
import { neg } from "../elementwise/unary.ts";
import {
  batchOf,
  columns,
  countOf,
  defineHost,
  requireConverged,
  requireFinite,
  requireLike,
  requireMatrices,
  requireReal,
  epsilonOf,
  mT,
  spread,
} from "./support.ts";
import { pinv, pinvGradient } from "./svd.ts";

/** LAPACK's drivers: "gelsy" by QR with pivoting, "gels" by QR, "gelsd" and "gelss" by SVD. */
export type LstsqDriver = "gels" | "gelsy" | "gelsd" | "gelss";

interface LstsqAttributes {
  /** Singular values up to it times the largest count as zero. */
  readonly rcond: number;
}

/** solution, residuals, rank, singular values */
const lstsqOp = defineHost<LstsqAttributes>({
  name: "linalg.lstsq",
  infer: ([a, b]) => {
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = b!.shape.at(-1)!;
    const batch = batchOf(a!.shape);
    return [
      { shape: [...batch, n, k], dtype: a!.dtype },
      { shape: [...batch, k], dtype: a!.dtype },
      { shape: batch, dtype: "int32" },
      { shape: [...batch, Math.min(m, n)], dtype: a!.dtype },
    ];
  },
  host: ([a, b], { rcond }) => {
    requireFinite("linalg.lstsq", a!);
    const [m, n] = a!.shape.slice(-2) as [number, number];
    const k = b!.shape.at(-1)!;
    const min = Math.min(m, n);
    const count = countOf(a!.shape);
    const [solution, residuals] = [new Float64Array(count * n * k), new Float64Array(count * k)];
    const [ranks, values] = [new Int32Array(count), new Float64Array(count * min)];
    for (let i = 0; i < count && min === 0; i++)
      for (let r = 0; r < m; r++) for (let c = 0; c < k; c++) residuals[i * k + c]! += b!.data[i * m * k + r * k + c]! ** 2;
    for (let i = 0; i < count && min > 0; i++) {
      const matrix = columns(a!, i, m, n);
      const { s, u, vt, info } = engine().svd(m, n, matrix.slice(), "some");
      requireConverged("linalg.lstsq", a!, i, info);
      values.set(s, i * min);
      const rank = s.filter((x) => x > rcond * s[0]!).length;
      ranks[i] = rank;
      for (let c = 0; c < k; c++) {
        const right = Float64Array.from({ length: m }, (_, r) => b!.data[i * m * k + r * k + c]!);
        const x = new Float64Array(n);
        for (let p = 0; p < rank; p++) {
          let dot = 0;
          for (let r = 0; r < m; r++) dot += u[p * m + r]! * right[r]!;
          for (let j = 0; j < n; j++) x[j]! += (vt[j * min + p]! * dot) / s[p]!;
        }
        x.forEach((value, j) => {
          solution[i * n * k + j * k + c] = value;
        });
        for (let r = 0; r < m; r++) {
          let solved = 0;
          for (let j = 0; j < n; j++) solved += matrix[j * m + r]! * x[j]!;
          residuals[i * k + c]! += (solved - right[r]!) ** 2;
        }
      }
    }
    return [solution, residuals, ranks, values];
  },
  grad: (_, { inputs: [a, b], outputs: [x], dys: [dx, dr], attrs: { rcond }, needs }) => {
    const total = (one: Tensor | null, other: Tensor | null): Tensor | null => (one && other ? add(one, other) : (one ?? other));
    let da: Tensor | null = null;
    let db: Tensor | null = null;
    if (dx != null) {
      const inverse = pinv(a!, { rtol: rcond });
      if (needs[0]) da = pinvGradient(a!, inverse, matmul(dx, mT(b!)));
      if (needs[1]) db = matmul(mT(inverse), dx);
    }
    if (dr != null) {
      // Of ||A X - B||^2 at its least X, whose own change does not count.
      const rest = mul(mul(sub(matmul(a!, x!), b!), 2), unsqueeze(dr, -2));
      if (needs[0]) da = total(da, matmul(rest, mT(x!)));
      if (needs[1]) db = total(db, neg(rest));
    }
    return [da, db];
  },
  saves: { outputs: [0] },
});

/** Options of linalg.lstsq(). Reference: torch.linalg.lstsq. */
export interface LstsqOptions {
  /** Singular values up to rcond times the largest count as zero. Default: max(m, n) epsilon. "gels" assumes full rank. */
  readonly rcond?: number | null | undefined;
  /** LAPACK's routine, which decides what results there are. Default: "gelsy". */
  readonly driver?: LstsqDriver | null | undefined;
}

/** The result of linalg.lstsq(). */
export interface LeastSquares {
  /** [..., N, K]: the least squares solution. */
  readonly solution: Tensor;
  /** Sums of squares [..., k], with gradients, where m > n and A has full rank, but for gelsy; else empty. */
  readonly residuals: Tensor;
  /** int32; not for "gels". */
  readonly rank: Tensor;
  /** The singular values, for "gelsd" and "gelss". */
  readonly singularValues: Tensor;
}

/**
 * The X that minimizes ||A X - B||, with the least norm if there are several. A: [..., m, n]; B: [..., m, k], or vectors with A's batch. All drivers
 * use singular values here. Gradients of the solution, by those of the pseudo-inverse. Runs on the host: LAPACK gesdd.
 * Reference: torch.linalg.lstsq.
 */
export function lstsq(a: Tensor, b: Tensor, { rcond, driver }: LstsqOptions = {}): LeastSquares {
  const operation = "linalg.lstsq";
  requireMatrices(operation, a);
  requireReal(operation, b, "B");
  requireLike(operation, a, b);
  const name = driver ?? "gelsy";
  if (!["gels", "gelsy", "gelsd", "gelss"].includes(name))
    throw new ValueError(operation, "driver", '"gels", "gelsy", "gelsd" or "gelss"', name);
  const isVector = b.rank === a.rank - 1 && sameShape(b.shape, a.shape.slice(0, -1));
  const matrix = isVector ? unsqueeze(b, -1) : b;
  const [m, n] = a.shape.slice(-2) as [number, number];
  if (matrix.rank < 2 || matrix.shape.at(-2) !== m) throw new ShapeError(operation, "B", `[..., ${m}, K]`, b.describe());
  const [x, y] = spread(operation, a, matrix);
  const relative = name === "gels" ? 0 : (rcond ?? Math.max(m, n) * epsilonOf(a.dtype));
  const [solution, residuals, rank, singularValues] = dispatch(lstsqOp, [x, y], { rcond: relative }) as [Tensor, Tensor, Tensor, Tensor];
  const none = (dtype: Tensor["dtype"]): Tensor => empty([0], { dtype, device: a.device });
  const bySingularValues = name === "gelsd" || name === "gelss";
  // A compiled function runs eagerly in the end: what it traces has the shapes of full rank.
  const isFull = !bySingularValues || tracer() !== null || Array.from(dataSync(rank.detach()) as Int32Array).every((r) => r === n);
  const hasResiduals = m > n && name !== "gelsy" && isFull;
  return {
    solution: isVector ? squeeze(solution, -1) : solution,
    residuals: hasResiduals ? (isVector ? squeeze(residuals, -1) : residuals) : none(a.dtype),
    rank: name === "gels" ? none("int32") : rank,
    singularValues: bySingularValues ? singularValues.detach() : none(a.dtype),
  };
}
