/** A planned transform as nodes: GEMMs with matrices of cosines and sines, and elementwise products with factors. */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import { constant } from "../ops/declare/support.ts";
import type { Plan } from "./transform-plan.ts";
import { chirpTable, filterTable, matrixTable, stepTable } from "./transform-tables.ts";

/** Complex numbers as two expressions; without the imaginary one they are real. */
export interface ComplexExpr {
  readonly re: Expr;
  readonly im: Expr | null;
}

/** cos and sin of a table by its key. */
export type TableLookup = (key: string) => readonly [Expr, Expr];

export interface Emission {
  readonly g: GraphBuilder;
  readonly tables: TableLookup;
}

/** Options of a transform of x [P, inputs, Q]. */
export interface Asked {
  readonly outputs: number;
  readonly sign: number;
  readonly scale: number;
  /** false: only the real parts. */
  readonly complex: boolean;
}

const map = ({ re, im }: ComplexExpr, fn: (x: Expr) => Expr): ComplexExpr => ({ re: fn(re), im: im === null ? null : fn(im) });

/** x [P, J, Q] to [P, outputs, Q]; fewer inputs than the plan's length are padded with zeros. */
export function emitTransform(e: Emission, plan: Plan, x: ComplexExpr, asked: Asked): ComplexExpr {
  switch (plan.kind) {
    case "matrix":
      return denseTransform(e, plan.n, x, asked);
    case "step":
      return step(e, plan, x, asked);
    case "chirp":
      return chirp(e, plan, x, asked);
    default:
      return plan satisfies never;
  }
}

/** A GEMM with a matrix of cosines or sines: alpha * matrix * v, plus sum. */
type Times = (matrix: Expr, v: Expr, alpha: number, sum: Expr | null) => Expr;

/** (c + sign i s) x scale, of complex or real x, of which only the real part may be wanted. */
function combined(times: Times, [c, s]: readonly [Expr, Expr], x: ComplexExpr, sign: number, scale: number, complex: boolean): ComplexExpr {
  const rotated = sign * scale;
  const re = times(c, x.re, scale, null);
  if (x.im === null) return { re, im: complex ? times(s, x.re, rotated, null) : null };
  return {
    re: times(s, x.im, -rotated, re),
    im: complex ? times(s, x.re, rotated, times(c, x.im, scale, null)) : null,
  };
}

function gemm(g: GraphBuilder, a: Expr, b: Expr, sizes: readonly number[], alpha: number, sum: Expr | null, transposeA = false): Expr {
  return g.gemm(a, b, {
    c: sum,
    output: { sizes },
    transA: transposeA ? "TRANSPOSE" : "NONE",
    transB: "NONE",
    alpha,
    beta: sum === null ? 0 : 1,
  });
}

/** The first rows and columns of a matrix, for each of a batch. */
const matrix = (g: GraphBuilder, t: Expr, batch: readonly number[], rows: number, columns: number): Expr =>
  g.reinterpret(t, { sizes: [...batch, rows, columns], strides: [0, 0, t.strides[0]!, 1] });

/** The n x n DFT matrix times x, along its middle axis. */
function denseTransform({ g, tables }: Emission, n: number, x: ComplexExpr, { outputs, sign, scale, complex }: Asked): ComplexExpr {
  const [p, inputs, q] = x.re.sizes as [number, number, number];
  // Where the axis is the last one, the batch is the rows of one GEMM with the (symmetric) matrix.
  const times: Times =
    q === 1
      ? (m, v, alpha, sum) => {
          const rows = g.reinterpret(v, { sizes: [1, 1, p, inputs], strides: [0, 0, v.strides[0]!, v.strides[1]!] });
          return gemm(g, rows, matrix(g, m, [1, 1], inputs, outputs), [1, 1, p, outputs], alpha, sum);
        }
      : (m, v, alpha, sum) => {
          const columns = g.reinterpret(v, { sizes: [1, p, inputs, q], strides: [0, ...v.strides] });
          return gemm(g, matrix(g, m, [1, p], outputs, inputs), columns, [1, p, outputs, q], alpha, sum);
        };
  const result = combined(times, tables(matrixTable(n).key), x, sign, scale, complex);
  return map(result, (y) => g.reinterpret(y, { sizes: [p, outputs, q] }));
}

/** The DFT matrix of `radix` times packed x [P, rows, rest, Q] along its second axis, as [P, rest, radix, Q]. */
function radixTransform({ g, tables }: Emission, radix: number, rest: number, x: ComplexExpr, sign: number): ComplexExpr {
  const [p, rows, columns] = x.re.sizes as [number, number, number];
  const q = columns / rest;
  const times: Times =
    q === 1
      ? (m, v, alpha, sum) =>
          gemm(g, g.reinterpret(v, { sizes: [1, p, rows, rest] }), matrix(g, m, [1, p], rows, radix), [1, p, rest, radix], alpha, sum, true)
      : (m, v, alpha, sum) => {
          const rowsFirst = g.reinterpret(v, { sizes: [p, rest, rows, q], strides: [rows * rest * q, q, rest * q, 1] });
          return gemm(g, matrix(g, m, [p, rest], radix, rows), rowsFirst, [p, rest, radix, q], alpha, sum);
        };
  return map(combined(times, tables(matrixTable(radix).key), x, sign, 1, true), (y) => g.reinterpret(y, { sizes: [p, rest, radix, q] }));
}

/** x (c + sign i s), element by element; all of the sizes of x's real part. */
function rotate(g: GraphBuilder, x: ComplexExpr, [c, s]: readonly [Expr, Expr], sign: number, complex = true): ComplexExpr {
  const by = (a: Expr, t: Expr): Expr => g.elementWiseMultiply(a, g.expand(t, a.sizes));
  const sum = (plus: boolean, a: Expr, b: Expr): Expr => (plus ? g.elementWiseAdd(a, b) : g.elementWiseSubtract(a, b));
  if (x.im === null) {
    const im = complex ? by(x.re, s) : null;
    return { re: by(x.re, c), im: im === null || sign > 0 ? im : g.elementWiseIdentity(im, { scaleBias: [-1, 0] }) };
  }
  return {
    re: sum(sign < 0, by(x.re, c), by(x.im, s)),
    im: complex ? sum(sign > 0, by(x.im, c), by(x.re, s)) : null,
  };
}

/** x [P, J, Q] padded with zeros to [P, length, Q]. */
function padded(g: GraphBuilder, x: Expr, length: number): Expr {
  const [p, inputs, q] = x.sizes as [number, number, number];
  if (inputs === length) return x;
  return g.join([x, constant(g, x.dtype, 0, [p, length - inputs, q])], { output: { sizes: [p, length, q], dtype: x.dtype }, axis: 1 });
}

/** The first elements of x's middle axis. */
const cut = (g: GraphBuilder, x: Expr, length: number): Expr =>
  x.sizes[1] === length ? x : g.reinterpret(x, { sizes: [x.sizes[0]!, length, x.sizes[2]!], strides: x.strides });

/**
 * One step of decimation in frequency that sorts by itself: with n = radix * rest, x as [P, radix, rest, Q], the GEMM along the
 * second axis, which transposes it with the third, and the twiddle factors: [P, rest, radix * Q].
 */
function step(e: Emission, plan: Plan & { kind: "step" }, x: ComplexExpr, asked: Asked): ComplexExpr {
  const { g, tables } = e;
  const { n, radix } = plan;
  const rest = n / radix;
  const [p, inputs, q] = x.re.sizes as [number, number, number];
  const rows = Math.ceil(inputs / rest);
  const open = map(x, (v) => g.reshape(padded(g, v, rows * rest), [p, rows, rest * q]));
  const first = radixTransform(e, radix, rest, open, asked.sign);
  const mixed = map(rotate(g, first, tables(stepTable(n, radix).key), asked.sign), (v) =>
    g.reinterpret(v, { sizes: [p, rest, radix * q] }),
  );
  const last = emitTransform(e, plan.rest, mixed, { ...asked, outputs: Math.ceil(asked.outputs / radix) });
  return map(last, (v) => cut(g, g.reshape(v, [p, v.sizes[1]! * radix, q]), asked.outputs));
}

/** jk = (j² + k² - (k - j)²) / 2 makes of the sum a convolution, which transforms of a longer power of two compute. */
function chirp(e: Emission, plan: Plan & { kind: "chirp" }, x: ComplexExpr, asked: Asked): ComplexExpr {
  const { g, tables } = e;
  const { n, length, inner } = plan;
  const [, inputs] = x.re.sizes as [number, number, number];
  const { outputs, sign } = asked;
  const wave = tables(chirpTable(n, Math.max(inputs, outputs)).key);
  const upTo = (count: number): readonly [Expr, Expr] =>
    wave.map((t) => g.reinterpret(t, { sizes: [count, 1], strides: t.strides })) as unknown as readonly [Expr, Expr];
  const spread = map(rotate(g, x, upTo(inputs), sign), (v) => g.packed(v));
  const spectrum = emitTransform(e, inner, spread, { outputs: length, sign: -1, scale: 1, complex: true });
  const filtered = rotate(g, spectrum, tables(filterTable(n, length, inputs, outputs, sign).key), 1);
  const back = emitTransform(e, inner, filtered, { outputs, sign: 1, scale: asked.scale / length, complex: true });
  return rotate(g, back, upTo(outputs), sign, asked.complex);
}
