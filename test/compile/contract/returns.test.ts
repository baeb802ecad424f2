/** A compiled function returns the same as the eager one. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { agrees } from "../agrees.ts";
import { at, input, none } from "./shared.ts";

eachDevice("compile returns what eager returns", () => {
  it("the same value twice", () => agrees(none, (_, x) => [x.mul(2), x.mul(2)], input, { programs: 1 }));
  it("the same tensor twice", async () => {
    const f = dx.compile((x: dx.Tensor) => {
      const y = x.mul(2);
      return [y, y] as const;
    });
    for (let i = 0; i < 3; i++) {
      const [a, b] = f(input(i));
      expect(a).toBe(b);
    }
    f.dispose();
  });
  it("an argument itself", async () => {
    const f = dx.compile((x: dx.Tensor) => [x, x.add(1)] as const);
    for (let i = 0; i < 3; i++) {
      const x = input(i);
      expect(f(x)[0]).toBe(x);
    }
    f.dispose();
  });
  it("an empty view", () => agrees(none, (_, x) => x.slice(0, 1, 1), input, { programs: 1 }));
  it("a value and its view, sharing memory", async () => {
    const f = dx.compile((x: dx.Tensor) => {
      const y = x.mul(2);
      return [y, y.slice(0, 0, 1)] as const;
    });
    for (let i = 0; i < 3; i++) {
      const [y, v] = f(input(i));
      dx.noGrad(() => y.zero_());
      expect(await v.toArray()).toEqual([0]);
    }
    f.dispose();
  });
  it("a result that equals a gradient", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        w.grad = null;
        w.mul(x).sum().backward();
        return [w.grad, x.mul(1)];
      },
      input,
    ));
  it("numbers, strings, nulls and nested structures", () =>
    agrees(none, (_, x) => ({ a: 1, b: ["text", null, undefined, { c: x.mul(2), d: [x.neg()] }] }), input, { programs: 1 }));
  it("a tensor from outside", async () => {
    const outer = at([7]);
    const f = dx.compile((x: dx.Tensor) => [outer, x.add(outer)] as const);
    for (let i = 0; i < 3; i++) expect(f(input(i))[0]).toBe(outer);
    f.dispose();
  });
  it("zeros, constants and numbers made inside", () =>
    agrees(none, (_, x) => [dx.zeros([2]), dx.full([], 3), dx.tensor([1, 2]), x], input));
  it("int64, bool, uint8 and float16 results", () =>
    agrees(none, (_, x) => [x.gt(0), x.to("int64"), x.abs().to("uint8"), x.to("float16").mul(2)], input, { programs: 1 }));
});
