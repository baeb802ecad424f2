import { expect, it } from "vitest";
import { flatJoins } from "../../src/graph/joins.ts";
import { build } from "./build.ts";

it("pieces that nodes make for a flat join are written where they belong", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const [a, b] = [g.elementWiseAbs(x), g.elementWiseNegate(x)];
  const whole = g.join([a, b], { axis: 0, output: { sizes: [8] } });
  graph.outputs = [whole];
  const joins = flatJoins(graph, new Set(), new Map());
  expect([...joins.gone].map((n) => n.operator)).toEqual(["JOIN"]);
  expect([a, b].map((p) => joins.inside.get(p.value))).toEqual([
    { whole: whole.value, offset: 0 },
    { whole: whole.value, offset: 16 },
  ]);
});

it("a join stays if it is not flat, has one piece twice or an input, or has pieces at unaligned offsets", () => {
  const kept = (make: (b: ReturnType<typeof build>) => void): number => {
    const b = build();
    make(b);
    return flatJoins(b.graph, new Set(), new Map()).gone.size;
  };
  expect(
    kept(
      ({ g, input }) => void g.join([g.elementWiseAbs(input(2, 2)), g.elementWiseAbs(input(2, 2))], { axis: 1, output: { sizes: [2, 4] } }),
    ),
  ).toBe(0);
  expect(
    kept(({ g, input }) => {
      const a = g.elementWiseAbs(input(4));
      g.join([a, a], { axis: 0, output: { sizes: [8] } });
    }),
  ).toBe(0);
  expect(kept(({ g, input }) => void g.join([g.elementWiseAbs(input(4)), input(4)], { axis: 0, output: { sizes: [8] } }))).toBe(0);
  expect(
    kept(({ g, input }) => void g.join([g.elementWiseAbs(input(3)), g.elementWiseAbs(input(4))], { axis: 0, output: { sizes: [7] } })),
  ).toBe(0);
});
