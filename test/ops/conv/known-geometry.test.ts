import { expect, it } from "vitest";
import { knownGeometry } from "../../../src/ops/conv/known-geometry.ts";
import * as dx from "../../../src/index.ts";

const of = (x: dx.Tensor, w: dx.Tensor, options: object): unknown => knownGeometry(x.desc, w.desc, null, options);

it("remembers the geometry of shapes and options, and no other's", () => {
  const [x, w] = [dx.ones([1, 2, 9, 9]), dx.ones([3, 2, 3, 3])];
  const stride = [2, 1];
  expect(dx.conv2d(x, w, null, { stride, padding: 1 }).shape).toEqual([1, 3, 5, 9]);
  const found = of(x, w, { stride: [2, 1], padding: 1 });
  expect(found).toMatchObject({ output: [5, 9], stride: [2, 1], groups: 1 });
  expect(of(dx.zeros([1, 2, 9, 9]), w, { stride: [2, 1], padding: 1 })).toBe(found);
  // The caller's own list is not what is remembered.
  stride[0] = 1;
  expect(of(x, w, { stride, padding: 1 })).toBeNull();
  expect(dx.conv2d(x, w, null, { stride, padding: 1 }).shape).toEqual([1, 3, 9, 9]);
  for (const options of [{ stride: [2, 1] }, { stride: [2, 1], padding: "same" }, { stride: [2, 1], padding: 1, groups: 1 }])
    expect(of(x, w, options)).toBeNull();
  expect(of(x.to("float16"), w, { stride: [2, 1], padding: 1 })).toBeNull();
});

it("tells calls apart that differ in one option, in the weight or in the bias", () => {
  const [x, w, bias] = [dx.ones([1, 4, 9, 9]), dx.ones([4, 2, 3, 3]), dx.ones([4])];
  const options = { stride: 1, padding: 0, dilation: 1, groups: 2 };
  expect(dx.conv2d(x, w, bias, options).shape).toEqual([1, 4, 7, 7]);
  for (const [other, shape] of [
    [{ stride: 2 }, [1, 4, 4, 4]],
    [{ padding: 1 }, [1, 4, 9, 9]],
    [{ dilation: 2 }, [1, 4, 5, 5]],
  ] as const)
    expect(dx.conv2d(x, w, bias, { ...options, ...other }).shape).toEqual(shape);
  expect(() => dx.conv2d(x, w, bias, { ...options, groups: 4 })).toThrow(dx.ShapeError);
  expect(() => dx.conv2d(x, w, dx.ones([3]), options)).toThrow(/bias/);
  expect(dx.conv2d(x, dx.ones([4, 2, 5, 5]), bias, options).shape).toEqual([1, 4, 5, 5]);
});

it("lets nobody change what it gives", () => {
  const [x, w] = [dx.ones([1, 2, 7, 7]), dx.ones([3, 2, 3, 3])];
  dx.conv2d(x, w);
  const found = of(x, w, {}) as { output: number[] };
  expect(() => found.output.push(1)).toThrow(TypeError);
  expect(Object.isFrozen(found)).toBe(true);
});

it("gives errors in every call, and for another number of axes", () => {
  const [x, w] = [dx.ones([2, 5, 5]), dx.ones([3, 2, 3])];
  for (let i = 0; i < 2; i++) {
    expect(dx.conv1d(x.reshape([5, 2, 5]), w).shape).toEqual([5, 3, 3]);
    expect(() => dx.conv2d(x.reshape([5, 2, 5]), w)).toThrow(/weight/);
    expect(() => dx.conv2d(x, dx.ones([3, 2, 7, 7]))).toThrow(/at least as large as the kernel/);
    expect(() => dx.conv2d(x, dx.ones([3, 1, 3, 3]))).toThrow(/channels/);
  }
});
