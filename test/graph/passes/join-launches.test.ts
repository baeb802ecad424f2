/** Launches that read the same tensor become one: which of them may, and where it stands. */
import { expect, it } from "vitest";
import { packedExpr, type Expr, type GraphNode, type ShaderCall } from "../../../src/graph/graph.ts";
import { verifyGraph } from "../../../src/graph/invariants.ts";
import { joinLaunches } from "../../../src/graph/passes/join-launches.ts";
import { build, type Built } from "../build.ts";

const call = (id: number): ShaderCall => ({ id, bytes: new Uint8Array(), views: new Uint8Array(), constants: new Uint32Array(), groups: [1, 1, 1], fills: [], inPlace: false, updates: [] }); // prettier-ignore

/** A launch of x and a weight, of which at most three become one, whose id is their number. */
function product({ graph }: Built, x: Expr, weight: Expr, more: Partial<GraphNode> = {}, key = "product"): Expr {
  const node: GraphNode = {
    id: graph.nodes.length,
    operator: "SHADER",
    shader: call(1),
    attributes: {},
    inputs: [x, weight],
    outputs: [],
    origin: `product ${graph.nodes.length}`,
    joins: { key, launch: (nodes) => (nodes.length > 3 ? null : call(nodes.length)) },
    flops: 10,
    ...more,
  };
  const y = packedExpr(graph.newValue(16, node), "float32", [4]);
  graph.nodes.push({ ...node, outputs: [y] });
  return y;
}

/** Of each node, how many launches it is. */
function launches(built: Built, outputs: readonly Expr[]): (number | string)[] {
  built.graph.outputs = [...outputs];
  const joined = joinLaunches(built.graph);
  verifyGraph(joined, "launches");
  return joined.nodes.map(({ operator, shader }) => shader?.id ?? operator);
}

it("joins as many as one launch takes, where the first one was", () => {
  const built = build();
  const [x, ...weights] = Array.from({ length: 6 }, () => built.input(4)) as [Expr, ...Expr[]];
  const results = weights.map((w) => product(built, x, w));
  built.graph.outputs = results;
  const { nodes } = joinLaunches(built.graph);
  expect(nodes.map(({ shader }) => shader!.id)).toEqual([3, 2]);
  expect(nodes[0]!.inputs).toEqual([x, ...weights.slice(0, 3)]);
  expect(nodes[0]!.outputs).toEqual(results.slice(0, 3));
  expect([nodes[0]!.flops, nodes[0]!.origin]).toEqual([30, "product 0 + product 1 + product 2"]);
});

it("leaves launches of other tensors, of other kinds, of other segments, and behind others", () => {
  const built = build();
  const [x, z, a, b] = Array.from({ length: 4 }, () => built.input(4)) as [Expr, Expr, Expr, Expr];
  const mark = { name: "segment" } as unknown as NonNullable<GraphNode["mark"]>;
  const y = product(built, x, a);
  const others = [product(built, z, a), product(built, x, b, {}, "another"), product(built, x, b, { after: [y.value] })];
  expect(launches(built, [y, ...others, product(built, x, b, { mark })])).toEqual([1, 1, 1, 1, 1]);
});

it("leaves a launch that reads what is made behind the first one", () => {
  const built = build();
  const [x, w] = [built.input(4), built.input(4)];
  const y = product(built, x, w);
  const later = built.g.elementWiseAdd(y, w);
  const last = product(built, x, later);
  // The last one can be joined with what follows it.
  expect(launches(built, [last, product(built, x, w)])).toEqual([1, "ELEMENT_WISE_ADD", 2]);
});
