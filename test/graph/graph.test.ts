import { expect, it } from "vitest";
import { isWhole, Expr, Graph, packedExpr, spanInBytes, withNodes } from "../../src/graph/graph.ts";
import { packedBytes } from "../../src/core/dtype.ts";
import { build } from "./build.ts";

it("bytes are rounded up to 4, and a span goes from the first element to the last", () => {
  expect([packedBytes("float16", [3]), packedBytes("uint8", [5]), packedBytes("int64", []), packedBytes("float32", [2, 3])]).toEqual([
    8, 8, 8, 24,
  ]);
  expect([spanInBytes("float32", [2, 3], [0, 1]), spanInBytes("float32", [2, 3], [1, 2]), spanInBytes("uint8", [2], [6])]).toEqual([
    12, 24, 8,
  ]);
});

it("an expression is its whole value unless it is a part, a transpose or at an offset", () => {
  const value = new Graph().addInput(24);
  expect(isWhole(packedExpr(value, "float32", [2, 3]))).toBe(true);
  expect(isWhole(packedExpr(value, "float32", [5]))).toBe(false);
  expect(isWhole(new Expr(value, "float32", [2, 3], [1, 2], 0))).toBe(false);
  expect(isWhole(new Expr(value, "float32", [6], [1], 4))).toBe(false);
  expect(packedExpr(value, "float32", []).sizes).toEqual([1]);
});

it("other nodes keep inputs, values and what leaves the graph", () => {
  const { graph, g, input } = build();
  const x = input(2);
  graph.outputs = [g.elementWiseAbs(x)];
  graph.state = [{ buffer: x.value, value: graph.outputs[0]! }];
  const next = withNodes(graph, [...graph.nodes], (e) => new Expr(e.value, "int32", e.sizes, e.strides, 0));
  expect([next.inputs, next.nodes, next.valueCount]).toEqual([graph.inputs, graph.nodes, graph.valueCount]);
  expect([next.outputs[0]!.dtype, next.state[0]!.value.dtype, next.outputs[0]!.value]).toEqual(["int32", "int32", graph.outputs[0]!.value]);
});
