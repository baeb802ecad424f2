import { expect, it } from "vitest";
import { keepWideValues, narrowToBfloat16, roundToBfloat16, widenBfloat16 } from "../../src/graph/bfloat16.ts";
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
  const before = narrowToBfloat16(g, roundToBfloat16(g, input(8)));
  keepWideValues(graph);
  const rounded = roundToBfloat16(g, input(8));
  const narrow = narrowToBfloat16(g, rounded);
  const count = graph.nodes.length;
  const part = g.reinterpret(narrow, { sizes: [4], strides: [1], byteOffset: 8 });
  const wide = widenBfloat16(g, part);
  expect([wide.value, wide.byteOffset, wide.dtype, graph.nodes.length]).toEqual([rounded.value, 16, "float32", count]);
  expect(widenBfloat16(g, before).dtype).toBe("float32");
  expect(graph.nodes.length).toBeGreaterThan(count);
});

it("does not widen what a compiled function casts to bfloat16: each value is rounded once", () => {
  const step = dx.compile(
    (x: dx.Tensor, w: dx.Tensor) => {
      const y = dx.autocast("bfloat16", () => dx.relu(dx.linear(x, w)).to("float32"));
      const loss = y.square().sum();
      return [y, ...dx.grad(loss, [w])];
    },
    { check: false, regions: "none" },
  );
  const [x, w] = [5, 6].map((rows, i) => dx.randn([rows, 8], { generator: new dx.Generator(i) }).mul(4)) as [dx.Tensor, dx.Tensor];
  w.requiresGrad_();
  const eager = dx.autocast("bfloat16", () => dx.relu(dx.linear(x, w)).to("float32"));
  const [gradient] = dx.grad(eager.square().sum(), [w]);
  for (let call = 0; call < 3; call++) {
    const [y, ofW] = step(x, w);
    expect(y!.toArraySync()).toEqual(eager.toArraySync());
    expect(ofW!.toArraySync()).toEqual(gradient!.toArraySync());
  }
  expect(step.explain().nodes.filter(({ operator }) => operator.includes("SHIFT_LEFT"))).toEqual([]);
  step.dispose();
});

it("widens a broadcast tensor once", () => {
  const { graph, g, input } = build();
  const narrow = narrowToBfloat16(g, roundToBfloat16(g, input(1, 4)));
  graph.nodes.length = 0;
  const wide = widenBfloat16(g, g.expand(narrow, [5, 4]));
  expect([wide.sizes, wide.strides[0]]).toEqual([[5, 4], 0]);
  expect(graph.nodes.every((n) => n.outputs.every((x) => x === null || x.sizes.reduce((a, b) => a * b, 1) <= 4))).toBe(true);
});
