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
});
