import { expect, it } from "vitest";
import { build } from "../../build.ts";
import { fused } from "./programs.ts";

const chain = (rows: number, columns: number, scale: number) => {
  const built = build();
  const { g, graph } = built;
  const [x, row] = [built.input(rows, columns), built.input(columns)];
  const scaled = g.elementWiseIdentity(x, { scaleBias: [scale, 1] });
  graph.outputs = [columns === 1 ? g.elementWiseTanh(scaled) : g.elementWiseAdd(scaled, g.expand(row, [rows, columns]))];
  return fused(built).nodes.map((n) => n.shader!)[0]!;
};

it("shares a shader among regions of other sizes, unless indices depend on them", () => {
  expect(chain(8, 1, 2).id).toBe(chain(60, 1, 2).id);
  expect(chain(8, 1, 2).constants).not.toEqual(chain(60, 1, 2).constants);
  expect(chain(8, 1, 2).id).not.toBe(chain(8, 1, 3).id);
  expect(chain(8, 5, 2).id).not.toBe(chain(8, 7, 2).id);
  expect(chain(8, 5, 2).id).toBe(chain(8, 5, 2).id);
  // Of one element, whose index is known.
  expect(chain(1, 1, 2).id).not.toBe(chain(8, 1, 2).id);
});

it("refuses what reads past its buffer", () => {
  const built = build();
  const { g, graph, input } = built;
  const x = g.reinterpret(input(4), { sizes: [5], strides: [1] });
  graph.outputs = [g.elementWiseExp(g.elementWiseExp(x))];
  expect(() => fused(built)).toThrow(/reads element 4 of 4/);
});
