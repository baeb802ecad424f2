import { expect, it } from "vitest";
import { Expr, packedExpr } from "../../../../src/graph/graph.ts";
import { factsOf } from "../../../../src/graph/passes/fuse/clusters.ts";
import { constantOf, isReadable, regionOf } from "../../../../src/graph/passes/fuse/region.ts";
import { build } from "../../build.ts";

it("knows the number that constants are, whatever they are seen as", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const y = input(3);
  const half = g.fillValueConstant({
    output: { sizes: [5], dtype: "float16" },
    valueDataType: "FLOAT16",
    value: { dtype: "float16", value: 0.1 },
  });
  const bytes = (list: number[]): Uint8Array => new Uint8Array(Float32Array.from(list).buffer);
  const facts = factsOf(graph, new Map([[x.value, bytes([3, 3, 3, 3])], [y.value, bytes([1, 2, 2])]]), 8); // prettier-ignore
  expect(constantOf(x, facts)).toBe(3);
  expect(constantOf(y, facts)).toBeNull();
  expect(constantOf(new Expr(y.value, "float32", [7], [0], 4), facts)).toBe(2);
  expect(constantOf(new Expr(x.value, "float32", [8], [1], 0), facts)).toBeNull();
  expect(constantOf(half, facts)).toBeCloseTo(0.0999755859375, 12);
  expect(constantOf(input(2), facts)).toBeNull();
});

it("has one source for a value read several times, and an output for each value that others read", () => {
  const { graph, g, input } = build();
  const x = input(2, 3);
  const a = g.elementWiseExp(x);
  const b = g.elementWiseAdd(a, g.expand(packedExpr(x.value, "float32", [3]), [2, 3]));
  graph.outputs = [b];
  const facts = factsOf(graph, new Map(), 8);
  expect(regionOf(graph.nodes, facts)).toMatchObject({ sources: [{ value: x.value, element: "f32" }], outputs: [b] });
  expect(regionOf([graph.nodes[0]!], facts)!.outputs).toEqual([a]);
  // What a node computed as numbers is read as words: it has to be in memory first.
  const words = g.elementWiseAdd(g.reinterpret(a, { dtype: "int32" }), g.reinterpret(a, { dtype: "int32" }));
  graph.outputs = [words];
  expect(regionOf(graph.nodes, factsOf(graph, new Map(), 8))).toBeNull();
  expect(isReadable(packedExpr(x.value, "int64", [3]))).toBe(false);
});
