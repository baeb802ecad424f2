/** Operators that stand for several steps over rows, as reductions and elementwise operators that become one launch. */
import type { Capabilities } from "../../../dml/capabilities.ts";
import type { OperatorName } from "../../../dml/operators.generated.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { DType } from "../../../core/dtype.ts";
import { GraphBuilder } from "../../builder.generated.ts";
import { Expr, isOperator, withNodes, type Activation, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { reducedAxesOf } from "./reduced-axes.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import { isReadable, isWritable } from "./region.ts";
import { MAX_ROW } from "./row-threads.ts";

/** The outputs, in slot order, by other nodes. */
type Rule = (g: GraphBuilder, node: GraphNode) => (Expr | null)[];

const wide = (g: GraphBuilder, x: Expr): Expr => (x.dtype === "float32" ? x : g.cast(x, { output: { dtype: "float32" } }));
const narrow = (g: GraphBuilder, x: Expr, dtype: DType): Expr => (x.dtype === dtype ? x : g.cast(x, { output: { dtype } }));
const number = ({ attributes }: GraphNode, name: string): number => attributes[name] as number;

function reduced(g: GraphBuilder, x: Expr, fn: "MAX" | "SUM" | "AVERAGE", axes: readonly number[]): Expr {
  const sizes = x.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
  return g.reduce(x, { function: fn, output: { sizes, dtype: x.dtype }, axes });
}

/** A node's last step; its activation where it has one. */
function activated(g: GraphBuilder, x: Expr, node: GraphNode): Expr {
  const activation = (node.attributes["fusedActivation"] ?? null) as Activation | null;
  const { dtype } = node.outputs[0]!;
  if (activation === null) return narrow(g, x, dtype);
  return narrow(g, g.emit(activation.operator, { input: x, ...activation.attributes })["output"] as Expr, dtype);
}

const axesOfSoftmax = ({ inputs, attributes }: GraphNode): readonly number[] =>
  (attributes["axes"] as readonly number[] | undefined) ?? [inputs[0]!.sizes.length - 1];
/** Along which a statistic is one number. */
const axesOfStatistic = (statistic: Expr, x: Expr): number[] =>
  statistic.sizes.flatMap((d, i) => (d === 1 && x.sizes[i]! !== 1 ? [i] : []));

const softmax =
  (isLog: boolean): Rule =>
  (g, node) => {
    const [axes, { dtype }] = [axesOfSoftmax(node), node.outputs[0]!];
    const x = wide(g, node.inputs[0]!);
    const spread = (t: Expr): Expr => g.expand(t, x.sizes);
    const distance = g.elementWiseSubtract(x, spread(reduced(g, x, "MAX", axes)));
    const powers = g.elementWiseExp(distance);
    const sum = reduced(g, powers, "SUM", axes);
    const y = isLog ? g.elementWiseSubtract(distance, spread(g.elementWiseLog(sum))) : g.elementWiseDivide(powers, spread(sum));
    return [narrow(g, y, dtype)];
  };

interface Moments {
  readonly mean: Expr;
  readonly variance: Expr;
  readonly centered: Expr;
}
function momentsOf(g: GraphBuilder, x: Expr, axes: readonly number[]): Moments {
  const mean = reduced(g, x, "AVERAGE", axes);
  const centered = g.elementWiseSubtract(x, g.expand(mean, x.sizes));
  return { mean, centered, variance: reduced(g, g.elementWiseMultiply(centered, centered), "AVERAGE", axes) };
}
const rateOf = (g: GraphBuilder, variance: Expr, epsilon: number): Expr =>
  g.elementWiseRecip(g.elementWiseSqrt(variance, { scaleBias: [1, epsilon] }));

function affine(g: GraphBuilder, x: Expr, scale: Expr | null | undefined, bias: Expr | null | undefined): Expr {
  const spread = (t: Expr): Expr => g.expand(wide(g, t), x.sizes);
  const scaled = scale == null ? x : g.elementWiseMultiply(x, spread(scale));
  return bias == null ? scaled : g.elementWiseAdd(scaled, spread(bias));
}

/** Longest axis of which one element is chosen by reading them all. */
const MAX_CHOSEN = 1024;

/** One element of each row, as a sum of it and zeros: so it is known where its row is. */
const chosenOf: Rule = (g, node) => {
  const [x, index] = node.inputs as [Expr, Expr];
  const axis = number(node, "axis");
  const { dtype } = index;
  const scalar = (value: number): { readonly dtype: DType; readonly value: number } => ({ dtype, value });
  const sizes = x.sizes.map((d, i) => (i === axis ? d : 1));
  const columns = g.fillValueSequence({ output: { sizes, dtype }, valueDataType: "UINT32", valueStart: scalar(0), valueDelta: scalar(1) });
  const isOwn = g.elementWiseLogicalEquals(g.expand(columns, x.sizes), g.expand(index, x.sizes), { output: { dtype: "uint8" } });
  const zero = g.fillValueConstant({ output: { sizes: [1], dtype: x.dtype }, valueDataType: x.dtype === "float32" ? "FLOAT32" : "FLOAT16", value: { dtype: x.dtype, value: 0 } }); // prettier-ignore
  return [reduced(g, g.elementWiseIf(isOwn, x, g.expand(zero, x.sizes)), "SUM", [axis])];
};
const isChosen = ({ inputs: [x, index, high], attributes }: GraphNode, makers: ReadonlyMap<Value, GraphNode>): boolean => {
  const axis = attributes["axis"] as number;
  return (
    high === undefined &&
    isMadeOfRows(x!, makers) &&
    index!.dtype === "uint32" &&
    x!.sizes[axis]! <= MAX_CHOSEN &&
    index!.sizes.every((d, i) => d === (i === axis ? 1 : x!.sizes[i]!))
  );
};

/** Elementwise nodes between rows and what is chosen of them. */
const MAX_BETWEEN = 4;
/** Whether elements depend on their whole row. Other ones are read where they are. */
function isMadeOfRows(x: Expr, makers: ReadonlyMap<Value, GraphNode>, between = MAX_BETWEEN): boolean {
  const maker = makers.get(x.value);
  if (maker === undefined || !isOperator(maker.operator)) return false;
  if (foldOf(maker) !== null || (RULES[maker.operator] !== undefined && maker.operator !== "GATHER_ELEMENTS")) return true;
  if (between === 0 || readingOf(maker) === null) return false;
  return maker.inputs.some((y) => y !== null && isMadeOfRows(y, makers, between - 1));
}

interface Entry {
  readonly axes: (node: GraphNode) => readonly number[];
  readonly rule: Rule;
  /** Default: floats, and a result of as many elements. */
  readonly accepts?: (node: GraphNode, makers: ReadonlyMap<Value, GraphNode>) => boolean;
}

const RULES: { readonly [K in OperatorName]?: Entry } = {
  GATHER_ELEMENTS: { axes: ({ attributes }) => [attributes["axis"] as number], rule: chosenOf, accepts: isChosen },
  ACTIVATION_SOFTMAX: { axes: axesOfSoftmax, rule: softmax(false) },
  ACTIVATION_SOFTMAX1: { axes: axesOfSoftmax, rule: softmax(false) },
  ACTIVATION_LOG_SOFTMAX: { axes: axesOfSoftmax, rule: softmax(true) },
  ACTIVATION_LOG_SOFTMAX1: { axes: axesOfSoftmax, rule: softmax(true) },
  MEAN_VARIANCE_NORMALIZATION1: {
    axes: ({ attributes }) => attributes["axes"] as readonly number[],
    rule: (g, node) => {
      const x = wide(g, node.inputs[0]!);
      const { variance, centered } = momentsOf(g, x, node.attributes["axes"] as readonly number[]);
      const isScaled = node.attributes["normalizeVariance"] === true;
      const normal = isScaled ? g.elementWiseMultiply(centered, g.expand(rateOf(g, variance, number(node, "epsilon")), x.sizes)) : centered;
      return [activated(g, affine(g, normal, node.inputs[1], node.inputs[2]), node)];
    },
  },
  BATCH_NORMALIZATION_TRAINING: {
    axes: ({ inputs }) => axesOfStatistic(inputs[1]!, inputs[0]!),
    rule: (g, node) => {
      const x = wide(g, node.inputs[0]!);
      const { mean, variance, centered } = momentsOf(g, x, axesOfStatistic(node.inputs[1]!, x));
      const normal = g.elementWiseMultiply(centered, g.expand(rateOf(g, variance, number(node, "epsilon")), x.sizes));
      const y = affine(g, affine(g, normal, node.inputs[1], node.inputs[2]), null, node.inputs[3]);
      return [activated(g, y, node), ...[mean, variance].map((t, i) => narrow(g, t, node.outputs[i + 1]!.dtype))];
    },
  },
  BATCH_NORMALIZATION_TRAINING_GRAD: {
    axes: ({ inputs }) => axesOfStatistic(inputs[2]!, inputs[0]!),
    rule: (g, node) => {
      const [x, dy, mean, variance, scale] = node.inputs.map((t) => wide(g, t!)) as [Expr, Expr, Expr, Expr, Expr];
      const axes = axesOfStatistic(mean, x);
      const spread = (t: Expr): Expr => g.expand(t, x.sizes);
      const count = axes.reduce((n, a) => n * x.sizes[a]!, 1);
      const rate = rateOf(g, variance, number(node, "epsilon"));
      const normal = g.elementWiseMultiply(g.elementWiseSubtract(x, spread(mean)), spread(rate));
      const along = reduced(g, g.elementWiseMultiply(dy, normal), "SUM", axes);
      const total = reduced(g, dy, "SUM", axes);
      const share = (t: Expr): Expr => spread(g.elementWiseIdentity(t, { scaleBias: [1 / count, 0] }));
      const inner = g.elementWiseSubtract(g.elementWiseSubtract(dy, share(total)), g.elementWiseMultiply(normal, share(along)));
      const dx = g.elementWiseMultiply(inner, spread(g.elementWiseMultiply(scale, rate)));
      return [dx, along, total].map((t, i) => narrow(g, t, node.outputs[i]!.dtype));
    },
  },
};

/** Whether a group of threads can have a row, and the operands are such as shaders read. */
function isRuled(node: GraphNode, makers: ReadonlyMap<Value, GraphNode>): boolean {
  if (!isOperator(node.operator) || node.after !== undefined) return false;
  const entry = RULES[node.operator];
  if (entry === undefined) return false;
  const isFloat = ({ dtype }: Expr): boolean => dtype === "float32" || dtype === "float16";
  if (!node.inputs.every((x, i) => x === null || (isReadable(x) && (isFloat(x) || (i > 0 && entry.accepts !== undefined))))) return false;
  if (!node.outputs.every((x) => x !== null && isWritable(x) && isFloat(x))) return false;
  const { sizes } = node.inputs[0]!;
  const { reduced: length } = reducedAxesOf(sizes, entry.axes(node));
  if (length <= 1 || length > MAX_ROW) return false;
  return entry.accepts === undefined ? sizeOf(sizes) === sizeOf(node.outputs[0]!.sizes) : entry.accepts(node, makers);
}

export interface Expanded {
  readonly graph: Graph;
  /** Nodes that one operator became. */
  readonly parts: readonly { readonly of: GraphNode; readonly nodes: readonly GraphNode[] }[];
}

/** The graph with such operators as their parts, which write the operators' own values. but: operators that stay as they are. */
export function expandComposites(graph: Graph, capabilities: Capabilities, but: ReadonlySet<GraphNode> = new Set()): Expanded {
  const nodes: GraphNode[] = [];
  const next = withNodes(graph, nodes, (x) => x);
  const g = new GraphBuilder(next, capabilities);
  const parts: { readonly of: GraphNode; readonly nodes: readonly GraphNode[] }[] = [];
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  for (const node of graph.nodes) {
    if (but.has(node) || !isRuled(node, makers)) {
      nodes.push(node);
      continue;
    }
    const from = nodes.length;
    g.origin = node.origin;
    g.mark = node.mark ?? null;
    const made = RULES[node.operator as OperatorName]!.rule(g, node);
    made.forEach((x, i) => {
      const own = node.outputs[i]!;
      const at = nodes.findIndex((n) => n.outputs[0]?.value === x!.value);
      const maker = nodes[at]!;
      // What others of its parts read as another part's result is seen by its own value from here on.
      for (let k = from; k < nodes.length; k++) {
        const seen = (e: Expr | null): Expr | null =>
          e?.value === x!.value ? new Expr(own.value, e.dtype, e.sizes, e.strides, e.byteOffset) : e;
        nodes[k] = { ...nodes[k]!, inputs: nodes[k]!.inputs.map(seen) };
      }
      const out = maker.outputs[0]!;
      nodes[at] = { ...nodes[at]!, outputs: [new Expr(own.value, own.dtype, out.sizes, out.strides, 0)] };
    });
    // The whole operator's work, on one of them.
    if (node.flops !== undefined) nodes[nodes.length - 1] = { ...nodes.at(-1)!, flops: node.flops };
    parts.push({ of: node, nodes: nodes.slice(from) });
  }
  return { graph: next, parts };
}
