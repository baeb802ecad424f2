/** Nodes over large weights alone, such as those that dequantize them: computed once, when the model is loaded. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ordinary } from "../core/inference.ts";
import { collect, outsideScopes } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { clone } from "../ops/data/state.ts";
import { functionKey, domainOf } from "./format/operator-keys.ts";
import type { GraphMessage, NodeMessage } from "./format/proto.ts";
import { byteLength, Constant, KEPT, type Value } from "./format/value.ts";
import { readNames } from "./graph-order.ts";
import { operatorOf } from "./operators/index.ts";
import { Names, runNode, type Context } from "./run-graph.ts";

/** A result of more bytes than so many times those of its inputs stays a node. */
const MAX_GROWTH = 8;

const bytesOf = (c: Constant): number => byteLength(c.dtype, c.shape);

/** The results of a node as constants of the model; null where it stays a node. */
function computed(context: Context, node: NodeMessage, inputs: readonly (Constant | null)[]): Constant[] | null {
  for (const c of inputs) {
    if (c === null || c.size <= KEPT) continue;
    // One copy of it, on the device.
    c.isOwned = true;
    c.on(context.device);
  }
  const names = new Names(null);
  node.inputs.forEach((name, i) => names.set(name, inputs[i] ?? null));
  const own = new Set(inputs.flatMap((c) => c?.tensor?.storage ?? []));
  try {
    const run = (): Tensor[] | null => {
      const results = runNode(context, node, names);
      if (!results.every((v): v is Tensor => v instanceof Tensor)) return null;
      return results.map((t) => (own.has(t.storage) || !t.coversStorage ? clone(t) : t));
    };
    const { result } = withTracer(null, () => outsideScopes(() => ordinary(() => noGrad(() => collect(run)))));
    if (result === null) return null;
    const made = result.map((t) => {
      const constant = new Constant(t.dtype, t.shape, () => {});
      constant.isOwned = true;
      constant.show(t);
      return constant;
    });
    const before = inputs.reduce((sum, c) => sum + (c === null ? 0 : bytesOf(c)), 0);
    if (made.reduce((sum, c) => sum + bytesOf(c), 0) <= MAX_GROWTH * before) return made;
    for (const c of made) c.dispose();
    return null;
  } catch {
    // The call that runs the node throws the error.
    return null;
  }
}

/**
 * Takes nodes out of a graph whose inputs are weights, at least one of them large, and puts their results among the constants. isFixed: whether a
 * constant stays as it is, as parameters do not. isKept: nodes that stay. Returns the names of the results.
 */
export function foldWeights(
  context: Context,
  graph: GraphMessage,
  constants: Map<string, Value>,
  isFixed: (name: string) => boolean,
  isKept: (node: NodeMessage) => boolean,
): ReadonlySet<string> {
  const folded = new Set<string>();
  const rest: NodeMessage[] = [];
  const fold = (node: NodeMessage): boolean => {
    const domain = domainOf(node.domain);
    if (isKept(node) || context.functions.has(functionKey(domain, node.type, node.overload))) return false;
    if (operatorOf(domain, node.type)?.isPure !== true) return false;
    const inputs: (Constant | null)[] = [];
    for (const name of node.inputs) {
      const value = name === "" ? null : constants.get(name);
      if (value !== null && !(value instanceof Constant && (folded.has(name) || isFixed(name)))) return false;
      inputs.push(value);
    }
    if (!inputs.some((c) => c !== null && c.size > KEPT)) return false;
    const results = computed(context, node, inputs);
    if (results === null) return false;
    node.outputs.forEach((name, i) => {
      if (name === "" || results[i] === undefined) return;
      constants.set(name, results[i]);
      folded.add(name);
    });
    return true;
  };
  for (const node of graph.nodes) if (!fold(node)) rest.push(node);
  if (folded.size === 0) return folded;
  graph.nodes.length = 0;
  for (const node of rest) graph.nodes.push(node);
  const read = readNames(rest, graph.outputs.map((o) => o.name)); // prettier-ignore
  for (const [name, value] of constants) {
    if (read.has(name)) continue;
    constants.delete(name);
    if (value instanceof Constant) value.dispose();
  }
  return folded;
}
