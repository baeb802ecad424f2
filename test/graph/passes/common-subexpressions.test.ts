import { expect, it } from "vitest";
import { packedExpr, type Expr, type GraphNode } from "../../../src/graph/graph.ts";
import { mergeCommonSubexpressions } from "../../../src/graph/passes/common-subexpressions.ts";
import { build, operators, type Built } from "../build.ts";

it("equal nodes over equal inputs become one, through several levels", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const [a, b] = [g.elementWiseExp(g.elementWiseAbs(x)), g.elementWiseExp(g.elementWiseAbs(x))];
  graph.outputs = [g.elementWiseAdd(a, b)];
  const merged = mergeCommonSubexpressions(graph);
  expect(operators(merged)).toEqual(["ELEMENT_WISE_ABS", "ELEMENT_WISE_EXP", "ELEMENT_WISE_ADD"]);
  expect(merged.nodes[2]!.inputs[0]!.value).toBe(merged.nodes[2]!.inputs[1]!.value);
});

it("other attributes, other inputs and two results stay apart", () => {
  const { graph, g, input } = build();
  const [x, y] = [input(4), input(4)];
  g.activationLeakyRelu(x, { alpha: 0.1 });
  g.activationLeakyRelu(x, { alpha: 0.2 });
  g.elementWiseAbs(x);
  g.elementWiseAbs(y);
  graph.outputs = [g.elementWiseNegate(x), g.elementWiseNegate(x)];
  const merged = mergeCommonSubexpressions(graph);
  expect(merged.nodes).toHaveLength(6);
  expect(merged.outputs[0]!.value).not.toBe(merged.outputs[1]!.value);
});

it("launches are merged by their constants, which take the shader's code, only where all else is equal", () => {
  const built = build();
  const [x, y] = [built.input(4), built.input(4)];
  const asked: number[] = [];
  const launch = ({ graph }: Built, input: Expr, id: number, constant: number): Expr => {
    const node: GraphNode = {
      id: graph.nodes.length,
      operator: "SHADER",
      shader: {
        id,
        bytes: new Uint8Array(),
        views: new Uint8Array(),
        get constants() {
          asked.push(id);
          return Uint32Array.of(constant);
        },
        groups: [1, 1, 1],
        fills: [],
        inPlace: false,
        updates: [],
      },
      attributes: {},
      inputs: [input],
      outputs: [],
      origin: "launch",
    };
    const output = packedExpr(graph.newValue(16, node), "float32", [4]);
    graph.nodes.push({ ...node, outputs: [output] });
    return output;
  };
  const alone = [launch(built, x, 1, 5), launch(built, y, 1, 5), launch(built, x, 2, 5)];
  const [a, b, c, d] = [5, 6, 5, 6].map((constant) => launch(built, x, 3, constant)) as [Expr, Expr, Expr, Expr];
  const { g } = built;
  built.graph.outputs = [...alone, g.elementWiseAdd(a, b), g.elementWiseAdd(c, d)];
  const merged = mergeCommonSubexpressions(built.graph);
  expect(merged.nodes.map(({ operator, shader }) => shader?.id ?? operator)).toEqual([
    1,
    1,
    2,
    3,
    3,
    "ELEMENT_WISE_ADD",
    "ELEMENT_WISE_ADD",
  ]);
  expect(new Set(asked)).toEqual(new Set([3]));
  expect(merged.nodes.slice(3, 5).map(({ shader }) => [...shader!.constants])).toEqual([[5], [6]]);
});
