/** Shared by decompositions and solvers: definitions that run on the host, checks of matrices, copies between row-major and column-major. @package */
import { define, type Definition, type HostArray } from "../../core/definition.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, LinAlgError, ShapeError } from "../../core/errors.ts";
import { hostOnly } from "../../runtime/fallback.ts";
import { broadcastShapes, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { eye } from "../creation/ranges.ts";
import { broadcastTo, transpose } from "../shape/movement.ts";
import { onLastAxes } from "../declare/batched.ts";

type HostDefinition<A> = Omit<Definition<A>, "traits" | "cache" | "lower" | "host" | "whenEmpty"> & {
  readonly host: NonNullable<Definition<A>["host"]>;
};

/** An operation that no device has: it runs on the host, and a function that is compiled with it runs eagerly. */
export const defineHost = <A = undefined>(definition: HostDefinition<A>): Definition<A> =>
  define<A>({
    // Matrices have a batch in front of their last two axes.
    batched: (batch) => {
      const ranks = batch.inputs.map((_, i) => batch.full(i).rank);
      return ranks.every((rank) => rank > 2 && rank === ranks[0]) ? onLastAxes(batch) : null;
    },
    ...definition,
    lower: () => {
      throw hostOnly(definition.name, "");
    },
  });

/** Throws unless x holds matrices of a dtype that LAPACK computes. */
export function requireMatrices(operation: string, x: Tensor, argument = "A"): void {
  if (x.rank < 2) throw new ShapeError(operation, argument, "matrices: of at least two axes", x.describe());
  requireReal(operation, x, argument);
}
export function requireReal(operation: string, x: Tensor, argument: string): void {
  if (x.dtype !== "float32" && x.dtype !== "float64")
    throw new DTypeError(operation, argument, "of dtype float32 or float64", x.describe());
}

/** Throws unless x holds square matrices; gives their order. */
export function requireSquare(operation: string, x: Tensor, argument = "A"): number {
  requireMatrices(operation, x, argument);
  const [m, n] = x.shape.slice(-2) as [number, number];
  if (m !== n) throw new ShapeError(operation, argument, "square matrices", x.describe());
  return n;
}

/** Throws unless b is like a in dtype and device. */
export function requireLike(operation: string, a: Tensor, b: Tensor, argument = "B"): void {
  requireSameDevice(operation, [a, b]);
  if (a.dtype !== b.dtype) throw new DTypeError(operation, argument, `of dtype ${a.dtype}`, b.describe());
}

export const batchOf = (shape: Shape): Shape => shape.slice(0, -2);
/** How many matrices there are in a shape. */
export const countOf = (shape: Shape): number => sizeOf(batchOf(shape));
export const rowsOf = (shape: Shape): number => shape.at(-2)!;
export const columnsOf = (shape: Shape): number => shape.at(-1)!;

/** The transposes of the matrices, a view. */
export const mT = (x: Tensor): Tensor => transpose(x, -2, -1);
export const eyeLike = (x: Tensor, rows: number, columns = rows): Tensor => eye(rows, columns, { dtype: x.dtype, device: x.device });

/** Both with the common shape of their batches. */
export function spread(operation: string, a: Tensor, b: Tensor): readonly [Tensor, Tensor] {
  const batch = broadcastShapes(operation, batchOf(a.shape), batchOf(b.shape));
  return [broadcastTo(a, [...batch, ...a.shape.slice(-2)]), broadcastTo(b, [...batch, ...b.shape.slice(-2)])];
}

/** The i-th matrix [m, n], column by column. */
export function columns({ data }: HostArray, i: number, m: number, n: number): Float64Array {
  const out = new Float64Array(m * n);
  const start = i * m * n;
  for (let r = 0; r < m; r++) for (let c = 0; c < n; c++) out[c * m + r] = data[start + r * n + c]!;
  return out;
}

/** Stores a column-major matrix [m, n] as the i-th row-major matrix of `out`. */
export function storeColumns(out: Float64Array, i: number, m: number, n: number, matrix: Float64Array): void {
  const start = i * m * n;
  for (let r = 0; r < m; r++) for (let c = 0; c < n; c++) out[start + r * n + c] = matrix[c * m + r]!;
}

/** The error of the i-th matrix of a batch. */
export const failure = (operation: string, { shape }: HostArray, i: number, info: number, problem: string): LinAlgError =>
  new LinAlgError(operation, shape.length > 2 ? i : null, info, problem);

/** Throws for a matrix with infinities or NaN, for which algorithms would not terminate. */
export function requireFinite(operation: string, x: HostArray): void {
  const each = rowsOf(x.shape) * columnsOf(x.shape);
  const at = (x.data as Float64Array).findIndex((v) => !Number.isFinite(v));
  if (at >= 0)
    throw failure(operation, x, Math.floor(at / each), 0, "the matrix holds infinities or NaN, so the algorithm would not converge");
}

/** Throws for a decomposition that did not converge. */
export function requireConverged(operation: string, x: HostArray, i: number, info: number): void {
  if (info === 0) return;
  throw failure(
    operation,
    x,
    i,
    info,
    `the algorithm did not converge: the matrix is ill-conditioned, or has too many equal values (${info})`,
  );
}

/** The distance from 1 to the next number of a dtype. */
export const epsilonOf = (dtype: string): number => (dtype === "float64" ? 2 ** -52 : 2 ** -23);
