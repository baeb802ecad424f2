/** Matmul of integers, exact modulo 2^bits, which DirectML has no operator for. @package */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { cast, constant, cut } from "../declare/support.ts";

/** Up to this many multiplications are one elementwise product and a sum: that needs less time and memory than GEMMs of digits. */
const MAX_MULTIPLICATIONS = 2 ** 20;
/** Digits are -128 to 127: float32 is exact for the sum of up to this many products of digits. */
const LONGEST = 1024;

/** a [..., M, K] b [..., K, N] over a common batch, as `gemm` multiplies float32 (a shader gives other axes than DirectML). The result has the batch's sizes and [M, N]. */
export function emitIntegerMatmul(
  g: GraphBuilder,
  a: Expr,
  b: Expr,
  batch: readonly number[],
  dtype: DType,
  gemm: (a: Expr, b: Expr) => Expr,
): Expr {
  const [m, k] = a.sizes.slice(-2) as [number, number];
  const n = b.sizes.at(-1)!;
  const wide: DType = DTYPES[dtype].sizeInBytes >= 4 ? dtype : "int32";
  const [x, y] = [cast(g, a, wide), cast(g, b, wide)];
  const made =
    sizeOf(batch) * m * n * k <= MAX_MULTIPLICATIONS
      ? bySums(g, x, y, batch)
      : byDigits(g, x, y, DTYPES[dtype].sizeInBytes, (p, q) => g.reinterpret(gemm(p, q), { sizes: [...batch, m, n] }));
  return cast(g, made, dtype);
}

/** The elementwise products, then their sums. */
function bySums(g: GraphBuilder, a: Expr, b: Expr, batch: readonly number[]): Expr {
  const [m, k] = a.sizes.slice(-2) as [number, number];
  const n = b.sizes.at(-1)!;
  const lead = (x: Expr): Expr => g.reshape(g.expand(x, [...batch, ...x.sizes.slice(-2)]), [sizeOf(batch), ...x.sizes.slice(-2)]);
  const sizes = [sizeOf(batch), m, n, k];
  const rows = g.reinterpret(g.packed(lead(a)), { sizes, strides: [m * k, k, 0, 1] });
  const columns = g.reinterpret(g.packed(lead(b)), { sizes, strides: [k * n, 0, 1, n] });
  const products = g.elementWiseMultiply(rows, columns);
  const sums = g.reduce(products, { function: "SUM", output: { sizes: [...sizes.slice(0, 3), 1], dtype: a.dtype }, axes: [3] });
  return g.reinterpret(sums, { sizes: [...batch, m, n] });
}

/** Digits of eight bits, for which GEMM in float32 is exact, combined with the integers' own arithmetic. `count`: the digits that matter. */
function byDigits(g: GraphBuilder, a: Expr, b: Expr, count: number, gemm: (a: Expr, b: Expr) => Expr): Expr {
  const { dtype } = a;
  const k = a.sizes.at(-1)!;
  const [left, right] = [digitsOf(g, a, count), digitsOf(g, b, count)];
  let total: Expr | null = null;
  const add = (sum: Expr | null, next: Expr): Expr => (sum === null ? next : g.elementWiseAdd(sum, next));
  for (let weight = 0; weight < count; weight++) {
    let sum: Expr | null = null;
    for (let i = 0; i <= weight; i++) {
      for (let start = 0; start < k; start += LONGEST) {
        const length = Math.min(LONGEST, k - start);
        const [x, y] = [left[i]!, right[weight - i]!];
        const part = gemm(cut(g, x, x.sizes.length - 1, start, length), cut(g, y, y.sizes.length - 2, start, length));
        sum = add(sum, g.reinterpret(cast(g, part, DTYPES[dtype].sizeInBytes === 8 ? "int64" : "int32"), { dtype }));
      }
    }
    const scale = DTYPES[dtype].sizeInBytes === 8 ? 1n << BigInt(8 * weight) : 2 ** (8 * weight);
    total = add(total, weight === 0 ? sum! : g.elementWiseMultiply(sum!, constant(g, dtype, scale, sum!.sizes)));
  }
  return total!;
}

/** Digits from -128 to 127 in float32, the lowest first. */
function digitsOf(g: GraphBuilder, x: Expr, count: number): Expr[] {
  const isLong = DTYPES[x.dtype].sizeInBytes === 8;
  const dtype: DType = isLong ? "uint64" : "uint32";
  const number = (n: number): Expr => constant(g, dtype, isLong ? BigInt(n) : n, x.sizes);
  let rest = g.reinterpret(g.packed(x), { dtype });
  return Array.from({ length: count }, (_, i) => {
    const raised = g.elementWiseAdd(rest, number(128));
    if (i < count - 1) rest = g.elementWiseBitShiftRight(raised, number(8));
    const digit = cast(g, g.elementWiseBitAnd(raised, number(255)), "float32");
    return g.elementWiseIdentity(digit, { scaleBias: [1, -128] });
  });
}
