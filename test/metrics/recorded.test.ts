/** Metrics against recorded values of torchmetrics and scikit-learn (record.py), over several batches. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachMode } from "../device.ts";
import { near } from "../tolerance.ts";

interface Recorded {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}
interface Case {
  readonly metric: string;
  readonly inputs: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly source: string;
  readonly value: unknown;
}
interface File {
  readonly batches: readonly number[];
  readonly inputs: Readonly<Record<string, { readonly prediction: Recorded; readonly target: Recorded }>>;
  readonly cases: readonly Case[];
}

const { batches, inputs, cases } = JSON.parse(readFileSync(new URL("recorded.json", import.meta.url), "utf8")) as File;
const make = dx.metrics as unknown as Readonly<Record<string, (options: object) => dx.metrics.PredictionMetric<unknown>>>;
const flat = (value: unknown): number[] => [value].flat(Infinity).map((v) => (v === null ? NaN : (v as number)));

/** Prediction and target of each batch. */
function batchesOf(name: string, sizes: readonly number[]): readonly (readonly [dx.Tensor, dx.Tensor])[] {
  const { prediction, target } = inputs[name]!;
  const whole = [
    dx.tensor(prediction.values, { shape: prediction.shape, dtype: "float32" }),
    dx.tensor(target.values, { shape: target.shape, dtype: name === "numbers" ? "float32" : "int64" }),
  ] as const;
  const parts = whole.map((t) => t.split(sizes, 0));
  return sizes.map((_, i) => [parts[0]![i]!, parts[1]![i]!]);
}

it("the recorded cases are there", () => {
  expect(cases.length).toBeGreaterThan(130);
  expect(new Set(cases.map((c) => c.metric)).size).toBe(14);
});

/** Exact curves keep all scores, which compile refuses. */
const canCompile = ({ metric, options }: Case): boolean =>
  !["rocAuc", "averagePrecision"].includes(metric) || options.thresholds !== undefined;
/** Of each kind of inputs one, and one of the scores: what becomes of the counts is the same, compiled or not. */
const compiledCases = new Set(
  new Map(
    cases.filter((c) => canCompile(c) && !/^(precision|recall|f1|fBeta)$/.test(c.metric)).map((c) => [`${c.metric} ${c.inputs}`, c]),
  ).values(),
);

/** The value over the batches, and the recorded one where they differ. */
async function difference({ metric, inputs: name, options, value, source }: Case, isEager: boolean): Promise<unknown> {
  const m = make[metric]!(options);
  const update = (prediction: dx.Tensor, target: dx.Tensor): void => m.update(prediction, target);
  const compiled = dx.compile(update);
  // Equal batches replay one program.
  for (const batch of batchesOf(name, isEager ? batches : [10, 10, 10, 10])) (isEager ? update : compiled)(...batch);
  const [got, want] = [flat(await m.compute()), flat(value)];
  m.dispose();
  compiled.dispose();
  const isEqual = got.length === want.length && got.every((g, i) => near(g, want[i]!, { rtol: 2e-6, atol: 1e-7 }));
  return isEqual ? null : { name, options, source, got, want };
}

eachMode("recorded values", (device, { name }) => {
  const run = cases.filter((c) => name === "eager" || compiledCases.has(c));
  for (const metric of new Set(run.map((c) => c.metric)))
    it(metric, async () => {
      const wrong: unknown[] = [];
      for (const each of run)
        if (each.metric === metric) {
          const found = await clean(device, () => difference(each, name === "eager"), { collect: name === "compiled" });
          if (found !== null) wrong.push(found);
        }
      expect(wrong).toEqual([]);
    });
});
