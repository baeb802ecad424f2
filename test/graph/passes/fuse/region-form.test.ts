import { expect, it } from "vitest";
import { factsOf } from "../../../../src/graph/passes/fuse/clusters.ts";
import { formOf } from "../../../../src/graph/passes/fuse/region-form.ts";
import { build } from "../../build.ts";

const sizesOf = (sizes: readonly number[], axis: number) => sizes.map((d, i) => (i === axis ? 1 : d));

/** The form of all nodes; or why they are none. */
function form(
  make: (b: ReturnType<typeof build> & { sum(x: ReturnType<ReturnType<typeof build>["input"]>, axis: number): typeof x }) => void,
) {
  const built = build();
  const { g, graph } = built;
  make({ ...built, sum: (x, axis) => g.reduce(x, { function: "SUM", output: { sizes: sizesOf(x.sizes, axis), dtype: x.dtype }, axes: [axis] }) }); // prettier-ignore
  return formOf(graph.nodes, factsOf(graph, new Map(), 8));
}

it("has rows where something is reduced, and passes over them", () => {
  const made = form(({ g, graph, input, sum }) => {
    const x = input(6, 8);
    const distance = g.elementWiseSubtract(x, g.expand(sum(x, 1), [6, 8]));
    graph.outputs = [distance, sum(g.elementWiseMultiply(distance, distance), 1)];
  });
  expect(made).toMatchObject({ rows: { shape: { kept: 6, reduced: 8 }, outputs: ["element", "row"] } });
  expect(typeof made === "string" ? [] : made.rows!.passes.map((nodes) => nodes.length)).toEqual([1, 1]);
  expect(form(({ g, graph, input }) => (graph.outputs = [g.elementWiseExp(input(3))]))).toMatchObject({ rows: null });
});

it("says why nodes are no region", () => {
  expect(form(({ graph, input, sum }) => (graph.outputs = [sum(sum(input(6, 8), 1), 0)]))).toBe("rows of another shape");
  // Another row's sum.
  const transposed = form(({ g, graph, input, sum }) => {
    const x = input(8, 8);
    graph.outputs = [g.elementWiseAdd(x, g.transpose(g.expand(sum(x, 1), [8, 8]), [1, 0]))];
  });
  expect(transposed).toBe("rows of another shape");
  expect(form(({ graph, input, sum }) => (graph.outputs = [sum(input(2, 2 ** 16), 1)]))).toMatch(/more than 32768 elements/);
  const narrow = form(({ g, graph, input, sum }) => {
    const x = input(4, 7);
    graph.outputs = [g.cast(g.elementWiseSubtract(x, g.expand(sum(x, 1), [4, 7])), { output: { dtype: "float16" } })];
  });
  expect(narrow).toBe("narrow elements of several threads");
});
