/** linspace and logspace between computed ends; those between numbers are compared by the recorded cases. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { expectClose } from "../../tolerance.ts";

const on = (run: () => void): void => void dx.withDevice("cpu", () => dx.scope(run));

it.each([0, 1, 2, 5, 8])("tensors as ends give what numbers give: %i steps", (steps) => {
  on(() => {
    const [a, b] = [dx.tensor(-1.5), dx.tensor(4)];
    const want = dx.linspace(-1.5, 4, steps).toArraySync() as number[];
    for (const [start, end] of [
      [a, b],
      [-1.5, b],
      [a, 4],
    ] as const) {
      expectClose(dx.linspace(start, end, steps), want);
      expectClose(dx.logspace(start, end, steps, { base: 2 }), dx.logspace(-1.5, 4, steps, { base: 2 }).toArraySync() as number[]);
    }
    const whole = dx.linspace(dx.tensor(-3, { dtype: "int64" }), 7, steps, { dtype: "int32" });
    expect([whole.dtype, whole.toArraySync()]).toEqual(["int32", dx.linspace(-3, 7, steps, { dtype: "int32" }).toArraySync()]);
  });
});

it("inside compile() the ends may change from call to call", () => {
  on(() => {
    const f = dx.compile((a: dx.Tensor, b: dx.Tensor) => dx.linspace(a, b, 3));
    for (const [a, b] of [
      [0, 4],
      [2, -2],
      [0, 4],
    ] as const)
      expectClose(f(dx.tensor(a), dx.tensor(b)), [a, (a + b) / 2, b]);
    f.dispose();
  });
});

it("refuses ends with axes, and lets no gradient through", () => {
  on(() => {
    expect(() => dx.linspace(dx.ones([2]), 1, 3)).toThrow(dx.ShapeError);
    expect(() => dx.linspace(dx.tensor(1), 1, -1)).toThrow(dx.ValueError);
    expect(dx.linspace(dx.tensor(1, { requiresGrad: true }), 2, 3).requiresGrad).toBe(false);
  });
});
