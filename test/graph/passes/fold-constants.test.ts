import { expect, it } from "vitest";
import { foldConstants } from "../../../src/graph/passes/fold-constants.ts";
import { build, operators } from "../build.ts";

const fill = (g: ReturnType<typeof build>["g"], sizes: readonly number[], value: number) =>
  g.fillValueConstant({ output: { sizes, dtype: "float32" }, valueDataType: "FLOAT32", value: { dtype: "float32", value } });

it("small fills and copies of them become inputs with bytes", () => {
  const { graph, g, input } = build();
  const x = input(2, 3);
  const twos = g.expand(fill(g, [1, 3], 2), [2, 3]);
  graph.outputs = [g.elementWiseAdd(x, g.elementWiseIdentity(twos))];
  const folded = foldConstants(graph);
  expect(operators(folded)).toEqual(["ELEMENT_WISE_ADD"]);
  const [[value, bytes]] = [...folded.constants] as [[unknown, Uint8Array]];
  expect([folded.inputs.at(-1) === value, [...new Float32Array(bytes.buffer)]]).toEqual([true, [2, 2, 2, 2, 2, 2]]);
});

it("large ones and results stay", () => {
  const { graph, g, input } = build();
  graph.outputs = [g.elementWiseAdd(input(300), fill(g, [300], 1)), fill(g, [2], 3)];
  const folded = foldConstants(graph);
  expect([folded.nodes.length, folded.constants.size, folded.inputs.length]).toEqual([3, 0, 1]);
});
