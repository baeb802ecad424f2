import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, clean, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

/** Irregular numbers of order 1. */
const wave = (shape: readonly number[], seed = 1): dx.Tensor =>
  dx.tensor(
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(seed + 1.7 * i)),
    { shape },
  );

/** a [B, M, K] times b [B, K, N] in float64, flat. */
function referenceMatmul(
  a: readonly number[],
  b: readonly number[],
  [batch, m, k, n]: readonly [number, number, number, number],
): number[] {
  const out: number[] = [];
  for (let s = 0; s < batch; s++)
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++) {
        let sum = 0;
        for (let l = 0; l < k; l++) sum += a[(s * m + i) * k + l]! * b[(s * k + l) * n + j]!;
        out.push(sum);
      }
  return out;
}

eachMode("matmul", (device, mode) => {
  test.each([
    [[3], [3], []],
    [[3], [3, 2], [2]],
    [[4, 3], [3], [4]],
    [
      [4, 3],
      [3, 2],
      [4, 2],
    ],
    [
      [5, 4, 3],
      [3, 2],
      [5, 4, 2],
    ],
    [
      [3, 2],
      [5, 2, 4],
      [5, 3, 4],
    ],
    [
      [5, 1, 4, 3],
      [6, 3, 2],
      [5, 6, 4, 2],
    ],
    [
      [2, 3, 1, 4, 3],
      [1, 3, 2, 3, 2],
      [2, 3, 2, 4, 2],
    ],
    [[3], [2, 3, 2], [2, 2]],
  ])("%j x %j has the shape %j, the values of float64 and right gradients", (a, b, shape) =>
    clean(
      device,
      () => {
        const [x, y] = [wave(a), wave(b, 2)];
        const z = mode.run(dx.matmul, x, y);
        expect(z.shape).toEqual(shape);
        // The batches as they broadcast, one after the other.
        const [ra, rb] = [a.length === 1 ? [1, ...a] : a, b.length === 1 ? [...b, 1] : b];
        const batch = shape.slice(0, shape.length - (a.length === 1 ? 0 : 1) - (b.length === 1 ? 0 : 1));
        const [m, k, n] = [ra.at(-2)!, ra.at(-1)!, rb.at(-1)!];
        const full = (t: dx.Tensor, r: readonly number[]): number[] =>
          numbers(
            t
              .reshape([...r])
              .expand([...batch, ...r.slice(-2)])
              .contiguous(),
          );
        expectClose(z, referenceMatmul(full(x, ra), full(y, rb), [batch.reduce((p, q) => p * q, 1), m, k, n]));
        expect(dx.gradcheck(dx.matmul, [x.requiresGrad_(), y.requiresGrad_()])).toBe(true);
      },
      { collect: true },
    ),
  );

  test("transposed, sliced and expanded operands", () =>
    clean(device, () => {
      const a = wave([3, 4]);
      const b = wave([5, 4], 2);
      const want = referenceMatmul(numbers(a), numbers(b.t().contiguous()), [1, 3, 4, 5]);
      expectClose(
        mode.run((x, y) => dx.matmul(x, y.t()), a, b),
        want,
      );
      expectClose(
        mode.run((x, y) => dx.matmul(x, y), a, b.t()),
        want,
      );
      expectClose(
        mode.run((x, y) => dx.matmul(x.t(), y.t()), a.t().contiguous(), b),
        want,
      );
      const wide = wave([3, 9], 3);
      expectClose(
        mode.run((x, y) => dx.matmul(x.slice(1, 1, 9, 2), y.t()), wide, b),
        referenceMatmul(numbers(wide.slice(1, 1, 9, 2).contiguous()), numbers(b.t().contiguous()), [1, 3, 4, 5]),
      );
      expectClose(
        mode.run((x) => dx.matmul(x.reshape(1, 3, 4).expand(2, 3, 4), x.t()), a),
        [
          ...referenceMatmul(numbers(a), numbers(a.t().contiguous()), [1, 3, 4, 3]),
          ...referenceMatmul(numbers(a), numbers(a.t().contiguous()), [1, 3, 4, 3]),
        ],
      );
    }));

  test("integers multiply exactly, past 2^53 and modulo their size", () =>
    clean(device, () => {
      const big = 2n ** 31n + 7n;
      const a = dx.tensor(BigInt64Array.of(big, 1n, 2n, big), { shape: [2, 2] });
      const want = [big * big + 2n, 2n * big, 4n * big, big * big + 2n].map((v) => BigInt.asIntN(64, v));
      expect(Array.from(mode.run(dx.matmul, a, a).dataSync() as BigInt64Array)).toEqual([want[0], big + big, 2n * big + 2n * big, want[3]]);
      const bytes = dx.tensor(Uint8Array.of(200, 100), { shape: [1, 2] });
      expect(numbers(mode.run((x) => dx.matmul(x, x.t()), bytes))).toEqual([(200 * 200 + 100 * 100) % 256]);
    }));

  test("large integers multiply by digits, with batches, transposed, and modulo their size", () =>
    clean(device, () => {
      const [m, k, n] = [90, 1100, 24];
      for (const dtype of ["int8", "uint8", "int16", "int32", "uint32", "int64"] as const) {
        const bits = dtype === "int64" ? 64 : Number(dtype.replace(/\D+/, ""));
        const wrapped = (v: bigint): bigint => (dtype.startsWith("u") ? BigInt.asUintN(bits, v) : BigInt.asIntN(bits, v));
        // Every byte of the numbers is used.
        const number = (i: number): bigint => wrapped(BigInt(i + 1) * 0x9e3779b97f4a7c15n);
        const made = (count: number, from: number): bigint[] => Array.from({ length: count }, (_, i) => number(from + i));
        const [a, b] = [made(2 * m * k, 0), made(k * n, 77)];
        const tensor = (values: readonly bigint[], shape: readonly number[]): dx.Tensor =>
          dx.tensor(BigInt64Array.from(values), { shape }).to(dtype);
        const product = mode.run((x, y) => dx.matmul(x, y.t()), tensor(a, [2, m, k]), tensor(b, [k, n]).t().contiguous());
        const found = product.to("int64").dataSync() as BigInt64Array;
        for (const at of [0, 1, n, 17 * n + 5, m * n, 2 * m * n - 1]) {
          const [row, column] = [Math.floor(at / n), at % n];
          let sum = 0n;
          for (let i = 0; i < k; i++) sum += a[row * k + i]! * b[i * n + column]!;
          expect([dtype, at, found[at]]).toEqual([dtype, at, wrapped(sum)]);
        }
      }
    }));

  test("empty inner axes give zeros", () =>
    clean(device, () => {
      const z = mode.run(dx.matmul, dx.zeros([2, 0]), dx.zeros([0, 3]));
      expect(z.shape).toEqual([2, 3]);
      expect(numbers(z)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(mode.run(dx.matmul, dx.zeros([0, 2]), dx.zeros([2, 3])).shape).toEqual([0, 3]);
    }));

  test("linear, addmm, baddbmm and outer with their gradients", () =>
    clean(
      device,
      () => {
        const [x, w, b] = [wave([2, 3, 4]), wave([5, 4], 2), wave([5], 3)];
        const want = referenceMatmul(numbers(x), numbers(w.t().contiguous()), [1, 6, 4, 5]).map((v, i) => v + numbers(b)[i % 5]!);
        expectClose(
          mode.run((p, q, r) => dx.linear(p, q, r), x, w, b),
          want,
        );
        expectClose(
          mode.run((p, q) => dx.linear(p, q), x.slice(1, 0, 1).reshape(2, 4), w).slice(0, 0, 1),
          want.slice(0, 5).map((v, i) => v - numbers(b)[i]!),
        );
        expect(
          dx.gradcheck(
            (p, q, r) => dx.linear(p, q, r),
            [x, w, b].map((t) => t.requiresGrad_()),
          ),
        ).toBe(true);
        expect(
          dx.gradcheck(
            (p, q, r) => dx.linear(p, q, r),
            [wave([4]), wave([5, 4]), wave([5])].map((t) => t.requiresGrad_()),
          ),
        ).toBe(true);
        expect(
          dx.gradcheck(
            (c, p, q) => dx.addmm(c, p, q, { alpha: 0.5, beta: -2 }),
            [wave([3]), wave([2, 4]), wave([4, 3])].map((t) => t.requiresGrad_()),
          ),
        ).toBe(true);
        expect(
          dx.gradcheck(
            (c, p, q) => dx.baddbmm(c, p, q),
            [wave([2, 1, 3]), wave([2, 2, 4]), wave([2, 4, 3])].map((t) => t.requiresGrad_()),
          ),
        ).toBe(true);
        expectClose(
          mode.run((c, p, q) => dx.addmm(c, p, q, { beta: 0 }), dx.full([2, 2], NaN), dx.ones([2, 3]), dx.ones([3, 2])),
          [3, 3, 3, 3],
        );
        expectClose(mode.run(dx.outer, dx.tensor([1, 2]), dx.tensor([3, 4, 5])), [3, 4, 5, 6, 8, 10]);
      },
      { collect: true },
    ));

  test("shapes, dtypes and devices that do not fit are refused", () =>
    clean(device, () => {
      expect(() => dx.matmul(dx.ones([2, 3]), dx.ones([4, 5]))).toThrow(
        /matmul: last axis of a must be equal to the second to last of b \(4\); received a float32\[2, 3\], b float32\[4, 5\]/,
      );
      expect(() => dx.matmul(dx.ones([]), dx.ones([2]))).toThrow(dx.ShapeError);
      expect(() => dx.matmul(dx.ones([2, 2, 3]), dx.ones([3, 3, 2]))).toThrow(dx.ShapeError);
      expect(() => dx.matmul(dx.ones([2, 2]), dx.ones([2, 2], { dtype: "int32" }))).toThrow(dx.DTypeError);
      expect(() => dx.matmul(dx.ones([2, 2], { dtype: "bool" }), dx.ones([2, 2], { dtype: "bool" }))).toThrow(dx.DTypeError);
      expect(() => dx.mm(dx.ones([2]), dx.ones([2, 2]))).toThrow(/mm: a must be of 2 axes/);
      expect(() => dx.bmm(dx.ones([2, 1, 1]), dx.ones([3, 1, 1]))).toThrow(dx.ShapeError);
      expect(() => dx.linear(dx.ones([2, 3]), dx.ones([4, 5]))).toThrow(/linear: last axis of x/);
      expect(() => dx.linear(dx.ones([2, 5]), dx.ones([4, 5]), dx.ones([5]))).toThrow(/linear: bias must be \[4\]/);
      expect(() => dx.addmm(dx.ones([5]), dx.ones([2, 3]), dx.ones([3, 4]))).toThrow(dx.ShapeError);
    }));
});

eachDevice("gradients of matmul", (device) => {
  test("gradients of gradients", () =>
    clean(
      device,
      () => {
        const twice = (a: dx.Tensor, b: dx.Tensor): readonly dx.Tensor[] =>
          dx.enableGrad(() => {
            const [p, q] = [a.requiresGrad ? a : a.detach().requiresGrad_(), b.requiresGrad ? b : b.detach().requiresGrad_()];
            return dx.grad(dx.matmul(p, q).square().sum(), [p, q], { createGraph: true }) as dx.Tensor[];
          });
        expect(dx.gradcheck(twice, [wave([2, 3]).requiresGrad_(), wave([3, 2], 2).requiresGrad_()])).toBe(true);
      },
      { collect: true },
    ));

  const ones = (shape: readonly number[], requiresGrad = false): dx.Tensor => dx.ones(shape, { requiresGrad });
  const transposed = (): dx.Tensor => ones([5, 3, 2]).transpose(1, 2);
  test.each<[string, () => [dx.Tensor, dx.Tensor], (a: dx.Tensor, b: dx.Tensor) => dx.Tensor, boolean]>([
    ["a matrix and a stack", () => [ones([2, 2], true), ones([5, 2, 3])], dx.matmul, true],
    ["a matrix and a stack of two axes", () => [ones([2, 2], true), ones([2, 2, 2, 3])], dx.matmul, true],
    ["a matrix and a stack whose columns have one stride", () => [ones([2, 3], true), transposed().transpose(1, 2)], dx.matmul, true],
    ["a matrix and a transposed stack", () => [ones([2, 2], true), ones([5, 3, 2]).transpose(1, 2)], dx.matmul, false],
    ["a matrix and a stack of one", () => [ones([2, 2], true), ones([1, 2, 3])], dx.matmul, false],
    ["a row and a stack", () => [ones([3], true), ones([5, 3, 2])], dx.matmul, true],
    ["a stack and a matrix", () => [ones([5, 2, 3]), ones([3, 2], true)], dx.matmul, false],
    ["a transposed stack and a matrix", () => [transposed(), ones([3, 2], true)], dx.matmul, true],
    ["a transposed stack and a vector", () => [transposed(), ones([3], true)], dx.matmul, true],
    ["a linear layer", () => [ones([5, 2, 3]), ones([4, 3], true)], (x, w) => dx.linear(x, w), false],
    ["a linear layer of a transposed stack", () => [transposed(), ones([4, 3], true)], (x, w) => dx.linear(x, w), true],
  ])("keeps a copy where PyTorch does, which later writes do not reach: %s", (_, operands, product, isCopied) =>
    clean(
      device,
      () => {
        const pass = (isChanged: boolean) => (a: dx.Tensor, b: dx.Tensor) => {
          const y = product(a, b);
          if (isChanged) dx.noGrad(() => (a.requiresGrad ? b : a).mul_(2));
          y.sum().backward();
        };
        const gradient = (run: (a: dx.Tensor, b: dx.Tensor) => void): unknown => {
          const [a, b] = operands();
          run(a, b);
          const leaf = a.requiresGrad ? a : b;
          const found = leaf.grad!.toArraySync();
          leaf.grad!.dispose();
          leaf.grad = null;
          return found;
        };
        const want = gradient(pass(false));
        const compiled = dx.compile(pass(true));
        for (const run of [pass(true), compiled, compiled])
          if (isCopied) expect(gradient(run)).toEqual(want);
          else expect(() => gradient(run)).toThrow(dx.AutogradError);
        compiled.dispose();
      },
      { collect: true },
    ),
  );
});
