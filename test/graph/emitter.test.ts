import { expect, it } from "vitest";
import { UnsupportedError } from "../../src/core/errors.ts";
import { build, operators } from "./build.ts";

it("sees an expression in other ways without a node, and copies where it must", () => {
  const { graph, g, input } = build();
  const x = input(2, 3);
  const t = g.transpose(x, [1, 0]);
  expect([t.sizes, t.strides]).toEqual([
    [3, 2],
    [1, 3],
  ]);
  expect(g.expand(input(3), [2, 3]).strides).toEqual([0, 1]);
  expect(g.reshape(x, [6]).value).toBe(x.value);
  expect(graph.nodes).toEqual([]);
  const flat = g.reshape(t, [6]);
  expect([operators(graph), flat.value === x.value]).toEqual([["ELEMENT_WISE_IDENTITY"], false]);
});

it("cuts out what does not start at a multiple of 16 bytes", () => {
  const { graph, g, input } = build();
  const x = input(8);
  const at = (byteOffset: number): number => {
    g.elementWiseAbs(g.reinterpret(x, { sizes: [3], strides: [1], byteOffset }));
    return graph.nodes.length;
  };
  expect([at(16), at(4)]).toEqual([1, 3]);
  expect(operators(graph)).toEqual(["ELEMENT_WISE_ABS", "SLICE1", "ELEMENT_WISE_ABS"]);
  expect(graph.nodes[1]!.attributes.inputWindowOffsets).toEqual([1]);
});

it("outputs take sizes and dtype from the inputs; what the device lacks is refused with the operation's name", () => {
  const { graph, g, input } = build();
  g.origin = "myOperation";
  const y = g.elementWiseAbs(input(2, 3));
  expect([y.sizes, y.dtype, graph.nodes[0]!.origin]).toEqual([[2, 3], "float32", "myOperation"]);
  expect(() => g.elementWiseSin(g.reinterpret(input(4), { dtype: "int32" }))).toThrow(UnsupportedError);
  expect(() => g.elementWiseSin(g.reinterpret(input(4), { dtype: "int32" }))).toThrow(/myOperation/);
  expect([g.supports("ELEMENT_WISE_SIN", "float32"), g.supports("ELEMENT_WISE_SIN", "int32")]).toEqual([true, false]);
  expect(() => g.emit("GATHER", { input: input(4), indices: null })).toThrow(/sizes|dtype|indices|output/);
});
