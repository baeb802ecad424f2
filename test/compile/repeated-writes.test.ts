/** In-place writes in a compiled function: in each call histories, and errors for saved tensors that were written, are as in eager code. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

/** What three calls give or refuse; the function gets fresh leaves in each. */
function calls(fn: (...leaves: dx.Tensor[]) => readonly dx.Tensor[], leaves: () => dx.Tensor[], compiled: boolean): unknown[] {
  const call = compiled ? dx.compile(fn) : fn;
  return [0, 1, 2].map(() => {
    const tensors = leaves();
    try {
      const results = call(...tensors);
      return [...results, ...tensors.flatMap((t) => t.grad ?? [])].map((t) => dx.noGrad(() => t.toArraySync()));
    } catch (error) {
      if (error instanceof dx.AutogradError) return `refused: ${error.operation}`;
      throw error;
    }
  });
}

describe.each(devices)("repeated writes on %s", (device) => {
  const leaf = (...values: number[]): dx.Tensor => dx.tensor(values, { device, dtype: "float32", requiresGrad: true });
  const agrees = (fn: (...leaves: dx.Tensor[]) => readonly dx.Tensor[], leaves: () => dx.Tensor[]): unknown[] => {
    const eager = calls(fn, leaves, false);
    expect(calls(fn, leaves, true)).toEqual(eager);
    return eager;
  };

  it("a tensor multiplied in place by itself is refused in each call", () => {
    const refused = agrees(
      (a) => {
        const y = a.mul(2);
        y.mul_(y);
        y.sum().backward();
        return [];
      },
      () => [leaf(-1.95, 0.29)],
    );
    expect(refused).toEqual(Array(3).fill("refused: backward"));
  });

  it("a gradient that is a view may be changed in place in each call", () => {
    const found = agrees(
      (a) => {
        const [g] = dx.grad(a.sum(), [a], { createGraph: true });
        g!.copy_(a);
        return [g!, ...dx.grad(g!.sum(), [a])] as dx.Tensor[];
      },
      () => [leaf(-0.58)],
    );
    expect(found[2]).toEqual([[Math.fround(-0.58)], [1]]);
  });

  it("a view that is copied onto itself leads to its base", () => {
    const found = agrees(
      (a) => {
        const base = a.mul(2);
        const first = base.select(0, 0);
        first.copy_(first);
        return dx.grad(first, [base, a]) as dx.Tensor[];
      },
      () => [leaf(-0.29, 3.27)],
    );
    expect(found[1]).toEqual([
      [1, 0],
      [2, 0],
    ]);
  });

  it("an optimizer's step leaves the parameters alone that have no gradient", () => {
    const run = (compiled: boolean): unknown[] => {
      const [a, b] = [leaf(-0.5, 1.25), leaf(-1.5)];
      const optimizer = dx.optim.sgd([b, a], { lr: 0.5 });
      const body = (): dx.Tensor => {
        a.sum().backward();
        const y = b.square();
        optimizer.step();
        y.backward();
        const gradient = b.grad!.clone();
        optimizer.zeroGrad();
        return gradient;
      };
      const call = compiled ? dx.compile(body) : body;
      return [0, 1, 2].map(() => [call(), a.detach(), b.detach()].map((t) => t.toArraySync()));
    };
    const eager = run(false);
    expect(run(true)).toEqual(eager);
    expect(eager[2]).toEqual([[-3], [-2, -0.25], [-1.5]]);
  });
});
