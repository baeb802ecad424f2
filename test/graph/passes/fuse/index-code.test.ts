/** Sums and writes by index in regions by the evaluator, which finds accesses outside of buffers. */
import { describe, expect, it } from "vitest";
import { factsOf, group } from "../../../../src/graph/passes/fuse/clusters.ts";
import { launchOf } from "../../../../src/graph/passes/fuse/launch.ts";
import { packedExpr } from "../../../../src/graph/graph.ts";
import { WRITES_OVER } from "../../../../src/shader/operations/scatters.ts";
import { evaluateShader } from "../../../../src/shader/evaluate.ts";
import { build } from "../../build.ts";

/** Updates of 1, 2, ... negated and written into zeros [n, inner], or over them, by the region that negates them, by the evaluator. */
function evaluated(indices: readonly number[], dtype: "int32" | "uint32", n: number, inner: number, isOver: boolean): number[] {
  const { g, graph, input } = build();
  const [k, x] = [indices.length, input(n, inner)];
  const index = packedExpr(graph.addInput(4 * k), dtype, [k, 1]);
  const updates = input(k, inner);
  const y = g.scatter(x, g.expand(index, [k, inner]), g.elementWiseNegate(updates), { axis: 0, output: { sizes: [n, inner] } });
  graph.outputs = [y];
  if (isOver) graph.nodes = graph.nodes.map((node) => (node.operator === "SCATTER" ? { ...node, attributes: { ...node.attributes, [WRITES_OVER]: true } } : node)); // prettier-ignore
  const facts = factsOf(graph, new Map(), 8);
  const [first] = group(graph, facts);
  const { kernel, node } = launchOf([first!.region!], facts, { seesTexels: false, roundsHalf: false }, 0, "");
  expect(node.shader!.updates.map(([i, o]) => [node.inputs[i]!.value, node.outputs[o]!.value])).toEqual(isOver ? [[x.value, y.value]] : []);
  const { uniforms } = kernel.program.compiled({ seesTexels: false, roundsHalf: false });
  const { constants, groups } = node.shader!;
  const bytes = new Map([
    [x.value, new Uint32Array(n * inner)],
    [index.value, Uint32Array.from(indices, (i) => i >>> 0)],
    [updates.value, new Uint32Array(Float32Array.from({ length: k * inner }, (_, i) => i + 1).buffer)],
  ]);
  const result = new Uint32Array(n * inner);
  const buffers = { ...Object.fromEntries(node.inputs.map((e, i) => [`x${i}`, bytes.get(e!.value)!] as const)), y0: result };
  const named = Object.fromEntries(uniforms.map((u, i) => [u.name, constants[i]!]));
  const { faults } = evaluateShader(kernel.program.source, { groups: groups[0] * groups[1], grid: groups[0], buffers, uniforms: named });
  expect(faults).toEqual([]);
  return [...new Float32Array(result.buffer)];
}

describe("indices of writes in regions", () => {
  it("outside of the tensor write nothing, those below 0 count from the end where they are signed, the last of equal ones wins", () => {
    const at = (...list: [number, number][]): number[] => Array.from({ length: 20 }, (_, i) => list.find(([j]) => j === i)?.[1] ?? 0);
    for (const isOver of [false, true]) {
      expect(evaluated([1, -1, 20, 1, -21], "int32", 20, 1, isOver)).toEqual(at([1, -4], [19, -2]));
      expect(evaluated([1, -1, 20, 0, 2 ** 31], "uint32", 20, 1, isOver)).toEqual(at([0, -4], [1, -1]));
      expect(evaluated([2, 2], "uint32", 8, 2, isOver)).toEqual([0, 0, 0, 0, -3, -4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
    const many = Array.from({ length: 12 }, (_, i) => (7 * i) % 9);
    const expected = (inner: number): number[] => Array.from({ length: 64 * inner }, (_, i) => {
      const last = many.lastIndexOf(Math.floor(i / inner));
      return last < 0 ? 0 : -(last * inner + (i % inner) + 1);
    }); // prettier-ignore
    for (const inner of [1, 3, 4]) for (const isOver of [false, true]) expect(evaluated(many, "int32", 64, inner, isOver)).toEqual(expected(inner)); // prettier-ignore
  });
});
