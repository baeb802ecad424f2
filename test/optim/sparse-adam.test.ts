/** SparseAdam against what PyTorch recorded of an embedding with sparse gradients (pytorch/record-more.py), and what becomes of rows without a gradient. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Run {
  readonly after: readonly number[][];
  readonly state: Readonly<Record<string, number[]>>;
}
const { sparseAdam: recorded } = JSON.parse(readFileSync(new URL("pytorch/more.json", import.meta.url), "utf8")) as {
  readonly sparseAdam: Readonly<Record<string, Run>>;
};

const tensor = (seed: number, shape: readonly number[]): dx.Tensor =>
  dx.tensor(
    Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.sin(seed + 0.9 * i * i) * (1 + (i % 3))),
    { shape },
  );
const lookUps = [[0, 2], [2, 2, 5], [5], [1, 0, 4], [2], [3, 3, 3, 0]]; // prettier-ignore
const cases = {
  default: { options: {}, layer: {} },
  options: { options: { lr: 0.05, betas: [0.8, 0.95], eps: 1e-3, maximize: true }, layer: {} },
  padding: { options: { lr: 0.05 }, layer: { paddingIdx: 2 } },
} as const;
const TOLERANCE = { rtol: 1e-5, atol: 1e-5 };

eachDevice("sparseAdam", (device) => {
  describe.each([
    ["eager", null],
    ["compiled", {}],
    ["compiled, unchecked", { check: false }],
  ] as const)("%s", (_, how) => {
    test.each(["default", "options", "padding"] as const)("%s: rows move as PyTorch's sparse gradients move them", (name) =>
      clean(
        device,
        () => {
          const { options, layer } = cases[name];
          const weight = new dx.nn.Parameter(tensor(0.3, [6, 3]));
          const optimizer = dx.optim.sparseAdam([weight], options);
          const body = (rows: dx.Tensor, g: dx.Tensor): void => {
            optimizer.zeroGrad();
            dx.nn.functional.embedding(rows, weight, layer).mul(g).sum().backward();
            optimizer.step();
          };
          const compiled = how === null ? null : dx.compile(body, how);
          for (const [step, rows] of lookUps.entries()) {
            const before = numbers(weight);
            (compiled ?? body)(dx.tensor(rows, { dtype: "int32" }), tensor(1.7 * (step + 1), [rows.length, 3]));
            expectClose(weight, recorded[name]!.after[step], TOLERANCE);
            // To the bit.
            numbers(weight).forEach((v, i) => {
              if (!(rows as number[]).includes(Math.floor(i / 3))) expect(v).toBe(before[i]);
            });
          }
          const own = optimizer.stateDict().state[0]!;
          for (const [key, want] of Object.entries(recorded[name]!.state)) expectClose(own[key]!, want, TOLERANCE);
          compiled?.dispose();
          optimizer.dispose();
          weight.grad?.dispose();
          weight.dispose();
        },
        { collect: true },
      ),
    );
  });

  test("rows that come and go need one program", () => {
    const p = tensor(0.3, [4, 3]).requiresGrad_();
    const optimizer = dx.optim.sparseAdam([p]);
    const run = dx.compile((mask: dx.Tensor) => {
      p.mul(mask).sum().backward();
      optimizer.step();
      optimizer.zeroGrad();
    });
    for (const row of [0, 1, 2, 3]) run(dx.tensor([0, 1, 2, 3].map((i) => (i === row ? 1 : 0)), { shape: [4, 1] })); // prettier-ignore
    expect(run.programs).toBe(1);
    run.dispose();
    optimizer.dispose();
  });

  test("a row is found by any element: with NaN, with one that is not 0, of every rank; steps without rows count", () => {
    const seen = (shape: readonly number[], gradient: readonly number[]): boolean[] => {
      const p = dx.zeros(shape).requiresGrad_();
      const optimizer = dx.optim.sparseAdam([p], 1);
      p.grad = dx.tensor(gradient, { shape });
      optimizer.step();
      const moved = numbers(p).map((v) => v !== 0);
      optimizer.dispose();
      return moved;
    };
    expect(seen([3, 2], [0, 0, NaN, 0, 0, 1])).toEqual([false, false, true, false, false, true]);
    expect(seen([3], [0, 1, -1])).toEqual([false, true, true]);
    expect(seen([], [2])).toEqual([true]);
    expect(seen([2, 1, 2], [0, 0, 0, 3])).toEqual([false, false, false, true]);
    // The second step is the first with rows: its bias corrections are those of t = 2.
    const p = dx.zeros([2, 1]).requiresGrad_();
    const optimizer = dx.optim.sparseAdam([p], { lr: 1, betas: [0.5, 0.5] });
    for (const g of [[0, 0], [0, 1]]) { p.grad = dx.tensor(g, { shape: [2, 1] }); optimizer.step(); } // prettier-ignore
    const [first, second] = numbers(p) as [number, number];
    expect(first).toBe(0);
    expect(second).toBeCloseTo((-Math.sqrt(0.75) / 0.75) * (0.5 / Math.sqrt(0.5)), 5);
    // A row of the gradient that is 0 keeps its averages, where Adam's decay.
    const averages = numbers(optimizer.stateDict().state[0]!["exp_avg"]!);
    p.grad = dx.zeros([2, 1]);
    optimizer.step();
    expect(numbers(optimizer.stateDict().state[0]!["exp_avg"]!)).toEqual(averages);
    expect(numbers(p)).toEqual([first, second]);
    optimizer.dispose();
  });

  test("what is refused", () => {
    const p = dx.zeros([2]).requiresGrad_();
    expect(() => dx.optim.sparseAdam([p], { eps: 0 })).toThrow(/eps.*above 0/);
    expect(() => dx.optim.sparseAdam([p], { betas: [1, 0.9] })).toThrow(dx.ValueError);
    expect(() => dx.optim.sparseAdam([p], -1)).toThrow(/lr/);
    expect(() => dx.optim.sparseAdam([p], { weightDecay: 0.1 } as never)).toThrow(/weightDecay/);
  });
});
