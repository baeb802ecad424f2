/** Metrics at the edges: dtypes, classes that never occur, NaN, values out of range, wrong arguments. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

const { metrics } = dx;
const ints = (values: number[] | number[][], dtype: dx.DType = "int32"): dx.Tensor => dx.tensor(values, { dtype });
/** The value of one batch. */
const of = <R>(metric: dx.metrics.PredictionMetric<R>, prediction: dx.Tensor, target: dx.Tensor): Promise<R> => {
  metric.update(prediction, target);
  return metric.compute();
};
type Call = () => unknown;

eachDevice("edges of metrics", () => {
  it("scores of all floating dtypes, targets of all integer ones and bool", async () => {
    const scores = [0.25, 0.75, 1, 0];
    for (const dtype of ["float16", "bfloat16", "float32"] as const)
      for (const target of ["int64", "int32", "int16", "uint8", "bool"] as const) {
        const [p, t] = [dx.tensor(scores, { dtype }), ints([0, 1, 0, 0], target)];
        expect([dtype, target, await of(metrics.accuracy(), p, t)]).toEqual([dtype, target, 0.75]);
        expect([dtype, target, await of(metrics.rocAuc(), p, t)]).toEqual([dtype, target, 2 / 3]);
      }
    const wide = dx.tensor([[1, 2], [3, 1]], { dtype: "bfloat16" }); // prettier-ignore
    expect(await of(metrics.accuracy({ numClasses: 2, topK: 2 }), wide, ints([0, 1], "uint32"))).toBe(1);
    expect(await of(metrics.perplexity(), dx.zeros([2, 4], { dtype: "float16" }), ints([3, 0]))).toBeCloseTo(4, 5);
    expect(await of(metrics.meanSquaredError(), ints([1, 2], "int64"), dx.tensor([3, 2], { dtype: "float16" }))).toBe(2);
    expect(await of(metrics.accuracy({ numClasses: 256, ignoreIndex: 255 }), ints([1, 255], "uint8"), ints([1, 255], "uint8"))).toBe(1);
  });

  it("scores with requiresGrad get no gradient, and no history", async () => {
    const logits = dx.tensor([2, -1]).requiresGrad_();
    const m = metrics.accuracy({ fromLogits: true });
    m.update(logits, ints([1, 0]));
    expect([await m.compute(), logits.grad, m.stateDict()["counts"]!.requiresGrad]).toEqual([1, null, false]);
  });

  it("no samples are NaN: before the first batch, of empty batches, where all are ignored", async () => {
    const made: Readonly<Record<string, dx.metrics.PredictionMetric<unknown>>> = {
      accuracy: metrics.accuracy({ numClasses: 3, ignoreIndex: -1 }),
      recall: metrics.recall({ numClasses: 3, ignoreIndex: -1 }),
      auc: metrics.rocAuc({ numClasses: 3, ignoreIndex: -1 }),
      binned: metrics.averagePrecision({ numClasses: 3, ignoreIndex: -1, thresholds: [0.5] }),
    };
    for (const [name, m] of Object.entries(made)) {
      expect([name, await m.compute()]).toEqual([name, NaN]);
      m.update(dx.zeros([0, 3]), dx.zeros([0], { dtype: "int32" }));
      m.update(dx.zeros([2, 3, 0]), dx.zeros([2, 0], { dtype: "int32" }));
      m.update(dx.full([2, 3], 1 / 3), ints([-1, -1]));
      expect([name, await m.compute(), await m(dx.zeros([0, 3]), dx.zeros([0], { dtype: "int32" }))]).toEqual([name, NaN, NaN]);
    }
    expect(await metrics.recall({ numClasses: 2, average: "none" }).compute()).toEqual([NaN, NaN]);
    expect(await metrics.confusionMatrix({ normalize: "all" }).compute()).toEqual([[0, 0], [0, 0]]); // prettier-ignore
    const errors = [metrics.meanSquaredError(), metrics.rmse(), metrics.meanAbsoluteError(), metrics.r2Score(), metrics.perplexity()];
    expect(await Promise.all(errors.map((m) => m.compute()))).toEqual([NaN, NaN, NaN, NaN, NaN]);
  });

  it("classes that never occur, and batches of one class", async () => {
    const [p, t] = [ints([0, 0, 2]), ints([0, 0, 0])];
    const options = { numClasses: 4, average: "none" } as const;
    expect(await of(metrics.precision(options), p, t)).toEqual([1, 0, 0, 0]);
    expect(await of(metrics.precision({ ...options, zeroDivision: NaN }), p, t)).toEqual([1, NaN, 0, NaN]);
    expect(await of(metrics.recall({ numClasses: 4 }), p, t)).toBeCloseTo(1 / 3, 12); // of classes 0 and 2
    expect(await of(metrics.recall({ numClasses: 4, zeroDivision: NaN }), p, t)).toBeCloseTo(2 / 3, 12);
    expect(await of(metrics.recall({ numClasses: 4, average: "weighted" }), p, t)).toBeCloseTo(2 / 3, 12);
    const [scores, ones] = [dx.tensor([0.2, 0.9]), ints([1, 1])];
    expect(await of(metrics.rocAuc(), scores, ones)).toBeNaN();
    expect(await of(metrics.averagePrecision(), scores, ones)).toBe(1);
    expect(await of(metrics.averagePrecision(), scores, ints([0, 0]))).toBeNaN();
    expect(await of(metrics.f1(), scores, ints([0, 0]))).toBe(0);
    const split = dx.tensor([[0.7, 0.3, 0], [0.4, 0.6, 0]]); // prettier-ignore
    expect(await of(metrics.rocAuc({ numClasses: 3, average: "none" }), split, ints([0, 1]))).toEqual([1, 1, NaN]);
    expect(await of(metrics.rocAuc({ numClasses: 3 }), split, ints([0, 1]))).toBe(1);
    expect(await of(metrics.r2Score(), dx.tensor([1, 2]), dx.tensor([1, 1]))).toBe(0);
    expect(await of(metrics.r2Score(), dx.tensor([1, 1]), dx.tensor([1, 1]))).toBe(1);
    expect(await of(metrics.r2Score(), dx.tensor([1]), dx.tensor([2]))).toBeNaN();
  });

  it("equal and infinite scores, and targets far from zero", async () => {
    const t = ints([0, 1, 0, 1]);
    expect(await of(metrics.rocAuc(), dx.full([4], 0.5), t)).toBe(0.5);
    expect(await of(metrics.averagePrecision(), dx.full([4], 0.5), t)).toBe(0.5);
    expect(await of(metrics.rocAuc(), dx.tensor([-Infinity, Infinity, -0, 0]), t)).toBe(3.5 / 4);
    expect(await of(metrics.rocAuc({ thresholds: 3 }), dx.tensor([1, 1, 0, 1]), t)).toBe(0.75);
    const m = metrics.r2Score();
    for (let i = 0; i < 4; i++) m.update(dx.tensor([5000 + i, 5001.5 + i]), dx.tensor([5000 + i, 5001 + i]));
    // Targets 0, 1, 1, 2, 2, 3, 3, 4: deviation 12, residual 4 · 0.25.
    expect(await m.compute()).toBeCloseTo(1 - 1 / 12, 5);
  });

  it("NaN among predictions makes the value NaN, unless its target is ignored", async () => {
    const scores = dx.tensor([0.2, NaN, 0.9]);
    for (const make of [metrics.accuracy, metrics.f1, metrics.rocAuc, metrics.averagePrecision]) {
      expect(await of(make(), scores, ints([0, 1, 1]))).toBeNaN();
      expect(await of(make({ ignoreIndex: -1 }), scores, ints([0, -1, 1]))).toBe(1);
    }
    const wide = dx.tensor([[NaN, 1], [2, 1]]); // prettier-ignore
    expect(await of(metrics.recall({ numClasses: 2, average: "none" }), wide, ints([0, 0]))).toEqual([NaN, NaN]);
    expect(await of(metrics.confusionMatrix({ numClasses: 2 }), wide, ints([0, 0]))).toEqual([[NaN, NaN], [NaN, NaN]]); // prettier-ignore
    expect(await of(metrics.perplexity(), wide, ints([0, 0]))).toBeNaN();
    expect(await of(metrics.perplexity({ ignoreIndex: 1 }), wide, ints([1, 0]))).not.toBeNaN();
    expect(await of(metrics.meanAbsoluteError(), dx.tensor([NaN]), dx.tensor([1]))).toBeNaN();
    expect(await of(metrics.r2Score(), dx.tensor([NaN, 1]), dx.tensor([1, 2]))).toBeNaN();
  });

  it("compute() rejects targets and predictions out of range with their number, until reset()", async () => {
    const scores = dx.tensor([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]]); // prettier-ignore
    const cases: readonly (readonly [dx.metrics.PredictionMetric<unknown>, dx.Tensor, dx.Tensor, RegExp])[] = [
      [metrics.accuracy({ numClasses: 2 }), scores, ints([0, 2, -1]), /accuracy: target must be classes in \[0, 2\).*2 others/s],
      [metrics.accuracy({ numClasses: 2, ignoreIndex: -1 }), scores, ints([0, 2, -1]), /ignoreIndex \(-1\).*1 others/s],
      [metrics.f1({ numClasses: 3 }), ints([3, 0]), ints([0, 0]), /prediction must be classes in \[0, 3\)/],
      [metrics.precision(), dx.tensor([3.5, -2]), ints([1, 0]), /prediction must be probabilities.*2 others.*fromLogits/s],
      [metrics.recall({ numLabels: 2 }), scores, ints([[0, 1], [1, 5], [0, 0]]), /target/],
      [metrics.confusionMatrix(), ints([0, 2]), ints([0, 1]), /prediction/],
      [metrics.rocAuc({ numClasses: 2 }), dx.tensor([[4, 1]]), ints([0]), /prediction/],
      [metrics.rocAuc({ thresholds: 3 }), dx.tensor([4]), ints([0]), /prediction/],
      [metrics.averagePrecision(), dx.tensor([4]), ints([9]), /target/],
      [metrics.perplexity(), scores, ints([0, 1, -100]), /perplexity: target/],
    ]; // prettier-ignore
    for (const [m, prediction, target, message] of cases) {
      m.update(prediction, target);
      await expect(m.compute()).rejects.toThrow(message);
      await expect(m.compute()).rejects.toThrow(dx.ValueError);
      m.reset();
      await m.compute();
    }
  });

  it("update() refuses shapes and dtypes at once, and keeps the state", async () => {
    const [p, t] = [dx.tensor([0.1, 0.9]), ints([0, 1])];
    const wide = dx.ones([2, 3]);
    const multi = metrics.accuracy({ numClasses: 3 });
    const binary = metrics.accuracy();
    binary.update(p, t);
    const shapes: readonly Call[] = [
      () => binary.update(p, ints([0])),
      () => binary.update(wide, t),
      () => multi.update(dx.ones([2, 4]), t),
      () => multi.update(wide, ints([0, 1, 1])),
      () => multi.update(p, t),
      () => metrics.f1({ numLabels: 3 }).update(wide, t),
      () => metrics.f1({ numLabels: 2 }).update(wide, dx.ones([2, 3], { dtype: "int32" })),
      () => metrics.rocAuc().update(p, ints([0])),
      () => metrics.rocAuc({ numClasses: 2 }).update(wide, t),
      () => metrics.rmse().update(p, dx.ones([2, 1])),
      () => metrics.perplexity().update(wide, ints([0])),
    ];
    for (const call of shapes) expect(call).toThrow(dx.ShapeError);
    const dtypes: readonly Call[] = [
      () => binary.update(p, p),
      () => multi.update(wide, p),
      () => metrics.accuracy({ numClasses: 3, topK: 2 }).update(t, t),
      () => metrics.rocAuc().update(t, t),
      () => metrics.perplexity().update(dx.ones([2, 3], { dtype: "int32" }), t),
      () => metrics.r2Score().update(p, dx.tensor([true, false])),
      () => binary.update([0.1] as unknown as dx.Tensor, t),
      () => binary.update(p, undefined as unknown as dx.Tensor),
    ];
    for (const call of dtypes) expect(call).toThrow(dx.DTypeError);
    expect(() => binary.update(p.to("meta"), t)).toThrow(dx.DeviceError);
    expect(await binary.compute()).toBe(1);
  });

  it("options and merges that make no sense are refused", () => {
    const values: readonly Call[] = [
      () => metrics.accuracy({ numClasses: 1 }),
      () => metrics.accuracy({ numClasses: 2.5 }),
      () => metrics.accuracy({ numClasses: 2, numLabels: 2 }),
      () => metrics.accuracy({ threshold: 1.5 }),
      () => metrics.accuracy({ numClasses: 3, threshold: 0.5 }),
      () => metrics.accuracy({ ignoreIndex: 0.5 }),
      () => metrics.accuracy({ average: "macro" }),
      () => metrics.accuracy({ numClasses: 3, topK: 4 }),
      () => metrics.accuracy({ topK: 2 }),
      () => metrics.precision({ zeroDivision: 2 }),
      () => metrics.fBeta({ beta: 0 }),
      () => metrics.topKAccuracy({ numClasses: 3 }),
      () => metrics.confusionMatrix({ numClasses: 1e6 }),
      () => metrics.rocAuc({ thresholds: 1 }),
      () => metrics.rocAuc({ thresholds: [0.5, 0.2] }),
      () => metrics.rocAuc({ thresholds: [0.5, 2] }),
      () => metrics.rocAuc({ numClasses: 3, average: "micro" }),
      () => metrics.collection({}),
      () => metrics.accuracy().merge(metrics.accuracy({ threshold: 0.3 })),
      () => metrics.rmse().merge(metrics.meanAbsoluteError()),
    ];
    for (const call of values) expect(call).toThrow(dx.ValueError);
    const wrong: readonly Call[] = [
      () => metrics.accuracy({ average: "all" as "micro", numClasses: 3 }),
      () => metrics.mean({ nanStrategy: "warn" as "ignore" }),
      () => metrics.collection({ a: 3 as unknown as dx.metrics.PredictionMetric }),
      () => metrics.collection({ a: metrics.rmse() }).merge(metrics.rmse() as never),
      () => metrics.rmse().merge({} as dx.metrics.PredictionMetric),
    ];
    for (const call of wrong) expect(call).toThrow(dx.DxError);
    const [a, b] = [metrics.collection({ a: metrics.rmse() }), metrics.collection({ b: metrics.rmse() })];
    expect(() => a.merge(b as never)).toThrow(dx.ValueError);
  });
});
