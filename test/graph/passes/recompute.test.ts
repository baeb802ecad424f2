import { expect, it } from "vitest";
import type { Expr } from "../../../src/graph/graph.ts";
import { optimize } from "../../../src/graph/passes/optimize.ts";
import { recomputeSegments } from "../../../src/graph/passes/recompute.ts";
import { planGraph } from "../../../src/graph/plan/plan.ts";
import { verifyGraph } from "../../../src/graph/invariants.ts";
import { build, operators } from "../build.ts";

/** A chain of segments of three nodes each, and the gradients of all of them, which read what two of the three gave. */
function chain(count: number, isMarked = true): ReturnType<typeof build> {
  const made = build();
  const { graph, g, input } = made;
  const segments = Array.from({ length: count }, () => ({}));
  const as = (segment: object, isGradient: boolean): void => {
    g.mark = isMarked ? { segment, isGradient } : null;
  };
  let x: Expr = input(1024);
  const saved = segments.map((segment) => {
    as(segment, false);
    const first = g.elementWiseSin(x);
    const second = g.elementWiseCos(first);
    x = g.elementWiseExp(second);
    return [first, second] as const;
  });
  g.mark = null;
  let dy = g.elementWiseNegate(x);
  for (const [i, segment] of [...segments.entries()].reverse()) {
    as(segment, true);
    for (const value of saved[i]!.toReversed()) dy = g.elementWiseMultiply(dy, g.elementWiseAbs(value));
  }
  graph.outputs = [dy];
  return made;
}

it("gradients read copies of their own segment, made right before them", () => {
  const { graph } = chain(2);
  const next = recomputeSegments(graph);
  verifyGraph(next, "recomputation");
  const segment = ["ELEMENT_WISE_SIN", "ELEMENT_WISE_COS", "ELEMENT_WISE_EXP"];
  const gradient = ["ELEMENT_WISE_SIN", "ELEMENT_WISE_COS", "ELEMENT_WISE_ABS", "ELEMENT_WISE_MULTIPLY", "ELEMENT_WISE_ABS", "ELEMENT_WISE_MULTIPLY"]; // prettier-ignore
  expect(operators(next)).toEqual([...segment, ...segment, "ELEMENT_WISE_NEGATE", ...gradient, ...gradient]);
  // The input of the second segment is read again: it is not computed again.
  const second = next.nodes[7]!;
  expect(second.inputs[0]!.value).toBe(next.nodes[2]!.outputs[0]!.value);
  // A copy of the first segment comes after the gradients of the second.
  expect(next.nodes[13]!.after).toEqual([next.nodes[12]!.outputs[0]!.value]);
});

it("a plan in groups holds the inputs of the segments and one segment's values", () => {
  const bytes = (isMarked: boolean): number => {
    const { graph, g } = chain(8, isMarked);
    return planGraph(optimize(graph, g.capabilities, false), g.capabilities, "test", "none").scratch;
  };
  expect(bytes(false)).toBeGreaterThanOrEqual(16 * 4096);
  expect(bytes(true)).toBeLessThanOrEqual(12 * 4096);
});

it("what is a result, or is read by others in the backward pass, is not computed again; without gradients nothing is", () => {
  const { graph, g, input } = build();
  const segment = {};
  g.mark = { segment, isGradient: false };
  const x = input(4);
  const [a, b, c] = [g.elementWiseSin(x), g.elementWiseCos(x), g.elementWiseExp(x)];
  graph.outputs = [a];
  expect(recomputeSegments(graph)).toBe(graph);
  g.mark = { segment, isGradient: true };
  const dy = [a, b, c].map((value) => g.elementWiseAbs(value)).reduce((sum, each) => g.elementWiseAdd(sum, each));
  g.mark = null;
  graph.outputs = [a, g.elementWiseMultiply(dy, b)];
  const next = recomputeSegments(graph);
  verifyGraph(next, "recomputation");
  // Only exp: its own node is not needed any more.
  expect(operators(next).filter((name) => /SIN|COS|EXP/.test(name))).toEqual(["ELEMENT_WISE_SIN", "ELEMENT_WISE_COS", "ELEMENT_WISE_EXP"]);
});
