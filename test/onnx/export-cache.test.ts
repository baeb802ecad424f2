/** Language models with their keys and values as inputs and outputs: in parts as at once, and the same from an exported file. ONNX Runtime runs them in test/onnx/judge. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { exportedWithCache, passes, smallLlama } from "./judge/cache-passes.ts";

function furthest(a: dx.Tensor, b: dx.Tensor): number {
  const [x, y] = [numbers(a), numbers(b)];
  expect(x.length).toBe(y.length);
  return x.reduce((max, v, i) => Math.max(max, Math.abs(v - y[i]!)), 0);
}

eachDevice("a language model with a cache", (device) => {
  test("gives in parts what it gives at once, and so does its file", async () => {
    await dx.scope(async () => {
      const model = await dx.models.fromConfig(smallLlama, { family: "llama", device });
      const text = dx.randint(0, 64, [2, 9], { dtype: "int64", device });
      const all = dx.noGrad(() => model(text));
      const runs = passes(model, text, [5, 1, 1, 2]);
      const joined = dx.cat(runs.map(({ wanted }) => wanted[0]!), 1); // prettier-ignore
      expect(furthest(joined, all)).toBeLessThan(1e-5);

      using read = await dx.io.onnx.load(await exportedWithCache(model), { device });
      expect(read.inputs.map(({ name, shape }) => [name, shape]).slice(0, 2)).toEqual([
        ["tokens", ["batch", "length"]],
        ["past.0.key", ["batch", 2, "past", 8]],
      ]);
      for (const { args, wanted } of runs) {
        const results = Object.values(read.call(Object.fromEntries(read.inputs.map(({ name }, i) => [name, args[i]!])), { eager: true }));
        expect(results.map((t) => t.shape)).toEqual(wanted.map((t) => t.shape));
        for (const [i, t] of results.entries()) expect(furthest(t, wanted[i]!)).toBeLessThan(1e-5);
      }
      model.dispose();
    });
  });
});

test("what does not fit a model's cache is refused", async () => {
  const model = await dx.models.fromConfig(smallLlama, { family: "llama", device: "cpu" });
  const past = (n: number, length: number, count = 6): dx.Tensor[] =>
    Array.from({ length: count }, () => dx.zeros([n, 2, length, 8], { device: "cpu" }));
  const tokens = dx.zeros([2, 3], { dtype: "int32", device: "cpu" });
  expect(() => model.withPast(tokens, past(2, 4, 5))).toThrow(dx.ShapeError);
  expect(() => model.withPast(tokens, past(1, 4))).toThrow(/past\[0\].*\[2, 2, 4, 8\]/s);
  expect(() => model.withPast(tokens, [...past(2, 4, 5), ...past(2, 3, 1)])).toThrow(/past\[5\]/);
  expect(() => model.withPast(tokens, past(2, 126))).toThrow(dx.IndexError);
  expect(() => model.withPast(tokens, [dx.zeros([3]), ...past(2, 0, 5)])).toThrow(dx.ShapeError);
  expect(() => model.withPast(dx.zeros([2, 3]), past(2, 4))).toThrow(dx.DTypeError);
  expect(model.withPast(tokens, past(2, 125))[0]!.shape).toEqual([2, 3, 64]);
  model.dispose();
});
