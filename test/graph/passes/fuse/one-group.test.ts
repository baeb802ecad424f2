import { expect, it } from "vitest";
import { build, operators } from "../../build.ts";
import { fused } from "./programs.ts";

/** A state that is divided by its norm, which a launch of several groups has to wait for. */
function normalized(sizes: readonly number[]) {
  const built = build();
  const { g, graph, input } = built;
  const state = input(...sizes);
  const axes = sizes.map((_, i) => i);
  const columns = g.reduce(g.elementWiseMultiply(state, state), {
    function: "SUM",
    output: { sizes: [1, sizes[1]!], dtype: "float32" },
    axes: [0],
  });
  const total = g.reduce(columns, { function: "MAX", output: { sizes: axes.map(() => 1), dtype: "float32" }, axes: [1] });
  const next = g.elementWiseDivide(state, g.expand(g.elementWiseSqrt(total), sizes));
  graph.state = [{ buffer: state.value, value: next }];
  return { built, state, next };
}

it("writes a small state in one launch of one group, in place", () => {
  const { built, state, next } = normalized([6, 8]);
  const { nodes } = fused(built);
  expect(nodes.map((n) => n.operator)).toEqual(["SHADER"]);
  const { inputs, outputs, shader } = nodes[0]!;
  const pairs = (shader!.inPlace as readonly (readonly [number, number])[]).map(([i, o]) => [inputs[i]!.value, outputs[o]!.value]);
  expect(pairs).toEqual([[state.value, next.value]]);
});

it("leaves large states to launches of several groups", () => {
  expect(operators(fused(normalized([64, 128]).built)).length).toBeGreaterThan(1);
});
