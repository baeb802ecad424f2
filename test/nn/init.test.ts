/** Starting values compared with PyTorch's rules: exact where nothing is drawn, by their properties where numbers are. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

const { init } = dx.nn;

eachDevice("nn.init", () => {
  const generator = (): dx.Generator => new dx.Generator(5);
  const nonZero = (t: dx.Tensor): number[] => numbers(t).flatMap((v, i) => (v === 0 ? [] : [i]));

  test("dirac and eye, as PyTorch 2.15 fills them", () => {
    const t = dx.ones([4, 2, 3, 2]);
    expect(init.dirac(t, 2)).toBe(t);
    expect(nonZero(t)).toEqual([3, 21, 27, 45]);
    expect(nonZero(init.dirac(dx.ones([3, 5, 3])))).toEqual([1, 19, 37]);
    expect(numbers(init.eye(dx.zeros([2, 3])))).toEqual([1, 0, 0, 0, 1, 0]);
    expect(nonZero(init.dirac(dx.ones([2, 2, 1, 1, 1], { dtype: "float16" })))).toEqual([0, 3]);
    expect(() => init.dirac(dx.ones([3, 3]))).toThrow(dx.ShapeError);
    expect(() => init.dirac(dx.ones([3, 3, 3]), 2)).toThrow(dx.ValueError);
    expect(() => init.eye(dx.ones([3]))).toThrow(dx.ShapeError);
  });

  test("calculateGain", () => {
    const gains = (["tanh", "selu", "leaky_relu", "linear"] as const).map((name) => init.calculateGain(name));
    expect(gains).toEqual([5 / 3, 3 / 4, Math.sqrt(2 / 1.0001), 1]);
    expect(init.calculateGain("leakyRelu", 0.2)).toBe(1.3867504905630728);
  });

  test("orthogonal: rows or columns of length `gain`, for matrices and kernels", () => {
    for (const shape of [
      [3, 5],
      [5, 3],
      [4, 4],
      [6, 2, 2, 2],
      [1, 3],
    ]) {
      const t = dx.zeros(shape);
      init.orthogonal(t, { gain: 2, generator: generator() });
      const [rows, columns] = [shape[0]!, t.size / shape[0]!];
      const m = t.reshape([rows, columns]);
      const product = numbers(rows <= columns ? dx.matmul(m, m.transpose(0, 1)) : dx.matmul(m.transpose(0, 1), m));
      const n = Math.min(rows, columns);
      product.forEach((v, i) => {
        expect(v).toBeCloseTo(Math.floor(i / n) === i % n ? 4 : 0, 4);
      });
      const again = dx.zeros(shape);
      expect(numbers(init.orthogonal(again, { gain: 2, generator: generator() }))).toEqual(numbers(t));
    }
    expect(init.orthogonal(dx.zeros([0, 3])).size).toBe(0);
    expect(() => init.orthogonal(dx.zeros([3]))).toThrow(dx.ShapeError);
  });

  test("truncNormal: moments of the truncated distribution, nothing outside", () => {
    // scipy.stats.truncnorm(-1, 2): mean 0.2296, variance 0.5198; (-2, 2): 0, 0.7737.
    for (const [a, b, mean, variance] of [
      [-2, 2, 0, 0.7737],
      [-1, 2, 0.2296, 0.5198],
    ] as const) {
      // prettier-ignore
      const t = init.truncNormal(dx.zeros([200, 100]), { mean: 3, std: 0.5, a: 3 + 0.5 * a, b: 3 + 0.5 * b, generator: generator() });
      const values = numbers(t).map((v) => (v - 3) / 0.5);
      const average = values.reduce((s, v) => s + v, 0) / values.length;
      expect(Math.abs(average - mean)).toBeLessThan(0.02);
      expect(Math.abs(values.reduce((s, v) => s + (v - average) ** 2, 0) / values.length / variance - 1)).toBeLessThan(0.03);
      expect(values.every((v) => v >= a - 1e-5 && v <= b + 1e-5)).toBe(true);
    }
    expect(() => init.truncNormal(dx.zeros([2]), { std: 0 })).toThrow(dx.ValueError);
    expect(() => init.truncNormal(dx.zeros([2]), { a: 1, b: 1 })).toThrow(dx.ValueError);
  });

  test("sparse: as many zeros in each column, in different rows", () => {
    const t = init.sparse(dx.ones([10, 40]), 0.25, { std: 2, generator: generator() });
    const values = numbers(t);
    const zeros = Array.from({ length: 40 }, (_, c) => Array.from({ length: 10 }, (__, r) => r).filter((r) => values[r * 40 + c] === 0));
    expect(zeros.every((rows) => rows.length === 3)).toBe(true);
    expect(new Set(zeros.map((rows) => rows.join())).size).toBeGreaterThan(10);
    expect(() => init.sparse(dx.ones([2]), 0.5)).toThrow(dx.ShapeError);
    expect(() => init.sparse(dx.ones([2, 2]), 2)).toThrow(dx.ValueError);
  });

  test("parametersToVector and back", () => {
    const m = dx.nn.linear(2, 3);
    const vector = dx.nn.utils.parametersToVector(m.parameters());
    expect(numbers(vector)).toEqual([...numbers(m.weight), ...numbers(m.bias!)]);
    vector.mul(dx.arange(9)).sum().backward();
    expect(numbers(m.weight.grad!)).toEqual([0, 1, 2, 3, 4, 5]);
    dx.nn.utils.vectorToParameters(dx.arange(9), m.parameters());
    expect([numbers(m.weight), numbers(m.bias!)]).toEqual([[0, 1, 2, 3, 4, 5], [6, 7, 8]]); // prettier-ignore
    expect(m.weight.isLeaf).toBe(true);
    expect(() => {
      dx.nn.utils.vectorToParameters(dx.arange(8), m.parameters());
    }).toThrow(dx.ShapeError);
    expect(() => dx.nn.utils.parametersToVector([])).toThrow(dx.ValueError);
  });

  test("freezing and groups by pattern", () => {
    const { freeze, unfreeze, groups } = dx.nn.utils;
    const m = dx.nn.sequential(dx.nn.linear(2, 2), dx.nn.linear(2, 2), dx.nn.batchNorm1d(2));
    expect(freeze(m, "0.*")).toEqual(["0.weight", "0.bias"]);
    expect(m.parameters().map((p) => p.requiresGrad)).toEqual([false, false, true, true, true, true]);
    expect(unfreeze(m, /bias$/g)).toEqual(["0.bias", "1.bias", "2.bias"]);
    const made = groups(m, [{ match: ["*.bias", "2.*"], weightDecay: 0 }, { lr: 0.5 }]);
    const names = made.map(({ params }) => params.map((p) => [...m.namedParameters()].find(([, own]) => own === p)![0]));
    expect(names).toEqual([["0.bias", "1.bias", "2.weight", "2.bias"], ["1.weight"]]);
    const optimizer = dx.optim.adamW(made, { lr: 0.1 });
    expect(optimizer.paramGroups.map(({ options }) => [options.lr, options.weightDecay])).toEqual([[0.1, 0], [0.5, 0.01]]); // prettier-ignore
    expect(groups(m, [{ match: (name) => name === "1.weight", lr: 1 }]).map(({ params }) => params.length)).toEqual([1, 4]);
    expect(() => freeze(m, "3.*")).toThrow(dx.ValueError);
    optimizer.dispose();
  });
});
