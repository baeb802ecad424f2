/** Softmax over classes in clusters. Expected: PyTorch 2.15's AdaptiveLogSoftmaxWithLoss, its state loaded. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Recorded {
  readonly n: number;
  readonly c: number;
  readonly cut: number[];
  readonly div: number;
  readonly hb: boolean;
  readonly N: number;
  readonly x: number[][];
  readonly t: number[];
  readonly state: Readonly<Record<string, number[][]>>;
  readonly shapes: Readonly<Record<string, number[]>>;
  readonly output: number[];
  readonly loss: number | null;
  readonly logprob: number[][];
  readonly predict: number[];
  readonly gx?: number[][];
  readonly g?: Readonly<Record<string, number[][]>>;
}

const cases = JSON.parse(readFileSync(new URL("recorded/adaptive-softmax.json", import.meta.url), "utf8")) as Recorded[];
const close = { rtol: 1e-4, atol: 1e-5 };

describe.each(devices)("a softmax over clusters on %s", (device) => {
  const make = (r: Recorded): dx.nn.AdaptiveLogSoftmaxWithLoss => {
    const m = dx.nn.adaptiveLogSoftmaxWithLoss(r.n, r.c, r.cut, { divValue: r.div, headBias: r.hb, generator: new dx.Generator(1) });
    m.loadStateDict(
      Object.fromEntries(Object.entries(r.state).map(([k, v]) => [k, dx.tensor(v.flat(2), { dtype: "float32" }).reshape(r.shapes[k]!)])),
    );
    return m;
  };

  test.each(cases.map((r, i) => [i, r] as const))("case %i is PyTorch's", (_, r) =>
    clean(
      device,
      () => {
        const m = make(r);
        const x = dx.tensor(Float32Array.from(r.x.flat()), { shape: [r.N, r.n], requiresGrad: true });
        const target = dx.tensor(r.t, { dtype: "int32" });
        const { output, loss } = m(x, target);
        expect(output.shape).toEqual([r.N]);
        expectClose(output, r.output, close);
        if (r.loss === null) expect(loss.itemSync()).toBeNaN();
        else expectClose(loss, r.loss, close);
        expect(m.logProb(x).shape).toEqual([r.N, r.c]);
        expectClose(m.logProb(x), r.logprob.flat(), close);
        expect(m.predict(x).toArraySync()).toEqual(r.predict);
        if (r.gx === undefined) return;
        loss.backward();
        expectClose(x.grad!, r.gx.flat(), close);
        for (const [name, p] of m.namedParameters()) {
          if (r.g![name] !== undefined) expectClose(p.grad!, r.g![name].flat(2), close);
          p.grad = null;
        }
        // A row alone, and three calls compiled.
        expectClose(m(x.select(0, 1), target.select(0, 1)).output, r.output[1]!, close);
        expect(m.predict(x.select(0, 1)).itemSync()).toBe(r.predict[1]);
        const step = dx.compile((v: dx.Tensor, t: dx.Tensor) => m(v, t).loss);
        for (let i = 0; i < 3; i++) expectClose(step(x.detach(), target), r.loss!, close);
        step.dispose();
        m.dispose();
      },
      { collect: true },
    ),
  );

  test("refuses what fits no class", () =>
    clean(
      device,
      () => {
        const m = dx.nn.adaptiveLogSoftmaxWithLoss(4, 6, [2, 4], { generator: new dx.Generator(1) });
        const x = dx.ones([2, 4]);
        if (device === "cpu")
          expect(() => m(x, dx.tensor([0, 6], { dtype: "int32" }))).toThrow(/target must be integers in \[0, 5\]; received 6/);
        expect(() => m(x, dx.tensor([0], { dtype: "int32" }))).toThrow(/target must be of the shape \[2\]/);
        expect(() => m(dx.ones([2, 3]), dx.tensor([0, 1], { dtype: "int32" }))).toThrow(/x must be \[N, 4\] or \[4\]/);
        for (const cutoffs of [[], [0], [2, 2], [3, 1], [6], [1.5]])
          expect(() => dx.nn.adaptiveLogSoftmaxWithLoss(4, 6, cutoffs)).toThrow(/cutoffs must be integers that rise/);
        m.dispose();
      },
      { collect: true },
    ));
});
