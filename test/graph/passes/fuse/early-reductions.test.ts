/** Small reductions that need no product are in regions of their own, which run before it. */
import { describe, expect, it } from "vitest";
import type { Expr, Graph, GraphNode } from "../../../../src/graph/graph.ts";
import { build, operators, type Built } from "../../build.ts";
import { fused } from "./programs.ts";

/** As cross entropy has it: rows of a product, of which a mask says which count, over how many do. Gives the built graph, and its product's node. */
function masked(rows: number, columns: number): { readonly built: Built; readonly product: GraphNode } {
  const built = build();
  const { g, graph } = built;
  const labels = built.input(1, 1, rows, 1);
  const mask = g.elementWiseAbs(g.elementWiseSign(labels));
  const product = g.gemm(built.input(1, 1, rows, 144), built.input(1, 1, 144, columns), { output: { sizes: [1, 1, rows, columns] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 }); // prettier-ignore
  const maker = graph.nodes.at(-1)!;
  const wide = (x: Expr): Expr => g.expand(x, [1, 1, rows, columns]);
  const sum = (x: Expr, axes: readonly number[], sizes: readonly number[]): Expr => g.reduce(x, { function: "SUM", output: { sizes, dtype: "float32" }, axes }); // prettier-ignore
  const count = sum(mask, [2], [1, 1, 1, 1]);
  const largest = g.reduce(product, { function: "MAX", output: { sizes: [1, 1, rows, 1], dtype: "float32" }, axes: [3] });
  const scaled = g.elementWiseMultiply(g.elementWiseSubtract(product, wide(largest)), wide(mask));
  const gradient = g.elementWiseDivide(scaled, wide(count));
  graph.outputs = [gradient, sum(gradient, [2], [1, 1, 1, columns])];
  return { built, product: maker };
}

/** Launches behind the product of which each waits for the one before. */
function chainBehind(graph: Graph, product: GraphNode): number {
  const steps = new Map([[product.outputs[0]!.value, 0]]);
  for (const node of graph.nodes) {
    const before = node.inputs.flatMap((x) => (x === null ? [] : (steps.get(x.value) ?? [])));
    if (before.length > 0) for (const x of node.outputs) steps.set(x!.value, Math.max(...before) + 1);
  }
  return Math.max(...steps.values());
}

describe("early reductions", () => {
  it("are launched before the product, with their own copy of what they read", () => {
    const { built, product } = masked(64, 10);
    const graph = fused(built);
    expect(operators(graph).filter((o) => o === "GEMM")).toHaveLength(1);
    const early = graph.nodes.find((n) => n.fused?.nodes.some((x) => x.operator === "REDUCE") === true && n.inputs.length === 1 && n.inputs[0]!.value === built.graph.inputs[0])!; // prettier-ignore
    expect(early.fused!.nodes.map((n) => n.operator)).toEqual(["ELEMENT_WISE_SIGN", "ELEMENT_WISE_ABS", "REDUCE"]);
    expect(early.fused!.ends).toContain("what is known later");
    // The gradient, then the sum of its columns.
    expect(chainBehind(graph, product)).toBe(2);
  });

  it("stay where copies would cost more than a launch", () => {
    const { built } = masked(20_000, 2);
    const graph = fused(built);
    const signs = graph.nodes.flatMap((n) => n.fused?.nodes ?? [n]).filter((n) => n.operator === "ELEMENT_WISE_SIGN");
    expect(signs).toHaveLength(1);
  });
});
