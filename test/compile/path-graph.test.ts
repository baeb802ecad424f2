/** From a path to a graph: its inputs, the buffers that are written back, writes of slices. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const nodesOf = (f: { explain(): dx.Explanation }): string[] => f.explain().nodes.map((n) => n.operator);

it("a number that stays is uploaded once, one that varies is an input, equal ones are one", () => {
  const f = dx.compile((x: dx.Tensor, k: number) => x.mul(k).add(3).mul(3), {
    regions: "none",
  });
  f(dx.ones([2]), 2);
  expect([f.explain().inputsInBytes, f(dx.ones([2]), 2).toArraySync()]).toEqual([16, [15, 15]]);
  expect(f(dx.ones([2]), 4).toArraySync()).toEqual([21, 21]);
  expect(f.programs).toBe(1);
  f.dispose();
});

it("a packed part is joined, a strided one scattered, all of a buffer replaced; each equals the eager result", () => {
  const run = (write: (t: dx.Tensor, x: dx.Tensor) => void): [string[], unknown, unknown] => {
    const make = (): dx.Tensor => dx.arange(12, { dtype: "float32" }).reshape(3, 4);
    const [state, eager] = [make(), make()];
    const f = dx.compile((x: dx.Tensor) => write(state, x), {
      regions: "none",
    });
    for (let i = 1; i < 4; i++) {
      f(dx.full([4], i));
      write(eager, dx.full([4], i));
    }
    const found: [string[], unknown, unknown] = [nodesOf(f), state.toArraySync(), eager.toArraySync()];
    f.dispose();
    return found;
  };
  const [packed, got, want] = run((t, x) => void t.select(0, 1).copy_(x));
  expect([packed.includes("JOIN"), got]).toEqual([true, want]);
  const [gaps, gotGaps, wantGaps] = run((t, x) => void t.slice(1, 0, 4, 2).add_(x.slice(0, 0, 2)));
  expect([gaps.some((o) => o.startsWith("SCATTER")), gotGaps]).toEqual([true, wantGaps]);
  const [whole, gotWhole, wantWhole] = run((t, x) => void t.mul_(2).add_(x));
  expect([whole.filter((o) => o === "JOIN" || o.startsWith("SCATTER")), gotWhole]).toEqual([[], wantWhole]);
});

it("what is empty takes no node, and its sum is a fill", () => {
  const f = dx.compile((x: dx.Tensor) => [x.slice(0, 0, 0).mul(2), x.slice(0, 0, 0).sum(), x.neg()] as const);
  for (let i = 0; i < 3; i++) {
    const [empty, sum, neg] = f(dx.tensor([i, 2]));
    expect([empty.shape, sum.itemSync(), neg.toArraySync()]).toEqual([[0], 0, [-i, -2]]);
  }
  f.dispose();
});
