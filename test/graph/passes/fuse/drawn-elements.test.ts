import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { drawsAgain, markCopy, originalOf } from "../../../../src/graph/passes/fuse/drawn-elements.ts";
import { factsOf } from "../../../../src/graph/passes/fuse/clusters.ts";
import { packedExpr } from "../../../../src/graph/graph.ts";
import { eachDevice } from "../../../device.ts";
import { build } from "../../build.ts";

const numbers = (t: dx.Tensor): number[] => ([t.toArraySync()] as unknown[]).flat(10 as 0).map(Number);
const FORMS = ["always", "off"] as const;

it("finds numbers that several elements share, unless they are reduced before", () => {
  const { g, graph, input } = build();
  const state = packedExpr(graph.addInput(24), "uint32", [6]);
  const { output } = g.randomGenerator(state, { output: { sizes: [3, 1], dtype: "uint32" }, type: "PHILOX_4X32_10" });
  const each = g.elementWiseMultiply(g.cast(output, { output: { dtype: "float32" } }), input(3, 1));
  const sum = g.reduce(each, { function: "SUM", output: { sizes: [1, 1], dtype: "float32" }, axes: [0] });
  graph.outputs = [g.elementWiseMultiply(g.expand(sum, [3, 4]), input(3, 4))];
  expect(drawsAgain(graph.nodes, factsOf(graph, new Map(), 8))).toBe(false);
  graph.outputs = [g.elementWiseMultiply(g.expand(each, [3, 4]), input(3, 4))];
  expect(drawsAgain(graph.nodes, factsOf(graph, new Map(), 8))).toBe(true);
});

it("knows what copies of copies were made of", () => {
  const { graph } = build();
  const [first, second, third] = [graph.addInput(4), graph.addInput(4), graph.addInput(4)];
  markCopy(second, first);
  markCopy(third, second);
  expect([first, second, third].map(originalOf)).toEqual([first, first, first]);
});

eachDevice("draws in regions", (name) => {
  const device = dx.device(name);

  it("draw masks of whole channels once", () => {
    const results = FORMS.map((fuse) => {
      const generator = new dx.Generator(4);
      const f = dx.compile((x: dx.Tensor) => dx.nn.functional.dropout2d(x, { p: 0.5, generator }).mul(2), { fuse });
      const all = [1, 2].map((v) => numbers(f(dx.full([3, 5, 4, 6], v, { device }))));
      f.dispose();
      return all;
    });
    expect(results[0]).toEqual(results[1]);
  });
});
