/** What all metrics share: state, checkpoints, merging, devices, host reads, compile; and the inputs at the edges. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

const { metrics } = dx;
const ints = (values: number[] | number[][], dtype: dx.DType = "int32"): dx.Tensor => dx.tensor(values, { dtype });
const pair = (): [dx.Tensor, dx.Tensor] => [dx.tensor([0.1, 0.4, 0.35, 0.8]), ints([0, 0, 1, 1])];

/** One of each kind, with a batch that it takes. */
const kinds: Readonly<Record<string, readonly [() => dx.metrics.PredictionMetric<unknown>, () => [dx.Tensor, dx.Tensor]]>> = {
  accuracy: [() => metrics.accuracy(), pair],
  topK: [() => metrics.accuracy({ numClasses: 3, topK: 2, ignoreIndex: 2 }), () => [dx.tensor([[1, 2, 3], [3, 1, 0]]), ints([2, 1], "int64")]],
  classes: [() => metrics.rocAuc({ numClasses: 2, average: "none", fromLogits: true }), () => [dx.tensor([[1, 2], [3, 1]]), ints([0, 1], "uint8")]],
  multilabel: [() => metrics.f1({ numLabels: 2, average: "none" }), () => [dx.tensor([[0.1, 0.9], [0.8, 0.7]]), ints([[0, 1], [1, 0]])]],
  matrix: [() => metrics.confusionMatrix({ numClasses: 3 }), () => [ints([0, 2, 1]), ints([0, 1, 1])]],
  exact: [() => metrics.rocAuc(), pair],
  binned: [() => metrics.rocAuc({ thresholds: 5 }), pair],
  error: [() => metrics.meanSquaredError(), () => [dx.tensor([1, 2, 4]), dx.tensor([1, 1, 1])]],
  r2: [() => metrics.r2Score(), () => [dx.tensor([2.5, 0, 2, 8]), dx.tensor([3, -0.5, 2, 7])]],
  perplexity: [() => metrics.perplexity(), () => [dx.tensor([[1, 2, 3], [3, 1, 0]]), ints([2, 0])]],
}; // prettier-ignore

eachDevice("metrics", (device) => {
  for (const [name, [make, batch]] of Object.entries(kinds)) {
    it(`${name}: update() waits for nothing; clone(), merge(), reset() and stateDict() keep the value`, async () => {
      await clean(
        device,
        async () => {
          const [m, twice] = [make(), make()];
          const data = batch();
          const before = dx.counters(device).readbacks;
          for (let i = 0; i < 3; i++) m.update(...data);
          expect(dx.counters(device).readbacks).toBe(before);
          twice.update(...data);
          twice.update(...data);
          const value = await m.compute();
          expect(await m.compute()).toEqual(value);

          const copy = m.clone();
          copy.update(...data);
          expect(await m.compute()).toEqual(value);
          const loaded = make();
          expect(loaded.loadStateDict(m.stateDict())).toEqual({ missing: [], unexpected: [] });
          expect(await loaded.compute()).toEqual(value);

          const merged = make();
          merged.update(...data);
          merged.merge(twice);
          expect(await merged.compute()).toEqual(value);
          merged.merge(merged);
          copy.update(...data);
          copy.update(...data);
          expect(await merged.compute()).toEqual(await copy.compute());

          m.reset();
          expect(await m(...data)).toEqual(await loaded(...data));
          m.reset();
          expect(await m.compute()).toEqual(await make().compute());
          for (const each of [m, twice, copy, loaded, merged]) each.dispose();
        },
        { collect: true },
      );
    });
  }

  it("a checkpoint keeps a collection, and loads it where the exact curve has other sizes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-metrics-"));
    try {
      const make = (): dx.metrics.MetricCollection<{ auc: dx.metrics.PredictionMetric; f1: dx.metrics.PredictionMetric }> =>
        metrics.collection({ auc: metrics.rocAuc(), f1: metrics.f1() });
      const saved = make();
      for (let i = 0; i < 3; i++) saved.update(...pair());
      await dx.save(join(folder, "metrics.safetensors"), { metrics: saved });
      const loaded = make();
      loaded.update(...pair());
      await dx.load(join(folder, "metrics.safetensors"), { into: { metrics: loaded } });
      expect(await loaded.compute()).toEqual({ auc: 0.75, f1: 2 / 3 });
      expect(loaded.metrics.auc.stateDict()["scores"]!.shape).toEqual([12, 1]);
      loaded.update(dx.tensor([0.9]), ints([0]));
      expect(await loaded.metrics.auc.compute()).toBeCloseTo(27 / 42, 12);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("a cast of the model leaves the state's dtypes", async () => {
    class Model extends dx.nn.Module {
      readonly error = metrics.meanSquaredError();
      readonly layer = dx.nn.linear(1, 1);
      override forward(x: dx.Tensor): dx.Tensor {
        return this.layer(x);
      }
    }
    const model = new Model();
    model.error.update(dx.tensor([1000]), dx.tensor([0]));
    model.to("float16");
    expect(model.layer.weight.dtype).toBe("float16");
    expect(model.error.to("float16").stateDict()["total"]!.dtype).toBe("float32");
    expect(await model.error.compute()).toBe(1e6);
  });

  it("compiled updates write the state, replayed with other data", async () => {
    const model = dx.nn.linear(2, 3);
    const group = metrics.collection({
      recall: metrics.recall({ numClasses: 3 }),
      auc: metrics.rocAuc({ numClasses: 3, thresholds: 9, fromLogits: true }),
    });
    const same = group.clone();
    const step = dx.compile((x: dx.Tensor, t: dx.Tensor) => {
      const logits = model(x);
      group.update(logits, t);
      return dx.nn.functional.crossEntropy(logits, t);
    });
    for (let i = 0; i < 4; i++) {
      const [x, t] = [dx.tensor([[i, 1], [1, -i], [0.5, i - 2]]), ints([i % 3, 1, 2])]; // prettier-ignore
      step(x, t);
      same.update(model(x), t);
    }
    expect(await group.compute()).toEqual(await same.compute());
    const exact = metrics.rocAuc();
    expect(() => dx.compile((p: dx.Tensor, t: dx.Tensor) => exact.update(p, t))(...pair())).toThrow(/thresholds/);
    expect(await exact.compute()).toBeNaN();
  });

  it("the state is of ordinary tensors, also in inferenceMode()", async () => {
    for (const make of [() => metrics.accuracy(), () => metrics.rocAuc(), () => metrics.rocAuc({ thresholds: 3 })]) {
      const [p, t] = pair();
      const m = dx.inferenceMode(() => {
        const made = make();
        for (let i = 0; i < 3; i++) made.update(p.mul(1), t);
        return made;
      });
      m.update(p, t);
      expect(await m.compute()).toBe(0.75);
      expect(Object.values(m.stateDict()).some((state) => state.isInference)).toBe(false);
      m.reset();
      expect(await m.compute()).toBeNaN();
    }
  });

  it("counts and sums are exact beyond 2^24", async () => {
    const m = metrics.accuracy({ numClasses: 2 });
    m.update(ints([0, 1]), ints([0, 0]));
    const state = m.stateDict();
    // Hits of class 0, predictions of both classes, targets of class 0.
    state["counts"]!.copy_(dx.tensor([2n ** 24n, 0n, 2n ** 24n, 1n, 2n ** 24n + 1n, 0n, 0n, 0n], { dtype: "int64", shape: [4, 2] }));
    m.update(ints([0, 0]), ints([0, 0]));
    expect(await m.compute()).toBe((2 ** 24 + 2) / (2 ** 24 + 3));

    const total = metrics.sum();
    total.update(2 ** 24);
    for (let i = 0; i < 5; i++) total.update(1);
    total.update(dx.tensor([2 ** 24 + 1, 2], { dtype: "int32" }));
    expect(await total.compute()).toBe(2 ** 25 + 8);
    const average = metrics.mean();
    for (let i = 0; i < 100; i++) average.update(0.1);
    expect(await average.compute()).toBeCloseTo(0.1, 12);
  });

  it("mean(), sum(), min() and max() take numbers and tensors, with weights and NaN", async () => {
    const [mean, sum, min, max] = [metrics.mean(), metrics.sum(), metrics.min(), metrics.max()];
    expect(await Promise.all([mean, sum, min, max].map((m) => m.compute()))).toEqual([NaN, 0, Infinity, -Infinity]);
    mean.update(dx.tensor([1, 2]), dx.tensor([3, 1]));
    mean.update(5, 4);
    mean.update(dx.tensor([3, 5]), 2);
    expect(await mean.compute()).toBe((5 + 20 + 16) / 12);
    for (const m of [sum, min, max]) {
      m.update(dx.tensor([[3, -1]], { dtype: "float16" }));
      m.update(dx.zeros([0]));
      m.update(7);
    }
    expect(await Promise.all([sum, min, max].map((m) => m.compute()))).toEqual([9, -1, 7]);
    expect(await max(dx.tensor([2, 100], { dtype: "uint8" }))).toBe(100);
    for (const m of [sum, min, max]) m.update(dx.tensor([NaN, 1]));
    expect(await Promise.all([sum, min, max].map((m) => m.compute()))).toEqual([NaN, NaN, NaN]);
    const known = [metrics.mean, metrics.sum, metrics.min, metrics.max].map((make) => make({ nanStrategy: "ignore" }));
    for (const m of known) {
      m.update(dx.tensor([NaN, 4, 2]));
      m.update(NaN);
    }
    expect(await Promise.all(known.map((m) => m.compute()))).toEqual([3, 6, 2, 4]);
    sum.reset();
    sum.update(Infinity);
    sum.update(1);
    expect(await sum.compute()).toBe(Infinity);
    expect(() => sum.update(dx.tensor([true]))).toThrow(dx.DTypeError);
    expect(() => sum.update("1" as unknown as number)).toThrow(dx.DTypeError);
    expect(() => mean.update(dx.ones([2]), dx.ones([3]))).toThrow(dx.ShapeError);
  });

  it("a metric takes views, and later changes of its inputs do not change it", async () => {
    const scores = dx.tensor([[0.1, 9], [0.4, 9], [0.35, 9], [0.8, 9]]).select(1, 0); // prettier-ignore
    const exact = metrics.rocAuc();
    const classes = ints([0, 0, 1, 1]);
    exact.update(scores, classes);
    scores.zero_();
    classes.zero_();
    exact.update(dx.zeros([0]), dx.zeros([0], { dtype: "int32" }));
    expect(await exact.compute()).toBe(0.75);
  });
});
