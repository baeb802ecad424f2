/** Nodes that draw random numbers: each call draws others, or those of the node's seed again. */
import { innerGraphs } from "./format/limits.ts";
import { domainOf, functionKey } from "./format/operator-keys.ts";
import type { FunctionMessage, NodeMessage } from "./format/proto.ts";
import { random } from "./operators/creation.ts";

/** A Dropout with an input that says whether it trains may draw. */
const draws = (node: NodeMessage): boolean =>
  domainOf(node.domain) === "" && (Object.hasOwn(random, node.type) || (node.type === "Dropout" && (node.inputs[2] ?? "") !== ""));

/** Whether a node draws random numbers, or one that is inside it. */
export function drawsNumbers(node: NodeMessage, functions: ReadonlyMap<string, FunctionMessage>): boolean {
  const f = functions.get(functionKey(domainOf(node.domain), node.type, node.overload));
  if (f !== undefined) return f.nodes.some((inner) => drawsNumbers(inner, functions));
  return draws(node) || [...innerGraphs(node)].some((g) => g.nodes.some((inner) => drawsNumbers(inner, functions)));
}
