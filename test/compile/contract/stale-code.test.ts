/** Values that a compiled function's hooks, custom gradients, keys and generators depend on never become stale. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { agrees } from "../agrees.ts";
import { at, input } from "./shared.ts";

eachDevice("compile never goes stale, code of the user's", () => {
  it("when results are followed back one after the other", async () => {
    const [v, w] = [at([1, 2], true), at([3, 4], true)];
    const f = dx.compile((x: dx.Tensor) => {
      const y = w.mul(w);
      return [v.mul(v).mul(x).sum(), y.mul(x).sum(), y.mul(3).sum()];
    });
    for (let i = 0; i < 3; i++) {
      v.grad = w.grad = null;
      const [a, b, c] = f(at([1, 1]));
      a!.backward();
      b!.backward();
      expect(await v.grad!.toArray()).toEqual([2, 4]);
      expect(await w.grad!.toArray()).toEqual([6, 8]);
      expect(() => a!.backward()).toThrow(/second pass/);
      expect(() => c!.backward()).toThrow(/second pass/);
    }
    f.dispose();
  });
  it("without a check: nothing of the function runs", async () => {
    let runs = 0;
    const w = at([1, 2], true);
    const optimizer = new dx.optim.SGD([w], { lr: 1 });
    const step = dx.compile(
      (x: dx.Tensor) => {
        runs++;
        optimizer.zeroGrad();
        const loss = w.mul(x).sum();
        loss.backward();
        optimizer.step();
        return loss;
      },
      { check: false },
    );
    for (let i = 0; i < 5; i++) step(at([1, 1]));
    expect(runs).toBeLessThanOrEqual(2);
    expect(await w.toArray()).toEqual([-4, -3]);
    expect(await w.grad!.toArray()).toEqual([1, 1]);
    step.dispose();
  });
  it("hooks do not pile up", async () => {
    const w = at([1], true);
    let calls = 0;
    const f = dx.compile(() => {
      const y = w.mul(3);
      y.registerHook((g) => {
        calls++;
        return g.mul(2);
      });
      w.grad = null;
      y.sum().backward();
    });
    for (let i = 0; i < 20; i++) {
      calls = 0;
      f();
      expect(calls).toBe(1);
      expect(await w.grad!.toArray()).toEqual([6]);
    }
    f.dispose();
  });
  it("with a function that has a backward of its own", async () => {
    let factor = 2;
    const scaled = dx.defineFunction({
      forward: (c, x: dx.Tensor) => {
        c.factor = factor;
        c.saveForBackward(x);
        return x.mul(factor);
      },
      backward: (c, dy) => dy.mul(c.factor as number).mul(c.saved[0]!),
    });
    const w = at([1, 2], true);
    const f = dx.compile((x: dx.Tensor) => {
      w.grad = null;
      scaled(w).mul(x).sum().backward();
    });
    for (const k of [2, 2, 3, 3, 5]) {
      factor = k;
      f(at([1, 10]));
      expect(await w.grad!.toArray()).toEqual([k, 20 * k]);
    }
    f.dispose();
  });
  it("gradient penalties: grad() inside", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        w.grad = null;
        const [g] = dx.grad(w.mul(w).mul(x).sum(), [w], { createGraph: true });
        g!.square().sum().backward();
        return g!.detach();
      },
      input,
      { programs: 1 },
    ));
  it("keys tell undefined, null, NaN, -0, 0 and functions apart", async () => {
    const f = dx.compile((x: dx.Tensor, k: unknown) =>
      x.add(
        k === undefined ? 1 : k === null ? 2 : Object.is(k, -0) ? 3 : k === 0 ? 4 : typeof k === "function" ? (k as () => number)() : 5,
      ),
    );
    const x = at([0]);
    const values: [unknown, number][] = [
      [undefined, 1],
      [null, 2],
      [-0, 3],
      [0, 4],
      [NaN, 5],
      [() => 7, 7],
      [() => 8, 8],
      ["null", 5],
    ];
    for (let i = 0; i < 2; i++) for (const [k, expected] of values) expect(await f(x, k).toArray()).toEqual([expected]);
    f.dispose();
  });
  it("random numbers: a generator whose first draw is inside", async () => {
    const generator = new dx.Generator(5);
    const f = dx.compile((x: dx.Tensor) => x.add(dx.rand([2], { generator })));
    const [a, b] = [await f(at([0, 0])).toArray(), await f(at([0, 0])).toArray()];
    expect(a).not.toEqual(b);
    const again = new dx.Generator(5);
    expect(await dx.rand([2], { generator: again }).toArray()).toEqual(a);
    expect(await dx.rand([2], { generator: again }).toArray()).toEqual(b);
    f.dispose();
  });
});
