/** How often a compiled function is recorded. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice } from "../../device.ts";
import { at, input } from "./shared.ts";

eachDevice("compile records as seldom as it can", (device) => {
  it("runs the function once in a call, also when it records", () => {
    let runs = 0;
    let flag = false;
    const f = dx.compile((x: dx.Tensor) => {
      runs++;
      return flag ? x.mul(2).add(1) : x.mul(2).sub(1);
    });
    for (const next of [false, false, true, true, false, true]) {
      flag = next;
      runs = 0;
      f(input(0));
      expect(runs).toBe(1);
    }
    expect(f.programs).toBe(2);
    expect(f.explain().recordings).toHaveLength(2);
    f.dispose();
  });
  it("makes numbers that change inputs, all at once", async () => {
    let k = 0;
    const f = dx.compile((x: dx.Tensor) =>
      x
        .mul(k)
        .add(k + 1)
        .sub(2 * k),
    );
    for (k = 0; k < 20; k++) expect(await f(at([1])).toArray()).toEqual([1]);
    expect(f.programs).toBe(1);
    expect(f.explain().recordings.length).toBeLessThan(4);
    f.dispose();
  });
  it("keeps few programs, however many shapes there are, and no buffer of those that went", () =>
    clean(device, () => {
      const f = dx.compile((x: dx.Tensor) => x.mul(2));
      for (let n = 1; n <= 200; n++) f(dx.ones([n])).dispose();
      expect(f.programs).toBeLessThanOrEqual(64);
      f.dispose();
      expect(f.programs).toBe(0);
    }));

  it("once, whatever is empty inside", () => {
    const f = dx.compile((x: dx.Tensor) => [dx.zeros([0]), dx.cat([dx.zeros([0]), x]), x.slice(0, 0, 0).mul(2)] as const);
    for (let i = 0; i < 3; i++) expect(f(dx.ones([2])).map((t) => t.toArraySync())).toEqual([[], [1, 1], []]);
    expect(f.explain().recordings.length).toBe(1);
    f.dispose();
  });

  it("with a reason that says which arguments are others in each call", () => {
    const f = dx.compile((a: dx.Tensor, b: dx.Tensor) => {
      a.mul_(2);
      return b.add(1);
    });
    for (let i = 0; i < 2; i++) {
      const whole = dx.tensor([1, 2, 3]);
      expect(f(whole.slice(0, 0, 2), whole.slice(0, 1, 3)).toArraySync()).toEqual([5, 4]);
    }
    expect(f.explain().recordings.at(-1)).toMatch(/share memory.*recordings\.test\.ts:\d+/);
    f.dispose();
  });
});
