/** Merges nodes that compute the same: operator, attributes and inputs equal. A generator's state is an input, so draws differ. */
import { Expr, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { keyWithoutConstants } from "../describe.ts";

/** Of nodes with equal keys. */
const haveSameConstants = ({ shader: a }: GraphNode, { shader: b }: GraphNode): boolean =>
  a === undefined || b === undefined || a.constants.join() === b.constants.join();

type Fusions = Pick<GraphNode, "withEpilogue" | "withPrologue" | "withNorm" | "withCast">;

/** What a node can take further, over the values that it reads now: it was made with those that were merged. */
function reading(node: Fusions & Pick<GraphNode, "inputs">, replace: (x: Expr) => Expr): Fusions {
  const { withEpilogue, withPrologue, withNorm, withCast, inputs } = node;
  const renamed = <T extends Fusions & Pick<GraphNode, "inputs">>(made: T | null): T | null =>
    made === null ? null : { ...made, inputs: made.inputs.map((x) => (x === null ? null : replace(x))), ...reading(made, replace) };
  /** What the node was made with, of a value that it reads now; null: of several. */
  const before = (value: Value): Value | null => {
    const [first, ...others] = new Set(inputs.flatMap((x) => (x !== null && replace(x).value === value ? [x.value] : [])));
    return first === undefined || others.length > 0 ? null : first;
  };
  const casting = (withCast: NonNullable<Fusions["withCast"]>, [cast, x]: Parameters<typeof withCast>): ReturnType<typeof withCast> => {
    const known = before(cast);
    return known === null ? null : renamed(withCast(known, x));
  };
  return {
    ...(withEpilogue === undefined ? {} : { withEpilogue: (op) => renamed(withEpilogue(op)) }),
    ...(withPrologue === undefined ? {} : { withPrologue: (...of) => renamed(withPrologue(...of)) }),
    ...(withNorm === undefined ? {} : { withNorm: (...of) => renamed(withNorm(...of)) }),
    ...(withCast === undefined ? {} : { withCast: (...of) => casting(withCast, of) }),
  };
}

export function mergeCommonSubexpressions(graph: Graph): Graph {
  const same = new Map<Value, Value>();
  const seen = new Map<string, GraphNode[]>();
  // Each result has a buffer of its own, so two of them stay two values.
  const results = new Set(graph.outputs.map((x) => x.value));
  const replace = (x: Expr): Expr => {
    const value = same.get(x.value);
    return value === undefined ? x : new Expr(value, x.dtype, x.sizes, x.strides, x.byteOffset);
  };
  const nodes: GraphNode[] = [];
  for (const node of graph.nodes) {
    const inputs = node.inputs.map((x) => (x === null ? null : replace(x)));
    const next: GraphNode = { ...node, inputs, ...reading(node, replace) };
    const key = `${keyWithoutConstants(next)}<${inputs.map((x) => (x === null ? "-" : `${x.value.id}+${x.byteOffset}`)).join()}`;
    const equal = seen.get(key) ?? [];
    // A shader's code is made for the constants: later passes replace launches by others.
    const before = equal.findLast((node) => haveSameConstants(node, next));
    const areResults = node.outputs.some((x, i) => x !== null && results.has(x.value) && results.has(before?.outputs[i]?.value as Value));
    if (before === undefined || areResults) {
      seen.set(key, [...equal, next]);
      nodes.push(next);
      continue;
    }
    node.outputs.forEach((x, i) => {
      if (x === null) return;
      const kept = before.outputs[i]!.value;
      same.set(x.value, kept);
      if (results.has(x.value)) results.add(kept);
    });
  }
  return withNodes(graph, nodes, replace);
}
