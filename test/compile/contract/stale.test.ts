/** Values that a compiled function depends on never become stale. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { agrees } from "../agrees.ts";
import { at, input } from "./shared.ts";

eachDevice("compile never goes stale", () => {
  it("when a flag, a number, or a closure's tensor changes", () => {
    let calls = 0;
    return agrees(
      () => ({ a: at([1, 2]), b: at([5, 6]) }),
      ({ a, b }, x) => {
        const i = calls++ % 5;
        return (i % 2 === 0 ? x.mul(a) : x.add(b)).mul(i);
      },
      input,
    );
  });
  it("when recording is switched off for a part", () => {
    let calls = 0;
    return agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        const y = calls++ % 5 > 1 ? dx.noGrad(() => w.mul(2)) : w.mul(2);
        w.grad = null;
        w.add(y).mul(x).sum().backward();
        return w.grad;
      },
      input,
    );
  });
  it("when a parameter is frozen", async () => {
    const [v, w] = [at([1, 2], true), at([3, 4], true)];
    const f = dx.compile((x: dx.Tensor) => {
      v.grad = w.grad = null;
      v.mul(w).mul(x).sum().backward();
    });
    f(input(1));
    expect(w.grad).not.toBe(null);
    w.requiresGrad_(false);
    f(input(1));
    expect(w.grad).toBe(null);
    expect(await v.grad!.toArray()).toEqual([6, -4]);
    f.dispose();
  });
  it("when the gradient argument, retainGraph or a hook changes", async () => {
    const w = at([1, 2], true);
    let [gradient, scale] = [at([1, 1]), 1];
    const f = dx.compile(() => {
      const y = w.mul(w);
      y.registerHook((g) => g.mul(scale));
      w.grad = null;
      y.backward({ gradient });
    });
    for (const [g, s] of [
      [1, 1],
      [1, 5],
      [2, 5],
      [2, 5],
      [3, 1],
    ] as const) {
      if (g !== (await gradient.data())[0]) gradient = at([g, g]);
      scale = s;
      f();
      expect(await w.grad!.toArray()).toEqual([2 * g * s, 4 * g * s]);
    }
    f.dispose();
  });
  it("a number that differs in a call that throws", async () => {
    let [k, fails] = [1, false];
    const f = dx.compile((x: dx.Tensor) => {
      const y = x.mul(k);
      if (fails) throw new Error("no");
      return y;
    });
    expect(await f(input(1)).toArray()).toEqual([2, -1]);
    [k, fails] = [2, true];
    expect(() => f(input(1))).toThrow("no");
    [k, fails] = [1, false];
    expect(await f(input(1)).toArray()).toEqual([2, -1]);
    expect(f.explain().recordings.length).toBe(1);
    k = 3;
    expect(await f(input(1)).toArray()).toEqual([6, -3]);
    f.dispose();
  });
  it("what a call that throws had written", async () => {
    const w = at([1, 2], true);
    const y = w.mul(w);
    const f = dx.compile(() => {
      dx.noGrad(() => w.mul_(5));
      throw new Error("no");
    });
    expect(() => f()).toThrow("no");
    expect(await w.toArray()).toEqual([1, 2]);
    y.sum().backward();
    expect(await w.grad!.toArray()).toEqual([2, 4]);
    f.dispose();
  });
  it("a saved tensor that shares a storage with the elements that it writes, but no element", async () => {
    const [v, w] = [at([1, 2], true), at([3, 4], true)];
    const optimizer = new dx.optim.SGD([v, w], { lr: 0 });
    v.mul(w).sum().backward();
    optimizer.step();
    optimizer.zeroGrad();
    expect(v.storage).toBe(w.storage);
    const y = v.mul(v);
    const f = dx.compile(() => {
      dx.noGrad(() => w.mul_(2));
    });
    for (let i = 0; i < 3; i++) f();
    y.sum().backward();
    expect(await v.grad!.toArray()).toEqual([2, 4]);
    const z = v.mul(w);
    f();
    expect(() => z.sum().backward()).toThrow(/unchanged since mul saved it/);
    f.dispose();
  });
  it("with hooks, and a write to what a node has saved", () =>
    agrees(
      () => ({ w: at([0.5, 0.25], true) }),
      ({ w }, x) => {
        w.grad = null;
        const z = x.mul(w);
        z.registerHook((g) => g.mul(3));
        z.sum().backward({ retainGraph: true });
        z.mul_(w);
        z.mul(z).sum().backward({ retainGraph: true });
        z.sum().backward();
        return z;
      },
      input,
    ));
  it("when only some results have a backward pass, and outer tensors have changed", () =>
    agrees(
      () => {
        const w = at([1, 2], true);
        return { w, h: w.mul(2) };
      },
      ({ h }, x) => {
        h.mul_(x);
        return [h.sum(), h.mul(h).sum()];
      },
      input,
      {
        after: ({ h }, result) => {
          (result as dx.Tensor[])[0]!.backward({ retainGraph: true });
          h.sum().backward({ retainGraph: true });
        },
      },
    ));
});
