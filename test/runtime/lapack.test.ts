/** The routines under `linalg`: each engine gives factors that multiply to the matrix. */
import { describe, expect, test } from "vitest";
import { loadBinding, hostEnvironment } from "../../src/native/load-addon.ts";
import { lapackPaths } from "../../src/native/paths.ts";
import type { Engine } from "../../src/runtime/lapack/engine.ts";
import { libraryEngine } from "../../src/runtime/lapack/lapack-library.ts";
import { portable } from "../../src/runtime/lapack/portable.ts";

const engines: Engine[] = [portable];
for (const path of lapackPaths({ ...hostEnvironment(), env: {} }) ?? []) {
  const found = libraryEngine(loadBinding(), path);
  if (typeof found === "string") continue;
  engines.push(found);
  break;
}
if (engines.length === 1)
  console.warn("lapack.test: NO LAPACK LIBRARY on this machine: only the portable routines are tested (apt install liblapack3)");

/** Numbers between -1 and 1, the same each time. */
function numbers(count: number, seed: number): Float64Array {
  let state = seed;
  return Float64Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** a [m, k] times b [k, n], column by column. */
function times(a: Float64Array, b: Float64Array, m: number, k: number, n: number): Float64Array {
  const out = new Float64Array(m * n);
  for (let j = 0; j < n; j++) for (let p = 0; p < k; p++) for (let i = 0; i < m; i++) out[j * m + i]! += a[p * m + i]! * b[j * k + p]!;
  return out;
}
function transpose(m: number, n: number, a: Float64Array): Float64Array {
  const out = new Float64Array(m * n);
  for (let j = 0; j < n; j++) for (let i = 0; i < m; i++) out[i * n + j] = a[j * m + i]!;
  return out;
}
function near(got: ArrayLike<number>, want: ArrayLike<number>, bound = 1e-10): void {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++) expect(Math.abs(got[i]! - want[i]!), `element ${i}`).toBeLessThanOrEqual(bound);
}
const identity = (n: number): Float64Array => Float64Array.from({ length: n * n }, (_, i) => (i % (n + 1) === 0 ? 1 : 0));
const sizes = [1, 2, 3, 5, 8, 17];

test("the addon says why a library can't be opened, and refuses what it can't call", () => {
  const binding = loadBinding();
  expect(binding.lapackOpen("/no/such/library.so")).toBe("no such file");
  expect(binding.lapackHas("/no/such/library.so", "dgetrf")).toBe(false);
  expect(() => binding.lapackCall("/no/such/library.so", "dgetrf", [1])).toThrow(/no such routine: dgetrf/);
  for (const { name } of engines.slice(1)) {
    const path = /\((.*)\)/.exec(name)![1]!;
    expect([binding.lapackHas(path, "dgetrf"), binding.lapackHas(path, "dgesv")]).toEqual([true, false]);
    const refused = (routine: string, args: readonly unknown[], text: RegExp): void =>
      expect(() => binding.lapackCall(path, routine, args as never)).toThrow(text);
    const [a, rows, info] = [new Float64Array(4), new Int32Array(2), new Int32Array(1)];
    refused("dgetrf", [2, 2, a, 2, rows], /dgetrf takes 6 arguments/);
    refused("dgetrf", [2, 3, a, 2, rows, info], /sizes that dgetrf does not take/);
    refused("dgetrf", [2, 2, a, 2, rows, new Int32Array(0)], /sizes that dgetrf does not take/);
    refused("dgetrf", [2, 2, new Float32Array(9), 2, rows, info], /expected a Float64Array/);
    refused("dgetrf", [2.5, 2, a, 2, rows, info], /integer/);
    refused("dpotrf", ["X", 2, a, 2, info], /options or sizes/);
    refused("dpotrf", ["LU", 2, a, 2, info], /one letter/);
    refused("dgetrs", ["N", 2, 2, a, 2, Int32Array.of(1, 3), a.slice(), 2, info], /options or sizes/);
    refused("dsytrs", ["L", 2, 2, a, 2, Int32Array.of(-1, 1), a.slice(), 2, info], /options or sizes/);
    refused("dgeev", ["N", "V", 2, a, 2, a, a, a, 1, a, 2, new Float64Array(7), 7, info], /options or sizes/);
  }
});

test("DXTENSOR_LAPACK replaces all other paths", () => {
  const where = { ...hostEnvironment(), platform: "linux", arch: "x64", cwd: "/here", env: {} };
  expect(lapackPaths({ ...where, env: { DXTENSOR_LAPACK: "portable" } })).toBe(null);
  expect(lapackPaths({ ...where, env: { DXTENSOR_LAPACK: "lib/mine.so" } })).toEqual(["/here/lib/mine.so"]);
  expect(lapackPaths({ ...where, platform: "win32" })).toEqual([]);
  expect(lapackPaths({ ...where, env: { LD_LIBRARY_PATH: "relative:/opt/lib" } })!.slice(0, 3)).toEqual([
    "/opt/lib/liblapack.so.3",
    "/opt/lib/libopenblas.so.0",
    "/usr/local/lib/liblapack.so.3",
  ]);
  expect(lapackPaths(where)).toContain("/usr/lib/x86_64-linux-gnu/liblapack.so.3");
});

describe.each(engines.map((e) => [e.name, e] as const))("%s", (_, e) => {
  test.each(sizes)("cholesky, lu and triangular systems of order %i", (n) => {
    const b = numbers(n * n, n);
    const spd = times(b, transpose(n, n, b), n, n, n).map((x, i) => x + (i % (n + 1) === 0 ? 1 : 0));
    const l = spd.slice();
    expect(e.cholesky(n, l)).toBe(0);
    for (let j = 0; j < n; j++) l.fill(0, j * n, j * n + j);
    near(times(l, transpose(n, n, l), n, n, n), spd);
    for (const transposed of [false, true]) {
      const factors = b.slice();
      const pivots = new Int32Array(n);
      expect(e.lu(n, n, factors, pivots)).toBe(0);
      const x = numbers(3 * n, 7);
      const right = times(transposed ? transpose(n, n, b) : b, x, n, n, 3);
      e.luSolve(n, 3, factors, pivots, right, transposed);
      near(right, x, 1e-8);
      for (const upper of [false, true])
        for (const unit of [false, true]) {
          const t = b.map((v, i) => {
            const [r, c] = [i % n, Math.floor(i / n)];
            return r === c ? (unit ? 1 : v + 3) : (upper ? r < c : r > c) ? v : 0;
          });
          const y = times(transposed ? transpose(n, n, t) : t, x, n, n, 3);
          e.triangularSolve(
            n,
            3,
            t.map((v, i) => (v === 0 ? 99 : unit && i % (n + 1) === 0 ? 99 : v)),
            y,
            { upper, transposed, unit },
          );
          near(y, x, 1e-7);
        }
    }
  });

  test("matrices that are not positive definite or singular are reported with their index", () => {
    expect(e.cholesky(2, Float64Array.of(1, 2, 2, 1))).toBe(2);
    expect(e.cholesky(1, Float64Array.of(-1))).toBe(1);
    expect(e.lu(3, 3, Float64Array.of(1, 0, 0, 1, 0, 0, 0, 0, 1), new Int32Array(3))).toBe(2);
    expect(e.lu(2, 3, new Float64Array(6), new Int32Array(2))).toBe(1);
    expect(e.ldl(2, new Float64Array(4), new Int32Array(2))).toBe(1);
  });

  test.each(sizes)("L D L^T of order %i, with blocks of two rows", (n) => {
    const half = numbers(n * n, n + 50);
    const a = half.map((x, i) => x + half[(i % n) * n + Math.floor(i / n)]!).map((x, i) => (i % (n + 1) === 0 && n > 1 ? 0 : x));
    const pivots = new Int32Array(n);
    const factors = a.slice();
    expect(e.ldl(n, factors, pivots)).toBe(0);
    if (n > 2) expect(pivots.some((p) => p < 0)).toBe(true);
    const x = numbers(2 * n, 3);
    const b = times(a, x, n, n, 2);
    e.ldlSolve(n, 2, factors, pivots, b);
    near(b, x, 1e-8);
  });

  test.each([
    [1, 1],
    [5, 3],
    [3, 5],
    [8, 8],
    [17, 4],
  ])("QR of [%i, %i]", (m, n) => {
    const a = numbers(m * n, m * n);
    const k = Math.min(m, n);
    const factors = a.slice();
    const tau = new Float64Array(k);
    e.qr(m, n, factors, tau);
    const r = new Float64Array(m * n);
    for (let j = 0; j < n; j++) for (let i = 0; i <= Math.min(j, m - 1); i++) r[j * m + i] = factors[j * m + i]!;
    const q = new Float64Array(m * m);
    q.set(factors.subarray(0, m * k));
    e.reflectorProduct(m, m, k, q, tau);
    near(times(q, r, m, m, n), a);
    near(times(transpose(m, m, q), q, m, m, m), identity(m));
  });

  test.each([
    [1, 1],
    [5, 3],
    [3, 5],
    [8, 8],
    [2, 9],
    [6, 6],
    [5, 8],
    [20, 12],
  ])("SVD of [%i, %i], of full rank and not", (m, n) => {
    const full = numbers(m * n, m + n);
    const flat = times(numbers(m, 1), numbers(n, 2), m, 1, n);
    // Columns that repeat, as in [A, A].
    const twice = full.map((x, i) => (i % (2 * m) < m || n % 2 === 1 ? x : full[i - m]!));
    for (const a of [full, flat, twice, new Float64Array(m * n), full.map((x) => x * 1e-200), full.map((x) => x * 1e200)])
      for (const vectors of ["all", "some"] as const) {
        const { s, u, vt, info } = e.svd(m, n, a.slice(), vectors);
        expect(info).toBe(0);
        const k = Math.min(m, n);
        const [rows, columns] = vectors === "all" ? [n, m] : [k, k];
        near(times(transpose(m, columns, u), u, columns, m, columns), identity(columns), 1e-12);
        near(times(vt, transpose(rows, n, vt), rows, n, rows), identity(rows), 1e-12);
        const scaled = new Float64Array(m * k);
        for (let j = 0; j < k; j++) for (let i = 0; i < m; i++) scaled[j * m + i] = u[j * m + i]! * s[j]!;
        const right = new Float64Array(k * n);
        for (let j = 0; j < n; j++) for (let i = 0; i < k; i++) right[j * k + i] = vt[j * rows + i]!;
        const largest = Math.max(...a.map(Math.abs), Number.MIN_VALUE);
        near(
          times(scaled, right, m, k, n).map((x) => x / largest),
          a.map((x) => x / largest),
          1e-12,
        );
        for (let i = 1; i < k; i++) expect(s[i]! <= s[i - 1]!).toBe(true);
        near(
          e.svd(m, n, a.slice(), "none").s.map((x) => x / largest),
          s.map((x) => x / largest),
          1e-12,
        );
      }
  });

  test.each(sizes)("eigenvalues of symmetric matrices of order %i", (n) => {
    const half = numbers(n * n, n + 9);
    for (const a of [half.map((x, i) => x + half[(i % n) * n + Math.floor(i / n)]!), identity(n), new Float64Array(n * n)]) {
      const v = a.slice();
      for (let j = 1; j < n; j++) v.fill(99, j * n, j * n + j);
      const w = new Float64Array(n);
      expect(e.symmetricEigen(n, v, w)).toBe(0);
      near(times(transpose(n, n, v), v, n, n, n), identity(n), 1e-12);
      near(
        times(a, v, n, n, n),
        v.map((x, i) => x * w[Math.floor(i / n)]!),
        1e-11,
      );
      for (let i = 1; i < n; i++) expect(w[i]! >= w[i - 1]!).toBe(true);
    }
  });

  test.each(sizes)("eigenvalues of general matrices of order %i", (n) => {
    const random = numbers(n * n, n + 77);
    const cyclic = new Float64Array(n * n);
    for (let j = 0; j < n; j++) cyclic[j * n + ((j + 1) % n)] = 1;
    const half = random.map((x, i) => x + random[(i % n) * n + Math.floor(i / n)]!);
    for (const a of [random, cyclic, half, identity(n), new Float64Array(n * n), random.map((x) => x * 1e100)]) {
      const { re, im, vectorsRe: vr, vectorsIm: vi, info } = e.eigen(n, a.slice());
      expect(info).toBe(0);
      const largest = Math.max(...a.map(Math.abs), 1);
      const left = [times(a, vr, n, n, n), times(a, vi, n, n, n)].map((m) => m.map((x) => x / largest));
      const scaled = (i: number): readonly [number, number] => [re[Math.floor(i / n)]! / largest, im[Math.floor(i / n)]! / largest];
      near(
        left[0]!,
        vr.map((x, i) => x * scaled(i)[0] - vi[i]! * scaled(i)[1]),
        1e-11,
      );
      near(
        left[1]!,
        vr.map((x, i) => x * scaled(i)[1] + vi[i]! * scaled(i)[0]),
        1e-11,
      );
      for (let j = 0; j < n; j++) {
        const length = Math.hypot(...vr.subarray(j * n, (j + 1) * n), ...vi.subarray(j * n, (j + 1) * n));
        expect(length).toBeCloseTo(1, 10);
        if (im[j]! > 0) expect(im[j + 1]).toBe(-im[j]!);
      }
    }
  });
});
