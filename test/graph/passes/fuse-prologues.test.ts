/** What makes a shader's first input becomes part of it. */
import { describe, expect, it } from "vitest";
import { fusePrologues } from "../../../src/graph/passes/fuse-prologues.ts";
import type { Expr, GraphNode } from "../../../src/graph/graph.ts";
import { build, operators } from "../build.ts";

describe("what a shader reads", () => {
  /** A shader that takes what makes its first input; what it was asked for is noted. */
  function reader({ g, graph }: ReturnType<typeof build>, x: Expr, asked: string[], takes = true): Expr {
    const y = g.elementWiseIdentity(x);
    const node = graph.nodes.at(-1) as GraphNode & { withPrologue?: GraphNode["withPrologue"] };
    node.withPrologue = (prologue, from, factor) => {
      asked.push(prologue.kind === "rms" ? "rms" : prologue.activation.operator);
      return takes ? { inputs: factor === null ? [from] : [from, factor] } : null;
    };
    return y;
  }
  const swish = (g: ReturnType<typeof build>["g"], x: Expr): Expr => g.activationSwish(x, { sigmoidInputScale: 1 });

  it("becomes part of it, where all that read it can do so", () => {
    const built = build();
    const { g, graph } = built;
    const [x, gate] = [built.input(2, 3), built.input(2, 3)];
    const [asked, gated] = [[] as string[], g.elementWiseMultiply(x, swish(g, gate))];
    const alone = g.activationRelu(x);
    graph.outputs = [reader(built, gated, asked), reader(built, g.reinterpret(gated, { sizes: [6] }), asked), reader(built, alone, asked)];
    const result = fusePrologues(graph);
    expect(operators(result)).toEqual(["ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_IDENTITY", "ELEMENT_WISE_IDENTITY"]);
    expect(asked).toEqual(["ACTIVATION_SWISH", "ACTIVATION_SWISH", "ACTIVATION_RELU"]);
    expect(result.nodes.map(({ inputs }) => inputs.map((e) => e!.value))).toEqual([
      [gate.value, x.value],
      [gate.value, x.value],
      [x.value],
    ]);
    expect(result.nodes[1]!.inputs[0]!.sizes).toEqual([6]);
  });

  it("stays where something else reads it, where it is a result, and where a reader cannot", () => {
    const built = build();
    const { g, graph } = built;
    const [x, y] = [built.input(2, 3), built.input(2, 3)];
    const asked: string[] = [];
    const [read, shown, refused, part] = [x, y, x, y].map((t) => g.activationRelu(t)) as [Expr, Expr, Expr, Expr];
    graph.outputs = [
      reader(built, read, asked),
      g.elementWiseExp(read),
      reader(built, shown, asked),
      shown,
      reader(built, refused, asked, false),
      // Rows of another tensor.
      reader(built, g.reinterpret(part, { sizes: [3], byteOffset: 12 }), asked),
    ];
    expect(operators(fusePrologues(graph))).toEqual(operators(graph));
    expect(asked).toEqual(["ACTIVATION_RELU"]);
  });
});
