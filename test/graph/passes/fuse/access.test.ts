import { expect, it } from "vitest";
import { isIdentity, isOne, lastOf, mergedAxes } from "../../../../src/graph/passes/fuse/access.ts";

it("merges adjacent axes that are one, and leaves out those of length 1", () => {
  expect(mergedAxes([2, 3, 1, 4], [12, 4, 7, 1])).toEqual([{ size: 24, stride: 1 }]);
  expect(mergedAxes([2, 3, 4], [4, 0, 1])).toEqual([{ size: 2, stride: 4 }, { size: 3, stride: 0 }, { size: 4, stride: 1 }]); // prettier-ignore
  expect(mergedAxes([2, 3], [0, 0])).toEqual([{ size: 6, stride: 0 }]);
  expect(mergedAxes([1, 1], [5, 9])).toEqual([]);
});

it("tells one element from all of them, and the last that is read", () => {
  const access = (offset: number, sizes: number[], strides: number[]) => ({ offset, axes: mergedAxes(sizes, strides) });
  expect([access(0, [6], [1]), access(1, [6], [1]), access(0, [2, 3], [1, 2])].map(isIdentity)).toEqual([true, false, false]);
  expect([access(0, [6], [0]), access(4, [1], [1]), access(0, [6], [1])].map(isOne)).toEqual([true, true, false]);
  expect(lastOf(access(3, [2, 3], [10, 2]))).toBe(17);
});
