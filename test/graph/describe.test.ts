import { expect, it } from "vitest";
import { OPERATORS } from "../../src/dml/operators.generated.ts";
import { describeNode, describeTensor, scalarBytes, type OperatorNode } from "../../src/graph/describe.ts";
import { dataTypeName } from "../../src/core/dtype.ts";
import { build } from "./build.ts";

it("tensors are packed without strides, and of the bytes that they span", () => {
  const { g, input } = build();
  const x = input(2, 3);
  expect(describeTensor(x)).toEqual({ dataType: 1, sizes: [2, 3], strides: null, sizeInBytes: 24 });
  expect(describeTensor(g.transpose(x, [1, 0]))).toMatchObject({ sizes: [3, 2], strides: [1, 3], sizeInBytes: 24 });
  expect(describeTensor(g.expand(input(3), [4, 3]), () => 99)).toMatchObject({ strides: [0, 1], sizeInBytes: 99 });
});

it("a number is stored as its dtype says, in eight bytes", () => {
  const hex = (dtype: Parameters<typeof scalarBytes>[0]["dtype"], value: number | bigint | boolean): string =>
    Buffer.from(scalarBytes({ dtype, value })).toString("hex");
  expect(
    [
      hex("float32", 1),
      hex("float64", 1),
      hex("float16", 1),
      hex("bfloat16", 1),
      hex("int8", -1),
      hex("bool", true),
      hex("int16", -2),
      hex("uint16", 65535),
      hex("int32", -1),
      hex("uint32", 1),
      hex("int64", -1n),
      hex("uint64", 2n),
    ].map((text) => text.replace(/(?:00)+$/, "")),
  ).toEqual(["0000803f", "000000000000f03f", "003c", "803f", "ff", "01", "feff", "ffff", "ffffffff", "01", "ffffffffffffffff", "02"]);
});

it("a node's fields come in the table's order, with counts and names of enumerations as numbers", () => {
  const { graph, g, input } = build();
  g.reduce(input(2, 3), { function: "SUM", axes: [1], output: { sizes: [2, 1], dtype: "float32" } });
  const described = describeNode(graph.nodes[0]! as OperatorNode);
  const at = (name: string): unknown => described.fields[OPERATORS.REDUCE.fields.findIndex((f) => f.name === name)];
  expect([described.type, typeof at("function"), at("axes"), at("axisCount")]).toEqual([OPERATORS.REDUCE.type, "number", [1], 1]);
  expect(["bool", "bfloat16", "int64", "float16"].map((d) => dataTypeName(d as "bool"))).toEqual(["UINT8", "UINT16", "INT64", "FLOAT16"]);
});
