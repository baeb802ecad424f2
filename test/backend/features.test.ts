/** What the library has above tensors and programs, on a backend from outside: compared with cpu, or with its values in float64. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";
import { expectClose } from "../tolerance.ts";

const device = "openreg:0";
const values = [
  [1, -2, 3],
  [0, 4, NaN],
];
const make = (where = device): dx.Tensor => dx.tensor(values, { device: where });

beforeAll(() => dx.backend.register(openreg));
afterEach(() => {
  dx.resetFallbackStats();
  dx.closeDevice(device);
});

it("inferenceMode() makes inference tensors there, eager and compiled", () => {
  const weight = dx.tensor([2], { device, requiresGrad: true });
  const compiled = dx.compile((x: dx.Tensor) => x.mul(weight));
  for (const f of [(x: dx.Tensor) => x.mul(weight), compiled]) {
    for (let i = 0; i < 3; i++) {
      const y = dx.inferenceMode(() => f(make()));
      expect([y.isInference, y.requiresGrad, String(y.device)]).toEqual([true, false, device]);
      expect(y.toArraySync()).toEqual(values.map((row) => row.map((v) => 2 * v)));
    }
  }
});

it("vmap() and gradients of each sample", () => {
  const x = make();
  const square = (row: dx.Tensor): dx.Tensor => row.mul(row).sum();
  expect(dx.vmap(square)(x).toArraySync()).toEqual([14, NaN]);
  const gradient = dx.vmap(dx.gradOf(square));
  const compiled = dx.compile((rows: dx.Tensor) => gradient(rows));
  for (const f of [gradient, compiled, compiled, compiled]) expect(f(x).toArraySync()).toEqual(values.map((row) => row.map((v) => 2 * v)));
  // One that loops over the samples.
  expect(dx.vmap((row: dx.Tensor) => row.cumsum(0))(x).toArraySync()).toEqual([[1, -1, 2], [0, 4, NaN]]); // prettier-ignore
});

it("cond(), scan() and whileLoop(), with gradients", () => {
  const x = dx.tensor([[1, 2], [3, 4]], { device, requiresGrad: true }); // prettier-ignore
  const chosen = (limit: number): dx.Tensor => dx.cond(x.sum().gt(limit), (a) => a.mul(2), (a) => a.neg(), [x]); // prettier-ignore
  expect(chosen(3).toArraySync()).toEqual([[2, 4], [6, 8]]); // prettier-ignore
  expect(chosen(30).toArraySync()).toEqual([[-1, -2], [-3, -4]]); // prettier-ignore
  const [carry, products] = dx.scan((c: dx.Tensor, row: dx.Tensor) => [c.add(row), c.mul(row)], dx.zeros([2], { device }), x);
  expect([carry.toArraySync(), products.toArraySync()]).toEqual([[4, 6], [[0, 0], [3, 8]]]); // prettier-ignore
  products.sum().backward();
  expect(x.grad!.toArraySync()).toEqual([[3, 4], [1, 2]]); // prettier-ignore
  const [doubled] = dx.whileLoop((a: dx.Tensor) => a.lt(100), (a: dx.Tensor) => [a.mul(2)], [dx.tensor(1, { device })]); // prettier-ignore
  expect(doubled.itemSync()).toBe(128);
});

it("metrics keep their state there", async () => {
  const accuracy = dx.metrics.accuracy({ device, numClasses: 3 });
  const error = dx.metrics.meanSquaredError({ device });
  for (let i = 0; i < 3; i++) {
    accuracy.update(dx.tensor([[0.2, 0.7, 0.1], [0.8, 0.1, 0.1]], { device }), dx.tensor([1, 2], { device, dtype: "int64" })); // prettier-ignore
    error.update(dx.tensor([1, i], { device }), dx.tensor([1, 0], { device }));
  }
  expect(await accuracy.compute()).toBeCloseTo(0.5, 6);
  expect(await error.compute()).toBeCloseTo(5 / 6, 6);
  expect(() => accuracy.update(dx.ones([2, 3]), dx.ones([2], { dtype: "int64" }))).toThrow(dx.DeviceError);
});

describe("dx.train.fit()", () => {
  const points = Array.from({ length: 64 }, (_, i) => [
    Float32Array.of(Math.cos(i), Math.sin(3 * i)),
    Math.cos(i) > Math.sin(3 * i) ? 1 : 0,
  ]) as [Float32Array, number][];

  /** The loss of the last evaluation, and the weights. */
  async function train(where: string, options: { readonly compile?: boolean; readonly epochs?: number } = {}) {
    const { epochs = 2, compile = false } = options;
    dx.manualSeed(1);
    const model = dx.nn.sequential(dx.nn.linear(2, 8), dx.nn.relu(), dx.nn.linear(8, 2)).to(where);
    const data = (set: typeof points) => dx.data.dataLoader(set, { batchSize: 16, shuffle: set.length > 16, device: where });
    const result = await dx.train.fit(data(points.slice(16)), {
      model,
      optimizer: dx.optim.adam(model.parameters(), { lr: 0.05 }),
      loss: ([x, y]) => dx.nn.functional.crossEntropy(model.forward(x), y),
      epochs,
      compile,
      quiet: true,
      evaluate: { loader: data(points.slice(0, 16)) },
    });
    return { step: result.step, loss: result.history.at(-1)!.evaluation!.loss!, weights: model.parameters() };
  }

  it.each([false, true])("takes the steps that it takes on cpu, from batches that the loader puts there; compile: %s", async (compile) => {
    const [there, here] = [await train(device, { compile }), await train("cpu", { compile })];
    expect(there.step).toBe(6);
    expect(there.loss).toBeCloseTo(here.loss, 4);
    // Adam divides by roots of small numbers.
    there.weights.forEach((weight, i) => expectClose(weight, here.weights[i]!.toArraySync(), { rtol: 1e-4, atol: 1e-4 }));
  });
});

it("profile() counts its operations, and explain() shows its program", () => {
  const x = dx.ones([4, 4], { device });
  const profile = dx.profile(() => void x.matmul(x).relu().sum().itemSync());
  expect(profile.devices.map((one) => String(typeof one === "string" ? one : one.device))).toContain(device);
  expect(String(profile)).toMatch(/^matmul +forward +1 /m);
  const compiled = dx.compile((a: dx.Tensor) => a.matmul(a).add(1));
  compiled(x);
  expect(String(dx.explain(compiled))).toContain("GEMM");
});
