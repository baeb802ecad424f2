import { expect, it } from "vitest";
import { reducedAxesOf } from "../../../../src/graph/passes/fuse/reduced-axes.ts";
import { rowThreadsOf } from "../../../../src/graph/passes/fuse/row-threads.ts";

const planOf = (sizes: number[], axes: number[]) => rowThreadsOf(reducedAxesOf(sizes, axes), 4);

it("gives adjacent threads adjacent elements", () => {
  expect(planOf([1024, 128], [1])).toMatchObject({ isAlong: true, width: 4, across: 32, isFull: true });
  expect(planOf([64, 10], [1])).toMatchObject({ isAlong: true, width: 2, across: 8, isFull: false });
  expect(planOf([1024, 128], [0])).toMatchObject({ isAlong: false, width: 1, rows: 8, across: 128 });
  expect(planOf([64, 8, 24, 24], [0, 2, 3])).toMatchObject({ isAlong: true, width: 4, across: 1024, rows: 1 });
});

it.each([[1, 7], [7, 1], [3, 32768], [32768, 3], [100000, 2], [2, 30001], [1, 1025], [511, 513]])("has groups that a device runs, of %i x %i", (rows, columns) => {
  for (const axis of [0, 1]) {
    if ((axis === 0 ? rows : columns) === 1) continue;
    const { threads, across, rows: together, width, each } = planOf([rows, columns], [axis]);
    const [kept, reduced] = axis === 0 ? [columns, rows] : [rows, columns];
    expect(threads).toBe(across * together);
    expect(threads).toBeLessThanOrEqual(1024);
    expect(across * each * width).toBeGreaterThanOrEqual(reduced);
    expect(together).toBeLessThan(2 * kept + 1);
  }
}); // prettier-ignore
