import { expect, it } from "vitest";
import { narrowToBfloat16, roundToBfloat16, widenBfloat16, type WideValues } from "../../src/graph/bfloat16.ts";
import * as dx from "../../src/index.ts";
import { build } from "./build.ts";

/** The nearest number of 8 significant bits, ties to even. */
function nearest(x: number): number {
  if (!Number.isFinite(x) || x === 0) return x;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - 7);
  const [down, rest] = [Math.floor(x / unit), x / unit - Math.floor(x / unit)];
  return unit * (rest > 0.5 || (rest === 0.5 && down % 2 !== 0) ? down + 1 : down);
}

it("rounds to the nearest, ties to even, and keeps NaN and infinities", () => {
  const values = [1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -20, -0.1, 3e38, 257, 259, Infinity, -Infinity, 0];
  const exact = [...Float32Array.from(values)];
  expect(dx.tensor(values).to("bfloat16").to("float32").toArraySync()).toEqual(exact.map(nearest));
  expect(dx.tensor([NaN]).to("bfloat16").to("float32").itemSync()).toBeNaN();
});

it("widens what was narrowed in the same graph without a node, also a part of it", () => {
  const { graph, g, input } = build();
  const known: WideValues = new Map();
  const rounded = roundToBfloat16(g, input(8));
  const narrow = narrowToBfloat16(g, rounded, known);
  const count = graph.nodes.length;
  const part = g.reinterpret(narrow, { sizes: [4], strides: [1], byteOffset: 8 });
  const wide = widenBfloat16(g, part, known);
  expect([wide.value, wide.byteOffset, wide.dtype, graph.nodes.length]).toEqual([rounded.value, 16, "float32", count]);
  expect(widenBfloat16(g, narrow).value).not.toBe(rounded.value);
  expect(graph.nodes.length).toBeGreaterThan(count);
});

it("widens a broadcast tensor once", () => {
  const { graph, g, input } = build();
  const narrow = narrowToBfloat16(g, roundToBfloat16(g, input(1, 4)));
  graph.nodes.length = 0;
  const wide = widenBfloat16(g, g.expand(narrow, [5, 4]));
  expect([wide.sizes, wide.strides[0]]).toEqual([[5, 4], 0]);
  expect(graph.nodes.every((n) => n.outputs.every((x) => x === null || x.sizes.reduce((a, b) => a * b, 1) <= 4))).toBe(true);
});
