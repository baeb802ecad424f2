/**
 * com.microsoft.nchwc: convolutions over channels in blocks, which ONNX Runtime's optimizer writes for the machine that it runs on. Weights are put
 * into ONNX's order when the model is loaded, and activations have that order too, with channels up to a multiple of the block.
 * Reference: core/optimizer/nchwc_transformer.cc and core/mlas/lib/reorder.cpp of ONNX Runtime.
 */
import { FormatError, UnsupportedError } from "../core/errors.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { graphsOf } from "./format/limits.ts";
import { emptyAttribute, type AttributeMessage, type GraphMessage, type NodeMessage } from "./format/proto.ts";
import { Constant, type Value } from "./format/value.ts";

export const BLOCKED = "com.microsoft.nchwc";
export type ChannelBlock = 8 | 16;

const INT = 2;

const intOf = (node: NodeMessage, name: string, missing: number): number => {
  const found = node.attributes.find((a) => a.name === name);
  return found === undefined || found.reference !== "" ? missing : Number(found.i);
};

const int = (name: string, v: number): AttributeMessage => ({ ...emptyAttribute(), name, type: INT, i: BigInt(v) });

/** Whether the channels that a convolution reads are in blocks, too: not those of few channels, nor those of a depthwise one. */
const readsBlocks = ([outputs, inputs]: Shape, groups: number, block: number): boolean =>
  groups === 1 ? inputs! >= block : !(inputs === 1 && groups === outputs);

/** Weights [O, I, ...] of blocks, [O / b, I / b, ..., b, b] or [O / b, I, ..., b], in the order of their shape. */
export function unblocked(data: Float32Array, shape: Shape, groups: number, block: number): Float32Array {
  const [outputs, inputs] = shape as [number, number];
  const taps = sizeOf(shape.slice(2));
  const inner = readsBlocks(shape, groups, block) ? block : 1;
  const made = new Float32Array(data.length);
  let at = 0;
  for (let o = 0; o < outputs; o += block)
    for (let i = 0; i < inputs; i += inner)
      for (let k = 0; k < taps; k++)
        for (let bi = 0; bi < inner; bi++) for (let bo = 0; bo < block; bo++) made[((o + bo) * inputs + i + bi) * taps + k] = data[at++]!;
  return made;
}

class BlockedGraphs {
  readonly #graphs: readonly GraphMessage[];
  readonly #constantsOf: (graph: GraphMessage) => Map<string, Value>;

  constructor(graph: GraphMessage, constantsOf: (graph: GraphMessage) => Map<string, Value>) {
    this.#graphs = [...graphsOf(graph)];
    this.#constantsOf = constantsOf;
  }

  get nodes(): readonly NodeMessage[] {
    return this.#graphs.flatMap((g) => g.nodes.filter((node) => node.domain === BLOCKED));
  }

  #weight(node: NodeMessage): { readonly constants: Map<string, Value>; readonly name: string; readonly value: Constant } {
    const name = node.inputs[1] ?? "";
    for (const g of this.#graphs) {
      const constants = this.#constantsOf(g);
      const value = constants.get(name);
      if (value instanceof Constant && value.dtype === "float32" && value.shape.length >= 3) return { constants, name, value };
    }
    throw new UnsupportedError({
      operation: "onnx.load",
      argument: `weights of ${node.name}`,
      expected: "float32 in the file",
      received: name,
    });
  }

  /** Blocks of which all shapes are multiples, with what the numbers of channels before them tell. */
  blocks(): ChannelBlock[] {
    const convolutions = this.nodes.filter((node) => node.type === "Conv");
    const outputs = new Map<string, number>();
    const fits = new Set<ChannelBlock>([8, 16]);
    for (const node of convolutions) {
      const { shape } = this.#weight(node).value;
      outputs.set(node.outputs[0] ?? "", shape[0]!);
      for (const block of fits)
        if (shape[0]! % block !== 0 || (readsBlocks(shape, intOf(node, "group", 1), block) && shape[1]! % block !== 0)) fits.delete(block);
    }
    for (const node of this.nodes) {
      const padded = node.type === "ReorderOutput" ? outputs.get(node.inputs[0] ?? "") : undefined;
      // More than is needed for a multiple of 8.
      if (padded !== undefined && padded - intOf(node, "channels", padded) >= 8) fits.delete(8);
    }
    return [...fits];
  }

  put(block: ChannelBlock): void {
    const done = new Map<Value, number>();
    for (const node of this.nodes) {
      if (node.type !== "Conv") continue;
      const { constants, name, value } = this.#weight(node);
      const groups = intOf(node, "group", 1);
      if (done.has(value)) {
        if (done.get(value) !== groups)
          throw new FormatError("onnx.load", `weights ${name}`, "in one order of blocks", "two convolutions that read them in two");
        continue;
      }
      const made = new Constant("float32", value.shape, unblocked(value.data as Float32Array, value.shape, groups, block));
      constants.set(name, made);
      done.set(made, groups);
    }
    for (const { nodes } of this.#graphs)
      nodes.forEach((node, at) => {
        if (node.domain === BLOCKED && node.type === "ReorderInput")
          nodes[at] = { ...node, attributes: [...node.attributes, int("block", block)] };
      });
  }
}

/** Puts the weights of a graph's blocked convolutions into ONNX's order. asked: the channels of a block; null: what the shapes say. */
export function unblockChannels(
  graph: GraphMessage,
  constantsOf: (graph: GraphMessage) => Map<string, Value>,
  asked: ChannelBlock | null,
): void {
  const graphs = new BlockedGraphs(graph, constantsOf);
  if (graphs.nodes.length === 0) return;
  const possible = graphs.blocks();
  const [block] = asked === null ? possible : possible.filter((b) => b === asked);
  if (block === undefined)
    throw new FormatError("onnx.load", "channels of convolutions", `multiples of ${asked ?? "8 or 16"}, as ${BLOCKED} has them`, "others");
  if (asked === null && possible.length > 1)
    throw new UnsupportedError({
      operation: "onnx.load",
      argument: "channelBlock",
      expected: "given, since the shapes do not tell blocks of 8 channels from those of 16",
      received: "nothing",
      hint: "It is 16 for files that ONNX Runtime has optimized on a CPU with AVX-512 or on arm64, else 8.",
    });
  graphs.put(block);
}
