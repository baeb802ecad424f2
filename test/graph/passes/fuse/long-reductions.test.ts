import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { splitLongReductions } from "../../../../src/graph/passes/fuse/long-reductions.ts";
import { verifyGraph } from "../../../../src/graph/invariants.ts";
import { nativeDevice } from "../../../../src/runtime/devices.ts";
import { build } from "../../build.ts";

const { capabilities } = nativeDevice(dx.device("cpu"));

function split(sizes: number[], axes: number[], fn: "SUM" | "AVERAGE" | "MULTIPLY" = "SUM") {
  const { g, graph, input } = build();
  const out = sizes.map((d, i) => (axes.includes(i) ? 1 : d));
  graph.outputs = [g.reduce(input(...sizes), { function: fn, output: { sizes: out, dtype: "float32" }, axes })];
  const result = splitLongReductions(graph, capabilities);
  verifyGraph(result, "long reductions");
  expect(result.outputs).toEqual(graph.outputs);
  return result.nodes.map((n) => [n.operator, n.outputs[0]!.sizes]);
}

it("takes few long rows in two steps", () => {
  expect(split([65536, 16], [0]).map(([name]) => name)).toEqual(["REDUCE", "REDUCE"]);
  expect(split([2 ** 20], [0], "AVERAGE").map(([name]) => name)).toEqual(["REDUCE", "REDUCE", "ELEMENT_WISE_IDENTITY"]);
  expect(split([64, 8, 28, 28], [0, 2, 3])).toHaveLength(2);
});

it("leaves short rows, many rows, and what is no sum of sums", () => {
  expect(split([1024, 128], [0])).toHaveLength(1);
  expect(split([4096, 4096], [1])).toHaveLength(1);
  expect(split([2 ** 20], [0], "MULTIPLY")).toHaveLength(1);
  // No number of blocks divides it.
  expect(split([1048573], [0])).toHaveLength(1);
});

it("cuts shorter rows of elements that are made of many others", () => {
  const pool = { windowSize: [2, 2], strides: [2, 2], startPadding: [0, 0], endPadding: [0, 0], dilations: [1, 1] };
  const names = (isPooled: boolean): string[] => {
    const { g, graph, input } = build();
    const x = input(64, 8, 8, 8);
    const y = g.elementWiseTanh(isPooled ? g.maxPoolingGrad(x, input(64, 8, 4, 4), pool) : x);
    graph.outputs = [g.reduce(y, { function: "SUM", output: { sizes: [1, 8, 1, 1], dtype: "float32" }, axes: [0, 2, 3] })];
    return splitLongReductions(graph, capabilities).nodes.map((n) => n.operator);
  };
  expect(names(false).filter((name) => name === "REDUCE")).toHaveLength(1);
  expect(names(true).filter((name) => name === "REDUCE")).toHaveLength(2);
});
