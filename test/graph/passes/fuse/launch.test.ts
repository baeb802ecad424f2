import { afterEach, expect, it, vi } from "vitest";
import { build } from "../../build.ts";
import { fused } from "./programs.ts";

afterEach(() => vi.unstubAllEnvs());

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

/** Sums of rows, each scaled by what two rows of a flat buffer hold. */
const scaledSums = (first: number, second: number, columns = 8) => {
  const built = build();
  const { g, graph, input } = built;
  const [x, flat] = [input(16, columns), input(256)];
  const from = (offset: number) => g.reinterpret(flat, { sizes: [16, columns], strides: [0, 1], byteOffset: 4 * offset });
  const scaled = g.elementWiseMultiply(g.elementWiseMultiply(x, from(first)), from(second));
  graph.outputs = [g.reduce(scaled, { function: "SUM", output: { sizes: [16, 1], dtype: "float32" }, axes: [1] })];
  const nodes = fused(built).nodes;
  expect(nodes.map(({ operator }) => operator)).toEqual(["SHADER"]);
  return nodes[0]!.shader!;
};

it("shares a shader among regions that read a buffer from other offsets on, which are numbers of the launch", () => {
  const one = scaledSums(8, 24);
  expect(scaledSums(16, 64).id).toBe(one.id);
  expect(scaledSums(16, 64).constants).not.toEqual(one.constants);
  expect(scaledSums(8, 24).constants).toEqual(one.constants);
  // One offset, none, and others that are copied.
  for (const [a, b] of [[8, 8], [0, 24], [8, 0], [8, 25], [9, 24]] as const) expect(scaledSums(a, b).id).not.toBe(one.id); // prettier-ignore
  expect(scaledSums(8, 24, 4).id).not.toBe(one.id);
});

it("refuses what reads past its buffer", () => {
  const built = build();
  const { g, graph, input } = built;
  const x = g.reinterpret(input(4), { sizes: [5], strides: [1] });
  graph.outputs = [g.elementWiseExp(g.elementWiseExp(x))];
  expect(() => fused(built)).toThrow(/reads element 4 of 4/);
});

it.each([1, 2, 3, 5, 100, 2 ** 15 + 1])("writes nothing past %i floats or halves next to as many bytes", (n) => {
  vi.stubEnv("DXTENSOR_VERIFY", "1");
  for (const dtype of ["float32", "float16"] as const) {
    const built = build();
    const { g, graph, input } = built;
    const y = g.elementWiseExp(g.cast(input(n), { output: { dtype } }));
    graph.outputs = [y, g.cast(y, { output: { dtype: "uint8" } })];
    const shaders = fused(built).nodes.map((node) => node.shader!);
    expect(shaders).toHaveLength(1);
    expect(() => shaders[0]!.constants).not.toThrow();
  }
});
