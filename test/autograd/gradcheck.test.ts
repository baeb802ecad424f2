import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, liveBuffers, settledBuffers } from "../device.ts";
import { ROWS, values } from "./rows.ts";

eachDevice("gradients agree with finite differences", (device) => {
  test.each(ROWS.map((row) => ({ row, name: row[0] })))("$name", ({ row: [, fn, shapes, low = -1.5, high = 1.5] }) =>
    clean(
      device,
      () => {
        const inputs = shapes.map((shape, i) => {
          const n = shape.reduce((a, b) => a * b, 1);
          return dx.tensor(new Float32Array(values(n + i, low, high).slice(i)), { shape, requiresGrad: true });
        });
        expect(dx.gradcheck(fn, inputs)).toBe(true);
      },
      { collect: true },
    ),
  );

  test("a wrong gradient is found, and what cannot be checked is refused", () =>
    clean(
      device,
      () => {
        const wrong = dx.defineFunction<[dx.Tensor], dx.Tensor>({ forward: (_, x) => x.square(), backward: (_, dy) => dy });
        const x = dx.tensor([1, 2], { requiresGrad: true });
        expect(() => dx.gradcheck(wrong, [x])).toThrow(/gradient of inputs\[0\] at element 0 must be about 2/);
        expect(() => dx.gradcheck((t) => dx.gt(t!, 0), [x])).toThrow(/results require a gradient/);
        expect(() => dx.gradcheck((t) => t!, [dx.tensor([1], { dtype: "float16", requiresGrad: true })])).toThrow(/dtype float32/);
      },
      { collect: true },
    ));

  test("what one evaluation makes is gone in the next", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([0.5, 1, 1.5], { requiresGrad: true });
        for (const check of [dx.gradcheck, dx.gradgradcheck]) {
          const live = [settledBuffers(device)];
          const fn = (t: dx.Tensor): dx.Tensor => {
            live.push(liveBuffers(device));
            return t.exp().mul(t).sin().mul(t);
          };
          expect(check(fn, [x])).toBe(true);
          const differences = live.slice(-12);
          expect(differences.length).toBe(12);
          expect(Math.max(...differences) - Math.min(...differences)).toBeLessThanOrEqual(1);
        }
      },
      { collect: true },
    ));
});

test("a gradient that is the same everywhere has second derivatives of zero", () => {
  for (const steps of [dx.floor, dx.ceil, dx.round, dx.trunc, dx.sign])
    expect(dx.gradgradcheck((t) => steps(t), [dx.tensor([1.3, -2.2], { requiresGrad: true })])).toBe(true);
});
