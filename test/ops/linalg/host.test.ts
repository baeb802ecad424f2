/** Decompositions and solvers as `host` operations: errors, counts, strict mode, compiled functions, devices. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { useEngine } from "../../../src/runtime/lapack/engine.ts";
import { clean, devices, numbers } from "../../device.ts";
import { expectAsEager } from "../../compile/as-eager.ts";
import { leaf } from "../../gradgrad.ts";

const { linalg } = dx;
const singular = dx.tensor([
  [
    [1, 2],
    [3, 4],
  ],
  [
    [1, 2],
    [2, 4],
  ],
]);

function caught(run: () => unknown): dx.LinAlgError {
  try {
    run();
  } catch (error) {
    if (error instanceof dx.LinAlgError) return error;
    throw error;
  }
  throw new Error("it did not throw");
}

describe("errors", () => {
  test.each([
    ["inv", () => linalg.inv(singular), 1, 2, /linalg\.inv: \(Batch element 1\): the matrix is singular: element 2/],
    ["solve", () => linalg.solve(singular, dx.ones([2, 2, 1])), 1, 2, /linalg\.solve: \(Batch element 1\): the matrix is singular/],
    ["luFactor", () => linalg.luFactor(singular), 1, 2, /linalg\.luFactor: \(Batch element 1\): element 2 on U's diagonal is zero/],
    ["invEx, checked", () => linalg.invEx(singular, { checkErrors: true }), 1, 2, /linalg\.invEx: \(Batch element 1\)/],
    ["one matrix", () => linalg.inv(dx.zeros([2, 2])), null, 1, /linalg\.inv: the matrix is singular: element 1/],
    [
      "cholesky",
      () =>
        linalg.cholesky(
          dx.tensor([
            [
              [1, 0],
              [0, 1],
            ],
            [
              [1, 2],
              [2, 1],
            ],
          ]),
        ),
      1,
      2,
      /\(Batch element 1\): the matrix is not positive definite: its leading minor of order 2/,
    ],
    ["cholesky of NaN", () => linalg.cholesky(dx.tensor([[NaN]])), null, 1, /not positive definite/],
    ["ldlFactor", () => linalg.ldlFactor(dx.zeros([2, 2])), null, 1, /element 1 of D is zero/],
    [
      "svd of NaN",
      () => linalg.svd(dx.tensor([[[1, 2]], [[NaN, 0]]])),
      1,
      0,
      /linalg\.svd: \(Batch element 1\): the matrix holds infinities or NaN/,
    ],
    ["eigh of infinity", () => linalg.eigh(dx.tensor([[Infinity]])), null, 0, /linalg\.eigh: the matrix holds infinities or NaN/],
    ["eig of NaN", () => linalg.eig(dx.tensor([[NaN]])), null, 0, /linalg\.eig: the matrix holds/],
    ["pinv of NaN", () => linalg.pinv(dx.tensor([[NaN]])), null, 0, /linalg\.pinv: the matrix holds/],
    ["tensorinv", () => linalg.tensorinv(dx.zeros([2, 2]), 1), null, 1, /linalg\.inv: the matrix is singular/],
  ] as const)("%s", (_, run, batch, info, text) => {
    const error = caught(run);
    expect([error.batch, error.info]).toEqual([batch, info]);
    expect(error.message).toMatch(text);
  });

  test("without errors infos tell which matrices are bad, and the others are right", () => {
    const { inverse, info } = linalg.invEx(singular);
    expect([numbers(info), numbers(inverse).map((v) => Math.round(v * 2) / 2)]).toEqual([
      [0, 2],
      [-2, 1, 1.5, -0.5, NaN, NaN, NaN, NaN],
    ]);
    expect(numbers(linalg.solveEx(singular, dx.ones([2, 2, 1])).info)).toEqual([0, 2]);
    expect(numbers(linalg.choleskyEx(dx.tensor([[[4]], [[-4]]])).info)).toEqual([0, 1]);
    expect(numbers(linalg.luFactorEx(singular).info)).toEqual([0, 2]);
    expect(numbers(linalg.ldlFactorEx(dx.zeros([2, 1, 1])).info)).toEqual([1, 1]);
    expect(numbers(linalg.solveTriangular(dx.zeros([1, 1]), dx.ones([1, 1]), { upper: true }))).toEqual([Infinity]);
  });

  test("shapes, dtypes and options are checked by name", () => {
    const [a, wide] = [dx.eye(2), dx.ones([2, 3])];
    expect(() => linalg.inv(wide)).toThrow(/linalg\.inv: A must be square matrices; received float32\[2, 3\]/);
    expect(() => linalg.det(dx.ones([3]))).toThrow(dx.ShapeError);
    expect(() => linalg.solve(a, dx.ones([3]))).toThrow(/linalg\.solve: B must be \[\.\.\., 2, K\] or \[\.\.\., 2\]/);
    expect(() => linalg.solve(a, dx.ones([2]), { left: false })).toThrow(dx.ValueError);
    expect(() => linalg.solve(a, dx.ones([2], { dtype: "float64" }))).toThrow(dx.DTypeError);
    expect(() => linalg.inv(a.to("float16"))).toThrow(/A must be of dtype float32 or float64; received float16\[2, 2\]/);
    expect(() => linalg.inv(a.to("int32"))).toThrow(dx.DTypeError);
    expect(() => linalg.eig(a.to("float64"))).toThrow(/no complex128/);
    expect(() => dx.luUnpack(a, dx.ones([2]))).toThrow(dx.DTypeError);
    expect(() => dx.luUnpack(a, dx.ones([3], { dtype: "int32" }))).toThrow(dx.ShapeError);
    expect(() => dx.luUnpack(a, dx.tensor([1, 7], { dtype: "int32" }))).toThrow(/pivots must be rows from 1 to 2; received 7/);
    expect(() => linalg.qr(a, { mode: "full" as "r" })).toThrow(dx.ValueError);
    expect(() => linalg.eigh(a, { uplo: "X" as "L" })).toThrow(dx.ValueError);
    expect(() => linalg.lstsq(a, dx.ones([2, 1]), { driver: "best" as "gels" })).toThrow(dx.ValueError);
    expect(() => linalg.householderProduct(dx.ones([2, 3]), dx.ones([2]))).toThrow(dx.ShapeError);
    expect(() => dx.ormqr(a, dx.ones([3]), a)).toThrow(dx.ShapeError);
    expect(() => linalg.matrixPower(a, 0.5)).toThrow(dx.ValueError);
    expect(() => linalg.tensorsolve(dx.ones([2, 3]), dx.ones([2]))).toThrow(dx.ShapeError);
    expect(() => linalg.ldlSolve(a, dx.tensor([9, 1], { dtype: "int32" }), a)).toThrow(dx.ValueError);
    expect(() => linalg.ldlSolve(a, dx.tensor([-1, 1], { dtype: "int32" }), a)).toThrow(dx.ValueError);
  });
});

describe("counts", () => {
  const warnings: Error[] = [];
  const note = (w: Error): void => void (w.name === "FallbackWarning" && warnings.push(w));
  beforeEach(() => {
    dx.resetFallbackStats();
    warnings.length = 0;
    process.on("warning", note);
  });
  afterEach(() => {
    process.off("warning", note);
    dx.setStrict(null);
  });

  test("each call is counted as host, with its device, and none warns", async () => {
    linalg.inv(dx.eye(2));
    linalg.inv(dx.eye(2));
    linalg.svdvals(dx.ones([2, 3]));
    dx.matrixExp(dx.eye(2));
    linalg.matrixPower(dx.eye(2), 3);
    const device = String(dx.defaultDevice());
    // A backend from outside may lack kernels of its own, which is counted too.
    const onHost = dx.fallbackStats().filter(({ kind }) => kind === "host");
    expect(onHost).toEqual([
      expect.objectContaining({ kind: "host", operation: "linalg.invEx", device, inputs: "float32[2, 2]", calls: 2 }),
      expect.objectContaining({ kind: "host", operation: "linalg.svd", inputs: "float32[2, 3]", calls: 1 }),
    ]);
    expect(onHost[0]!.reason).toMatch(/on the host: (LAPACK|portable)/);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings.filter(({ message }) => /linalg\.|on the host/.test(message))).toEqual([]);
  });

  test("strict mode lets them run, and refuses compiled functions that would run eagerly for them", () => {
    dx.setStrict(true);
    expect(linalg.det(dx.eye(3)).itemSync()).toBe(1);
    const compiled = dx.compile((x: dx.Tensor) => linalg.inv(x).mul(2), { name: "inverted" });
    expect(() => compiled(dx.eye(2))).toThrow(dx.UnsupportedError);
    expect(() => compiled(dx.eye(2))).toThrow(/linalg\.invEx.*on the host/);
  });

  test("a compiled function with one runs eagerly: the source line is named once, results and gradients are right", async () => {
    const f = (x: dx.Tensor): dx.Tensor => linalg.inv(x.mul(2)).mul(3).sum();
    const compiled = dx.compile(f, { name: "withInverse" });
    for (const scale of [1, 2, 1]) {
      const make = (): dx.Tensor => leaf([3, 3]).detach().add(dx.eye(3).mul(3)).mul(scale).requiresGrad_();
      const [x, y] = [make(), make()];
      const [got, want] = [compiled(x), f(y)];
      expectAsEager(numbers(got), numbers(want));
      got.backward();
      want.backward();
      expectAsEager(numbers(x.grad!), numbers(y.grad!));
    }
    await new Promise((resolve) => setImmediate(resolve));
    const named = warnings.filter(({ message }) => message.includes("withInverse"));
    expect(named).toHaveLength(1);
    expect(named[0]!.message).toMatch(/withInverse.*linalg\.invEx.*host\.test\.ts:\d+/);
    expect(dx.fallbackStats().find((r) => r.operation === "withInverse")!.calls).toBe(3);
  });

  test("a whole step with a decomposition in its loss trains the same, compiled or not", () => {
    const train = (wrap: <A extends unknown[], R>(f: (...a: A) => R) => (...a: A) => R): number[] => {
      const w = leaf([3, 3]).detach().requiresGrad_();
      const optimizer = dx.optim.sgd([w], { lr: 0.05 });
      const step = wrap((x: dx.Tensor) => {
        const loss = linalg.svdvals(w.matmul(x).add(dx.eye(3))).sum();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      });
      return [1, 2, 3].map(() => step(dx.eye(3)).itemSync());
    };
    expect(train((f) => dx.compile(f))).toEqual(train((f) => f));
  });

  test("exponentials and powers are compiled", () => {
    const compiled = dx.compile((x: dx.Tensor) => dx.matrixExp(x).add(linalg.matrixPower(x, 3)));
    for (const scale of [1, 5, 1]) {
      const x = leaf([3, 3]).detach().mul(scale);
      const want = numbers(dx.matrixExp(x).add(linalg.matrixPower(x, 3)));
      numbers(compiled(x)).forEach((v, i) => expect(Math.abs(v - want[i]!)).toBeLessThanOrEqual(1e-4 * Math.max(1, ...want.map(Math.abs))));
    }
    expect(compiled.programs).toBe(1);
    expect(dx.fallbackStats().filter(({ kind }) => kind === "host")).toEqual([]);
  });
});

test.each(devices)("results lie on the operand's device, and nothing is left behind: %s", async (device) => {
  await clean(device, () => {
    const x = dx.tensor(
      [
        [2, 1],
        [1, 3],
      ],
      { device, requiresGrad: true },
    );
    const { eigenvalues } = linalg.eigh(x);
    expect([String(eigenvalues.device), String(linalg.inv(x).device)]).toEqual([device, device]);
    linalg.det(x).backward();
    expect(String(x.grad!.device)).toBe(device);
    x.grad!.dispose();
  });
});

describe("DXTENSOR_LAPACK", () => {
  afterEach(() => {
    delete process.env.DXTENSOR_LAPACK;
    useEngine(null);
  });

  test("portable asks for the routines in JavaScript", () => {
    process.env.DXTENSOR_LAPACK = "portable";
    useEngine(null);
    dx.resetFallbackStats();
    expect(linalg.det(dx.eye(2)).itemSync()).toBe(1);
    expect(dx.fallbackStats()[0]!.reason).toBe("on the host: portable");
  });

  test.each(["/no/such/liblapack.so.3", process.execPath])("%s, which is no library, is an error with the way out", (path) => {
    process.env.DXTENSOR_LAPACK = path;
    useEngine(null);
    expect(() => linalg.det(dx.eye(2))).toThrow(dx.NativeLoadError);
    expect(() => linalg.det(dx.eye(2))).toThrow(/DXTENSOR_LAPACK names no usable LAPACK.*apt install liblapack3/);
  });
});
