/** Inputs with values of their own, and branches that these decide. */
import { arrayClass, type DType } from "../core/dtype.ts";
import { elements } from "../core/elements.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { scope } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { values } from "../ops/data/conversion.ts";
import type { GraphMessage, NodeMessage, ValueInfoMessage } from "./format/proto.ts";
import { domainOf } from "./format/operator-keys.ts";
import { Constant, dtypeOf, KEPT, type Value } from "./format/value.ts";
import { constantOf } from "./format/tensor-message.ts";
import { ordered, readNames } from "./graph-order.ts";
import { operatorOf } from "./operators/index.ts";
import { Names, runNode, type Context } from "./run-graph.ts";
import type { OnnxConstant } from "./model.ts";

/** The value of an input as a constant of its dtype and shape. */
export function constantFor({ name, type }: ValueInfoMessage, value: OnnxConstant): Constant {
  const argument = `constants["${name}"]`;
  if (type === null || type.kind !== "tensor") throw new ValueError("onnx.load", argument, "of an input that is a tensor", name);
  const dtype = dtypeOf(type.elementType, `onnx ${name}`);
  if (value instanceof Tensor) {
    if (value.dtype !== dtype) throw new DTypeError("onnx.load", argument, `of dtype ${dtype}`, value.describe());
    return shaped(argument, type.dims, dtype, value.shape, values(dtype, value.dataSync()));
  }
  const isList = Array.isArray(value) || ArrayBuffer.isView(value);
  const list: readonly (number | bigint | boolean)[] = isList
    ? Array.from(value as ArrayLike<number | bigint | boolean>)
    : [value as number | bigint | boolean];
  for (const v of list)
    if (typeof v !== "number" && typeof v !== "bigint" && typeof v !== "boolean")
      throw new ValueError("onnx.load", argument, "a number, a boolean, a list of them, or a tensor", value);
  const known = type.dims?.every((d) => typeof d === "number") === true ? (type.dims as number[]) : null;
  const shape = known ?? (isList ? [list.length] : (type.dims ?? []).map(() => 1));
  return shaped(argument, type.dims, dtype, shape, list);
}

function shaped(
  argument: string,
  dims: readonly (number | string | null)[] | null,
  dtype: DType,
  shape: readonly number[],
  list: readonly (number | bigint | boolean)[],
): Constant {
  const fits = dims === null || (dims.length === shape.length && dims.every((d, i) => typeof d !== "number" || d === shape[i]));
  if (!fits || sizeOf(shape) !== list.length)
    throw new ShapeError("onnx.load", argument, `of shape [${(dims ?? ["any"]).map((d) => d ?? "?").join(", ")}]`, `[${shape.join(", ")}] with ${list.length} elements`); // prettier-ignore
  const isWide = dtype === "int64" || dtype === "uint64";
  const wrong = list.find((v) => typeof v === "number" && isWide && !Number.isInteger(v));
  if (wrong !== undefined) throw new ValueError("onnx.load", argument, "an integer", wrong);
  const numbers = list.map((v) => (isWide ? BigInt(v) : Number(v)));
  const data = dtype === "bool" ? new (arrayClass(dtype))(numbers.map((n) => (n === 0 ? 0 : 1)) as never) : elements(dtype, numbers);
  return new Constant(dtype, shape, data as ConstructorParameters<typeof Constant>[2]);
}

/**
 * Puts the nodes of a branch in the graph in place of an If whose condition follows from constants. constants: values of inputs. Returns whether
 * there was such a branch. The nodes are in order.
 */
export function foldConditions(context: Context, graph: GraphMessage, constants: ReadonlyMap<string, Constant>): boolean {
  const conditions = graph.nodes.filter((node) => node.type === "If" && domainOf(node.domain) === "");
  if (conditions.length === 0) return false;
  const known = knownValues(context, graph, conditions, constants);
  let isFolded = false;
  const nodes: NodeMessage[] = [];
  const taken = new Set(graph.nodes.flatMap((node) => node.outputs));
  for (const { name } of [...graph.inputs, ...graph.initializers]) taken.add(name);
  for (const node of graph.nodes) {
    const condition = conditions.includes(node) ? known.get(node.inputs[0] ?? "") : undefined;
    const branch = condition instanceof Constant && condition.size > 0 ? branchOf(node, condition) : null;
    if (branch === null || !isInlined(branch, taken)) {
      nodes.push(node);
      continue;
    }
    isFolded = true;
    nodes.push(...branch.nodes);
    graph.initializers.push(...branch.initializers);
    graph.sparseInitializers.push(...branch.sparseInitializers);
    for (const inner of branch.nodes) for (const name of inner.outputs) taken.add(name);
    branch.outputs.forEach(({ name }, i) => {
      const output = node.outputs[i] ?? "";
      if (output === "" || output === name) return;
      nodes.push({
        inputs: [name],
        outputs: [output],
        name: `${node.name}:${output}`,
        type: "Identity",
        domain: "",
        overload: "",
        attributes: [],
      });
    });
  }
  graph.nodes.length = 0;
  for (const node of nodes) graph.nodes.push(node);
  return isFolded;
}

const branchOf = (node: NodeMessage, condition: Constant): GraphMessage | null =>
  node.attributes.find((a) => a.name === (condition.numbers()[0] === 0 ? "else_branch" : "then_branch"))?.g ?? null;

/** A name of a branch may also be one of another branch, or of the graph around it: such a branch stays where it is. */
const isInlined = (branch: GraphMessage, taken: ReadonlySet<string>): boolean =>
  branch.nodes.every((node) => node.outputs.every((name) => name === "" || !taken.has(name))) &&
  branch.initializers.every((t) => !taken.has(t.name)) &&
  branch.sparseInitializers.every((s) => !taken.has(s.values?.name ?? ""));

/** Values that conditions depend on, as far as they follow from constants. */
function knownValues(
  context: Context,
  graph: GraphMessage,
  conditions: readonly NodeMessage[],
  constants: ReadonlyMap<string, Constant>,
): Map<string, Value> {
  const needed = new Set(ordered(graph.nodes, conditions.map((node) => node.inputs[0] ?? ""))); // prettier-ignore
  const read = readNames([...needed], conditions.map((node) => node.inputs[0] ?? "")); // prettier-ignore
  const known = new Map<string, Value>(constants);
  for (const t of graph.initializers)
    if (read.has(t.name) && sizeOf(t.dims) <= KEPT && !known.has(t.name)) known.set(t.name, constantOf(t, context.external));
  for (const node of graph.nodes) {
    if (!needed.has(node) || operatorOf(domainOf(node.domain), node.type)?.isPure !== true) continue;
    if (!node.inputs.every((name) => name === "" || known.has(name))) continue;
    const names = new Names(null);
    for (const name of node.inputs) if (name !== "") names.set(name, known.get(name)!);
    const results = scope(() => runNode(context, node, names));
    node.outputs.forEach((name, i) => {
      const value = results[i];
      if (name !== "" && value instanceof Constant && value.size <= KEPT) known.set(name, value);
    });
  }
  return known;
}
