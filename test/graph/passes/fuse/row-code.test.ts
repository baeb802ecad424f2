/** The shader of rows by the evaluator, which sees races, accesses outside of a buffer and reads of what was not written. */
import { expect, it } from "vitest";
import { evaluateShader } from "../../../../src/shader/evaluate.ts";
import { factsOf, group } from "../../../../src/graph/passes/fuse/clusters.ts";
import { launchOf } from "../../../../src/graph/passes/fuse/launch.ts";
import { build } from "../../build.ts";

const traits = { seesTexels: false, roundsHalf: false };

/** x - mean(x) and the largest distance from it, along an axis. */
function centered(sizes: readonly [number, number], axis: 0 | 1) {
  const { g, graph, input } = build();
  const x = input(...sizes);
  const rows = sizes.map((d, i) => (i === axis ? 1 : d));
  const reduce = (t: typeof x, fn: "AVERAGE" | "MAX") =>
    g.reduce(t, { function: fn, output: { sizes: rows, dtype: "float32" }, axes: [axis] });
  const distance = g.elementWiseSubtract(x, g.expand(reduce(x, "AVERAGE"), sizes));
  graph.outputs = [distance, reduce(g.elementWiseAbs(distance), "MAX")];
  const facts = factsOf(graph, new Map(), 8);
  const regions = group(graph, facts);
  expect(regions).toHaveLength(1);
  const { kernel, node } = launchOf([regions[0]!.region!], facts, traits, 0, "");
  const { uniforms } = kernel.program.compiled(traits);
  const { constants, groups } = node.shader!;
  return {
    run(values: Float32Array) {
      const [y, most] = [new Uint32Array(values.length), new Uint32Array(rows[0]! * rows[1]!)];
      const buffers = { x0: new Uint32Array(values.buffer), y0: y, y1: most };
      const named = Object.fromEntries(uniforms.map((u, i) => [u.name, constants[i]!]));
      const { faults } = evaluateShader(kernel.program.source, {
        groups: groups[0] * groups[1],
        grid: groups[0],
        buffers,
        uniforms: named,
      });
      expect(faults).toEqual([]);
      return { y: new Float32Array(y.buffer), most: new Float32Array(most.buffer) };
    },
  };
}

it.each([
  [9, 10, 1],
  [33, 64, 1],
  [3, 4096, 1],
  [2, 5001, 1],
  [1, 37, 1],
  [70, 33, 0],
  [6, 7, 0],
  [1500, 3, 0],
  [13, 1, 0],
] as const)("of %i x %i along axis %i", (rows, columns, axis) => {
  const x = Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i * 1.7) + (i % 5));
  const { y, most } = centered([rows, columns], axis).run(x);
  const count = axis === 0 ? columns : rows;
  for (let row = 0; row < count; row++) {
    const at = Array.from({ length: axis === 0 ? rows : columns }, (_, i) => (axis === 0 ? i * columns + row : row * columns + i));
    const mean = at.reduce((sum, i) => sum + x[i]!, 0) / at.length;
    for (const i of at) expect(Math.abs(y[i]! - (x[i]! - mean))).toBeLessThan(1e-5);
    expect(Math.abs(most[row]! - Math.max(...at.map((i) => Math.abs(x[i]! - mean))))).toBeLessThan(1e-5);
  }
});
