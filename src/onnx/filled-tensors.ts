/** Nodes that fill a shape of the file with one value, which some files have in place of weights: computed once, when the model is loaded. */
import { noGrad } from "../autograd/grad-mode.ts";
import { withTracer } from "../core/tracer.ts";
import { MAX_HOSTED } from "./format/call.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import type { GraphMessage, NodeMessage } from "./format/proto.ts";
import { Constant, KEPT, type Value } from "./format/value.ts";
import { nameOf, readNames } from "./graph-order.ts";
import { initializersOf, Names, runNode, type Context } from "./run-graph.ts";

/** The result; null where it is small or too large to keep, where its shape is not known, and where the call that runs the node throws. */
function filled(context: Context, node: NodeMessage, shape: Value | undefined): Constant | null {
  if (!(shape instanceof Constant) || shape.size > KEPT) return null;
  const names = new Names(null);
  names.set(node.inputs[0]!, shape);
  try {
    const [value] = withTracer(null, () => noGrad(() => runNode(context, node, names)));
    return value instanceof Constant && value.size > KEPT && value.size <= MAX_HOSTED ? value : null;
  } catch {
    return null;
  }
}

/**
 * Takes ConstantOfShape nodes with large results out of a graph, and puts the results among its initializers, which the model keeps on its device.
 * isFixed: whether an initializer among the inputs has no other value than its own, as before version 4 of the format. kept: names of nodes that stay.
 */
export function foldFilled(context: Context, graph: GraphMessage, isFixed: boolean, kept: ReadonlySet<string>): void {
  const constants = initializersOf(context, graph) as Map<string, Value>;
  const changeable = new Set(isFixed ? [] : graph.inputs.map((i) => i.name));
  const shapes = new Set<string>();
  const rest = graph.nodes.filter((node) => {
    const { type, domain, overload, inputs, outputs } = node;
    if (type !== "ConstantOfShape" || domainOf(domain) !== "" || kept.has(nameOf(node))) return true;
    const [shape = ""] = inputs;
    const [name = ""] = outputs;
    if (name === "" || changeable.has(shape) || context.functions.has(functionKey(domainOf(domain), type, overload))) return true;
    const value = filled(context, node, constants.get(shape));
    if (value === null) return true;
    constants.set(name, value);
    context.computed.add(name);
    shapes.add(shape);
    return false;
  });
  if (shapes.size === 0) return;
  graph.nodes.length = 0;
  for (const node of rest) graph.nodes.push(node);
  const read = readNames(graph.nodes, graph.outputs.map((o) => o.name)); // prettier-ignore
  for (const name of shapes) {
    if (read.has(name)) continue;
    constants.delete(name);
    const at = graph.inputs.findIndex((i) => i.name === name);
    if (at >= 0) graph.inputs.splice(at, 1);
  }
}
