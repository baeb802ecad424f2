/** Gradients flow through the results of a compiled function. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { agrees } from "../agrees.ts";
import { at, input } from "./shared.ts";

eachDevice("compile keeps the history of results", () => {
  it("for parameters", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => w.mul(x).mul(w),
      input,
      { programs: 1, after: (_, r) => (r as dx.Tensor).sum().backward() },
    ));
  it("for arguments, leaves or not", async () => {
    const f = dx.compile((x: dx.Tensor, y: dx.Tensor) => x.mul(y).add(x));
    for (let i = 1; i <= 3; i++) {
      const [x, w] = [at([i, 2], true), at([3, i], true)];
      const y = w.mul(2);
      f(x, y).sum().backward();
      expect(await x.grad!.toArray()).toEqual([7, 2 * i + 1]);
      expect(await w.grad!.toArray()).toEqual([2 * i, 4]);
    }
    expect(f.programs).toBe(1);
    f.dispose();
  });
  it("for each of several results, used alone, together, twice", () =>
    agrees(
      () => ({ v: at([1, 2], true), w: at([3, 4], true) }),
      ({ v, w }, x) => [v.mul(x), w.mul(x).exp(), v.add(w)],
      (i) => at([0.1 * i, -0.2]),
      {
        programs: 1,
        after: (_, r) => {
          const [a, b, c] = r as dx.Tensor[];
          a!.sum().backward({ retainGraph: true });
          dx.add(a!, c!).sum().backward({ retainGraph: true });
          b!.mul(b!).sum().backward();
        },
      },
    ));
  it("so that a compiled forward trains with an eager loss and step", () =>
    agrees(
      () => {
        const w = at([1, -1], true);
        return { w, optimizer: { step: dx.optim.adam([w], { lr: 0.1 }) } as unknown };
      },
      ({ w }, x) => w.mul(x).tanh(),
      (i) => at([1, i % 2]),
      {
        after: ({ optimizer }, r) => {
          const { step } = optimizer as { step: dx.optim.Adam };
          (r as dx.Tensor).square().sum().backward();
          step.step();
          step.zeroGrad();
        },
      },
    ));
  it("and refuses what eager refuses: a second pass, and parameters changed between", async () => {
    const w = at([2, 3], true);
    const f = dx.compile((x: dx.Tensor) => w.mul(w).mul(x));
    for (let i = 0; i < 3; i++) {
      const y = f(input(i)).sum();
      y.backward();
      expect(() => y.backward()).toThrow(dx.AutogradError);
      const z = f(input(i)).sum();
      dx.noGrad(() => w.add_(1));
      expect(() => z.backward()).toThrow(/changed it/);
    }
    f.dispose();
  });
  it("none inside noGrad", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => dx.noGrad(() => w.mul(x)),
      input,
    ));
});
