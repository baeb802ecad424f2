/** One run of a compiled function's JavaScript: the parts that a later call may skip. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { agrees } from "./agrees.ts";

describe.each(devices)("a run of a compiled function on %s", (device) => {
  const at = (values: number[], requiresGrad = false): dx.Tensor => dx.tensor(values, { device, requiresGrad });
  const input = (i: number): dx.Tensor => at([i + 1, 2 * i - 3]);
  const weights = (): { w: dx.Tensor; b: dx.Tensor; count: number } => ({ w: at([0.5, -0.25], true), b: at([1, 2], true), count: 0 });

  it("sees a gradient that the function sets itself, before a pass or without one", async () => {
    await agrees(
      weights,
      (s, x) => {
        s.w.grad = x.mul(2);
        s.b.grad = x.add(1);
        x.mul(s.w).sum().backward();
      },
      input,
      { programs: 1 },
    );
    await agrees(
      weights,
      (s, x) => {
        s.w.grad = s.count++ % 2 === 0 ? null : s.b.detach();
        x.mul(s.w).sum().backward();
      },
      input,
    );
    await agrees(
      weights,
      (_, x) => void (x.grad = x.mul(2)),
      (i) => input(i).requiresGrad_(),
      { programs: 1 },
    );
  });

  it("refuses what grad() refuses, though an earlier call allowed it", () => {
    const { w, b } = weights();
    let allowUnused = true;
    const f = dx.compile((x: dx.Tensor) => dx.grad(x.mul(w).sum(), [b], { allowUnused }));
    for (let i = 0; i < 2; i++) expect(f(input(i))).toEqual([null]);
    allowUnused = false;
    expect(() => f(input(2))).toThrow(dx.AutogradError);
    allowUnused = true;
    expect(f(input(3))).toEqual([null]);
    f.dispose();
  });

  it("takes numbers among the arguments as they come", async () => {
    await agrees(
      () => ({ count: 0 }),
      (s, x) => [x.mul(s.count).add(s.count + 0.5), s.count++ === 2 ? "two" : "other"],
      input,
    );
    const f = dx.compile((x: dx.Tensor, k: number) => [x.mul(k), Object.is(k, -0) ? "-0" : String(k)]);
    const said = [1, 2.5, -0, 0, NaN].map((k) => f(input(1), k));
    expect(said.map(([, text]) => text)).toEqual(["1", "2.5", "-0", "0", "NaN"]);
    expect(await (said[1]![0] as dx.Tensor).toArray()).toEqual([5, -2.5]);
    expect(f.programs).toBe(1);
    f.dispose();
    const unchecked = dx.compile((x: dx.Tensor, k: number) => x.mul(k), { check: false });
    expect(await Promise.all([1, 2, 1].map((k) => unchecked(input(1), k).toArray()))).toEqual([
      [2, -1],
      [4, -2],
      [2, -1],
    ]);
    unchecked.dispose();
  });
});
