import { expect, it } from "vitest";
import { define } from "../../src/core/definition.ts";
import { device } from "../../src/core/device.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { compileGraph, lowerDefinition } from "../../src/runtime/addon-program.ts";
import { internDesc } from "../../src/core/storage.ts";

const cpu = device("cpu");
const native = nativeDevice(cpu);
const desc = internDesc(cpu, "float32", [2, 3]);
const spec = { shape: [2, 3], dtype: "float32" } as const;

it("one operation becomes a graph over storages from the aligned offset on, without what nobody reads", () => {
  const op = define({
    name: "test",
    traits: { users: true },
    infer: ([x]) => [x!],
    lower: (g, [x]) => {
      g.elementWiseSin(x!);
      return [g.elementWiseAbs(x!)];
    },
    grad: null,
  });
  const graph = lowerDefinition(native, op, [{ desc, residue: 8 }], undefined, [spec]);
  expect([graph.inputs.map((v) => v.sizeInBytes), graph.nodes.map((n) => n.operator)]).toEqual([[32], ["SLICE1", "ELEMENT_WISE_ABS"]]);
  expect(graph.nodes.every((n) => n.origin === "test")).toBe(true);
  const { id } = compileGraph(native, graph, "test");
  expect(id).toBeGreaterThan(0);
  native.binding.releaseProgram(id);
});

it("a result is a value of its own: an input, a transposed input, or a part of something is copied", () => {
  const results = (lower: Parameters<typeof define>[0]["lower"]): string[] => {
    const op = define({
      name: "test",
      traits: { users: true },
      infer: ([x]) => [x!],
      lower,
      grad: null,
    });
    const graph = lowerDefinition(native, op, [{ desc, residue: 0 }], undefined, [spec]);
    expect(graph.outputs[0]!.value.producer).not.toBeNull();
    return graph.nodes.map((n) => n.operator);
  };
  expect(results((_, [x]) => [x!])).toEqual(["ELEMENT_WISE_IDENTITY"]);
  expect(results((g, [x]) => [g.reinterpret(g.elementWiseAbs(x!), { strides: [0, 1] })])).toEqual([
    "ELEMENT_WISE_ABS",
    "ELEMENT_WISE_IDENTITY",
  ]);
  expect(results((g, [x]) => [g.elementWiseAbs(x!)])).toEqual(["ELEMENT_WISE_ABS"]);
});
