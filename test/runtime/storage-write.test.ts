import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { alone, flatDesc, wayOf } from "../../src/runtime/storage-write.ts";
import { eachDevice } from "../device.ts";

eachDevice("the way of a value into a storage", () => {
  test("is the whole, a range, or indices", () => {
    const x = dx.arange(6, { dtype: "float32" }).reshape([2, 3]);
    expect(wayOf(x)).toEqual({ kind: "whole" });
    expect(wayOf(x.reshape(-1))).toEqual({ kind: "whole" });
    expect(wayOf(x.select(0, 1))).toEqual({ kind: "range", start: 3 });
    expect(wayOf(x.select(0, 0))).toEqual({ kind: "range", start: 0 });
    expect(wayOf(x.t())).toEqual({ kind: "positions", positions: Int32Array.from([0, 3, 1, 4, 2, 5]) });
    expect(wayOf(x.t().slice(0, 1, 3))).toEqual({ kind: "positions", positions: Int32Array.from([1, 4, 2, 5]) });
    expect(flatDesc(x.select(1, 2)).shape).toEqual([6]);
  });

  test("has each index once", () => {
    const x = dx.zeros([2, 1]);
    const wide = x.expand(2, 3);
    expect(alone(wide.desc, wide.desc).shape).toEqual([2, 1]);
    expect(alone(wide.desc, dx.ones([2, 3]).desc)).toMatchObject({ shape: [2, 1], strides: [3, 1] });
    expect(alone(x.desc, x.desc)).toBe(x.desc);
    const transposed = dx.zeros([2, 3]).t();
    expect(alone(transposed.desc, transposed.desc)).toBe(transposed.desc);
  });
});
