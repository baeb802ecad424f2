/** Elements chosen by tensors of indices as shader code. Indices outside are DirectML's: the element at that address, or 0 outside of the tensor. */
import type { DType } from "../../core/dtype.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import { Expr, type GraphNode } from "../../graph/graph.ts";
import { Int, type Bool, type Uint } from "../numbers.ts";
import { ALL, type Attributes, type Code, type Gathered, type Reading } from "./code.ts";

/** Indices of a tuple: each may be as far from 0 as the largest buffer is long, and their sum has 32 bits. */
const MAX_TUPLE = 3;
/** Elements of the largest buffer. */
const MAX_ELEMENTS = 2 ** 29;

const number = ({ attributes }: Attributes, name: string): number => attributes[name] as number;
const broadcast = ({ sizes, strides }: Expr): number[] => sizes.map((d, i) => (d === 1 ? 0 : strides[i]!));
const seen = (x: Expr, sizes: readonly number[], strides: readonly number[], offset = 0): Expr =>
  new Expr(x.value, x.dtype, sizes, strides, x.byteOffset + offset * DTYPES[x.dtype].sizeInBytes);
const lastOf = ({ sizes, strides }: Expr): number => sizes.reduce((n, d, i) => n + (d - 1) * strides[i]!, 0);

/** Along one axis. from and of: strides of the source and of the index by the axes of the output. */
function along(node: Attributes, axis: number, from: readonly number[], of: readonly number[]): Gathered {
  const [x, ...indices] = node.inputs as readonly [Expr, Expr, Expr?];
  const { sizes } = node.outputs[0]!;
  return {
    source: seen(x, sizes, from),
    last: lastOf(x),
    tuple: [{ words: indices.map((index) => seen(index!, sizes, of)), size: x.sizes[axis]!, stride: x.strides[axis]! }],
  };
}

/** The axes of the source before the axis, right-aligned, then those of the indices, then those behind the axis. */
function gather(node: Attributes): Gathered {
  const [x, index] = node.inputs as readonly [Expr, Expr];
  const [axis, count, rank] = [number(node, "axis"), number(node, "indexDimensions"), node.outputs[0]!.sizes.length];
  const first = axis + 1 - count;
  const [own, of] = [broadcast(x), broadcast(index)];
  const axes = Array.from({ length: rank }, (_, d) => d);
  const from = axes.map((d) => (d < first ? (own[d + count - 1] ?? 0) : d <= axis ? 0 : own[d]!));
  return along(node, axis, from, axes.map((d) => (d < first || d > axis ? 0 : of[rank - count + d - first]!))); // prettier-ignore
}

function gatherElements(node: Attributes): Gathered {
  const [x, index] = node.inputs as readonly [Expr, Expr];
  const axis = number(node, "axis");
  return along(node, axis, broadcast(x).map((stride, d) => (d === axis ? 0 : stride)), broadcast(index)); // prettier-ignore
}

/** The source's leading axes by tuples of indices. */
function gatherTuples(node: Attributes): Gathered {
  const [x, index, high] = node.inputs as readonly [Expr, Expr, Expr?];
  const { sizes } = node.outputs[0]!;
  const [rank, indexRank] = [number(node, "inputDimensionCount"), number(node, "indicesDimensionCount")];
  const batches = (node.attributes["batchDimensionCount"] as number | undefined) ?? 0;
  const [start, indexStart] = [x.sizes.length - rank, index.sizes.length - indexRank];
  const length = index.sizes.at(-1)!;
  const rest = rank - batches - length;
  const first = sizes.length - (indexRank - 1) - rest;
  const [from, of] = [new Array<number>(sizes.length).fill(0), new Array<number>(sizes.length).fill(0)];
  const [own, ofIndex] = [broadcast(x), broadcast(index)];
  for (let i = 0; i < indexRank - 1; i++) of[first + i] = ofIndex[indexStart + i]!;
  for (let i = 0; i < batches; i++) from[first + i] = own[start + i]!;
  for (let i = 0; i < rest; i++) from[first + indexRank - 1 + i] = own[start + batches + length + i]!;
  const tuple = Array.from({ length }, (_, t) => ({
    words: [index, high].flatMap((w) => (w === undefined ? [] : [seen(w, sizes, of, t * w.strides.at(-1)!)])),
    size: x.sizes[start + batches + t]!,
    stride: x.strides[start + batches + t]!,
  }));
  return { source: seen(x, sizes, from), last: lastOf(x), tuple };
}

const isIndex = (dtype: DType): boolean => dtype === "int32" || dtype === "uint32";
const accepts = ({ inputs }: Attributes): boolean => inputs.slice(1).every((x) => isIndex(x!.dtype));

/** How far an index leads, and whether so far is an address at all. words: the index, or its low and its high word. */
export function offsetOf(
  words: readonly Code[],
  size: number,
  stride: number,
  count: number,
): { readonly offset: Uint; readonly inside: Bool } {
  const [low, high] = words as readonly [Int | Uint, (Int | Uint)?];
  const bound = Math.floor(MAX_ELEMENTS / count / Math.max(1, stride));
  if (low instanceof Int) {
    // An index below 0 counts from the end.
    const index = low.lt(0).select(low.add(size), low);
    const isNear = index
      .add(bound)
      .bits()
      .le(2 * bound);
    const inside = high === undefined ? isNear : isNear.and((high as Int).eq(low.shiftRight(31)));
    return { offset: index.bits().mul(stride), inside };
  }
  const isNear = low.le(bound);
  return { offset: low.mul(stride), inside: high === undefined ? isNear : isNear.and((high as Uint).eq(0)) };
}

const reading = (gathered: (node: Attributes) => Gathered, also: (node: Attributes) => boolean = () => true): Reading => ({
  dtypes: ALL,
  code: { gathered },
  accepts: (node) => accepts(node) && also(node),
});
const isShort = ({ inputs }: Attributes): boolean => inputs[1]!.sizes.at(-1)! <= MAX_TUPLE;

export const GATHERS: { readonly [K in OperatorName]?: Reading } = {
  GATHER: reading(gather),
  GATHER_ELEMENTS: reading(gatherElements),
  GATHER_ND: reading(gatherTuples, isShort),
  GATHER_ND1: reading(gatherTuples, isShort),
};

const BITS64: { readonly [K in DType]?: DType } = { int64: "int32", uint64: "uint32" };

/** A node whose indices have 64 bits with their low and high words instead: shaders have no others. */
export function withIndexWords(node: GraphNode): GraphNode {
  const [x, index] = node.inputs;
  const word = index == null ? undefined : BITS64[index.dtype];
  if (!(node.operator in GATHERS) || word === undefined) return node;
  const strides = index!.strides.map((stride) => 2 * stride);
  const words = [0, 4].map((offset) => new Expr(index!.value, word, index!.sizes, strides, index!.byteOffset + offset));
  return { ...node, inputs: [x!, ...words] };
}

/** The node that withIndexWords() was made of, as DirectML has it. */
export function withoutIndexWords(node: GraphNode): GraphNode {
  const [x, low, high] = node.inputs;
  if (!(node.operator in GATHERS) || high == null) return node;
  const dtype = low!.dtype === "int32" ? "int64" : "uint64";
  return { ...node, inputs: [x!, new Expr(low!.value, dtype, low!.sizes, low!.strides.map((s) => s / 2), low!.byteOffset)] }; // prettier-ignore
}
