/** Errors of compiled functions. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { at, input } from "./shared.ts";

eachDevice("compile refuses in words", () => {
  it("a promise", () => {
    const f = dx.compile(async (x: dx.Tensor) => x.mul(2));
    expect(() => f(input(0))).toThrow(dx.TraceError);
  });
  it("a read", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(x.sum().itemSync()));
    expect(() => f(input(0))).toThrow(/refusals\.test\.ts:\d+/);
  });
  it("a tensor that escaped, by the function that it was made in", () => {
    let escaped: dx.Tensor | null = null;
    const leaking = (x: dx.Tensor): dx.Tensor => {
      escaped = x.mul(2);
      return x.add(1);
    };
    const f = dx.compile(leaking);
    f(input(0));
    expect(() => escaped!.add(1)).toThrow(/leaking/);
    expect(() => escaped!.add(1)).toThrow(dx.TraceError);
    expect(() => escaped!.dataSync()).toThrow(dx.TraceError);
    f.dispose();
  });
  it("an error of the function itself, with everything outside as it was", async () => {
    const w = at([1, 2], true);
    let fails = true;
    const f = dx.compile((x: dx.Tensor) => {
      w.mul(x).sum().backward();
      dx.noGrad(() => w.add_(1));
      if (fails) throw new Error("the user's");
      return w.sum();
    });
    expect(() => f(input(0))).toThrow("the user's");
    expect(w.grad).toBe(null);
    expect(await w.detach().toArray()).toEqual([1, 2]);
    fails = false;
    f(input(0));
    expect(await w.grad!.toArray()).toEqual([1, -3]);
    fails = true;
    expect(() => f(input(0))).toThrow("the user's");
    expect(await w.grad!.toArray()).toEqual([1, -3]);
    f.dispose();
  });

  it("a gradient that comes when the call is over", () => {
    const x = at([1, 2], true);
    const f = dx.compile((z: dx.Tensor) => {
      z.sum().backward();
      return x.grad;
    });
    expect(() => f(x.pow(3))).toThrow(/refusals\.test\.ts:\d+/);
    const g = dx.compile((z: dx.Tensor) => {
      z.sum().backward();
      x.grad = null;
    });
    expect(() => g(x.pow(3))).toThrow(dx.TraceError);
    expect(x.grad).toBe(null);
  });
});
