/** What becomes one region: paths through other nodes, limits, dtypes. */
import { describe, expect, it } from "vitest";
import { build, operators } from "../../build.ts";
import { fused } from "./programs.ts";

describe("regions of a graph", () => {
  it("have no path that leaves them and returns", () => {
    const built = build();
    const { g, graph } = built;
    const x = built.input(1, 1, 144, 144);
    const a = g.elementWiseExp(x);
    const product = g.gemm(a, x, { output: { sizes: [1, 1, 144, 144] }, transA: "NONE", transB: "NONE", alpha: 1, beta: 0 });
    graph.outputs = [g.elementWiseAdd(g.elementWiseNegate(a), product)];
    const result = fused(built);
    // The negation goes with the exponential or with the addition, but not both with both.
    expect(operators(result).sort()).toEqual(["ELEMENT_WISE_EXP", "GEMM", "SHADER"]);
    expect(result.nodes.find((n) => n.fused !== undefined)!.fused!.ends).toContain("a path through other nodes");
  });

  it("are launches of no more buffers than the device has", () => {
    const built = build();
    const inputs = Array.from({ length: 24 }, () => built.input(4));
    built.graph.outputs = [inputs.reduce((a, b) => built.g.elementWiseAdd(a, b))];
    const result = fused(built);
    expect(operators(result).every((o) => o === "SHADER")).toBe(true);
    for (const node of result.nodes) expect(node.inputs.length + node.outputs.length).toBeLessThanOrEqual(16);
    expect(result.nodes[0]!.fused!.ends).toContain("more than 16 buffers");
  });

  it("leave what stands alone, and values of dtypes that no shader has", () => {
    const built = build();
    const { g, graph } = built;
    graph.outputs = [
      g.elementWiseExp(built.input(4)),
      g.cast(g.cast(built.input(4), { output: { dtype: "int64" } }), { output: { dtype: "float32" } }),
    ];
    expect(operators(fused(built))).toEqual(["ELEMENT_WISE_EXP", "CAST", "CAST"]);
  });
});
