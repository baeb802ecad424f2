import { expect, it } from "vitest";
import { build, operators } from "../../build.ts";
import { fused } from "./programs.ts";

it("counts two views of a buffer that is accessed by words and by texels", () => {
  const outputs = (count: number, read: number): number => {
    const built = build();
    const { g, graph, input } = built;
    const rows = Array.from({ length: count }, () => g.reduce(input(1, read), { function: "SUM", output: { sizes: [1, 1], dtype: "float32" }, axes: [1] })); // prettier-ignore
    graph.outputs = rows;
    return operators(fused(built)).length;
  };
  // Six regions of two buffers each, of which texels are read, or words alone.
  expect(outputs(6, 64)).toBe(2);
  expect(outputs(6, 63)).toBe(1);
});
