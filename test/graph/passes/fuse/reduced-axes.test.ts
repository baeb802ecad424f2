import { expect, it } from "vitest";
import { axesOfNode, reducedAxesOf, sameAxes } from "../../../../src/graph/passes/fuse/reduced-axes.ts";
import { build } from "../../build.ts";

it("merges adjacent axes that are kept, or reduced, and knows a row's index", () => {
  expect(reducedAxesOf([4, 1, 3, 5, 6], [0, 3, 4])).toEqual({
    axes: [
      { size: 4, isReduced: true },
      { size: 3, isReduced: false },
      { size: 30, isReduced: true },
    ],
    kept: 3,
    reduced: 120,
    rowOf: [
      { size: 4, stride: 0 },
      { size: 3, stride: 1 },
      { size: 30, stride: 0 },
    ],
  });
  expect(reducedAxesOf([2, 3], [0, 1])).toMatchObject({ kept: 1, reduced: 6, rowOf: [{ size: 6, stride: 0 }] });
});

it("sees one shape in tensors of other ranks", () => {
  const { g, graph, input } = build();
  const sum = (x: ReturnType<typeof input>, axes: number[]) =>
    g.reduce(x, { function: "SUM", output: { sizes: x.sizes.map((d, i) => (axes.includes(i) ? 1 : d)), dtype: "float32" }, axes });
  sum(input(4, 6), [1]);
  sum(input(2, 2, 3, 2), [2, 3]);
  sum(input(4, 6), [0]);
  const [a, b, c] = graph.nodes.map((node) => axesOfNode(node).axes);
  expect([sameAxes(a!, b!), sameAxes(a!, c!)]).toEqual([true, false]);
});
