/** A graph that is made node by node, as ONNX's messages: values with channels last, and their forms with channels first where an operator has made them. */
import type { DType } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { newTensor, type AttributeMessage, type GraphMessage, type ModelMessage, type TensorMessage } from "../../onnx/format/proto.ts";
import { elementTypeOf } from "../../onnx/format/value.ts";

/** Of ONNX: reductions take their axes as inputs, and Gelu is an operator. */
const OPSET = 20;

/** An attribute: an integer, a list of them, a number (`{ float }`), text, or a list of texts. */
type Attribute = number | readonly number[] | { readonly float: number } | string | readonly string[];

export type Attributes = Readonly<Record<string, Attribute>>;

/** A weight or a constant. */
export interface Weight {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Little-endian. */
  readonly bytes: Uint8Array;
}

/**
 * A value of the graph: the name of its form as the file has it, of that with channels first ([N, C, …]), or of both. A value without channels has the
 * first alone.
 */
export interface Value {
  /** Number of axes; null where the file does not say. */
  readonly rank: number | null;
  last: string | null;
  first: string | null;
  /** The elements, where they are known. */
  readonly weight: Weight | null;
  /** What the value is called where nothing else has the name. */
  readonly label: string;
}

const utf8 = new TextEncoder();

function attributeOf(name: string, value: Attribute): AttributeMessage {
  const a: AttributeMessage = { name, reference: "", type: 0, f: 0, i: 0n, s: new Uint8Array(), t: null, g: null, sparse: null, floats: [], ints: [], strings: [], tensors: [], graphs: [], typeProto: null }; // prettier-ignore
  if (typeof value === "number") return { ...a, type: 2, i: BigInt(value) };
  if (typeof value === "string") return { ...a, type: 3, s: utf8.encode(value) };
  if ("float" in value) return { ...a, type: 1, f: value.float };
  if (typeof value[0] === "string") return { ...a, type: 8, strings: value.map((text) => utf8.encode(String(text))) };
  return { ...a, type: 7, ints: value.map((n) => BigInt(n)) };
}

const tensorOf = ({ name, dtype, shape, bytes }: Weight): TensorMessage => ({
  ...newTensor(),
  dims: [...shape],
  dataType: elementTypeOf(dtype),
  name,
  raw: bytes,
});

/** The order of axes that brings channels from the end to the front, and back. */
const toFirst = (rank: number): number[] => [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, i) => i + 1)];
const toLast = (rank: number): number[] => [0, ...Array.from({ length: rank - 2 }, (_, i) => i + 2), 1];

export class GraphBuilder {
  readonly #graph: GraphMessage = { nodes: [], name: "tfjs", initializers: [], sparseInitializers: [], inputs: [], outputs: [] };
  readonly #used = new Set<string>();
  readonly #constants = new Map<string, string>();
  readonly #weights = new Map<string, string>();

  /** A name that no other value has. */
  unique(text: string): string {
    let name = text;
    for (let i = 1; this.#used.has(name); i++) name = `${text}_${i}`;
    this.#used.add(name);
    return name;
  }

  /** An input of the model. dims: null or a name for lengths that may be any. */
  input(name: string, dtype: DType, dims: readonly (number | string | null)[] | null): Value {
    const own = this.unique(name);
    const type = { kind: "tensor" as const, elementType: elementTypeOf(dtype), dims: dims === null ? null : [...dims], element: null };
    this.#graph.inputs.push({ name: own, type });
    return { rank: dims?.length ?? null, last: own, first: null, weight: null, label: name };
  }

  /** A node of several outputs. label: the name of the node, and of its outputs where no other has it. */
  nodeOf(type: string, inputs: readonly string[], outputs: readonly string[], label: string, attributes: Attributes = {}): void {
    this.#graph.nodes.push({
      inputs: [...inputs],
      outputs: [...outputs],
      name: label,
      type,
      domain: "",
      overload: "",
      attributes: Object.entries(attributes).map(([name, value]) => attributeOf(name, value)),
    });
  }

  /** A node of one output: its name. */
  node(type: string, inputs: readonly string[], label: string, attributes: Attributes = {}): string {
    const output = this.unique(label);
    this.nodeOf(type, inputs, [output], output, attributes);
    return output;
  }

  /** A weight under its own name, once. */
  weight(weight: Weight): string {
    const known = this.#weights.get(weight.name);
    if (known !== undefined) return known;
    const name = this.unique(weight.name);
    this.#weights.set(weight.name, name);
    this.#graph.initializers.push(tensorOf({ ...weight, name }));
    return name;
  }

  /** A constant; equal ones are one. */
  constant(dtype: DType, shape: Shape, numbers: readonly (number | bigint | boolean)[]): string {
    const key = `${dtype}[${shape.join()}]${numbers.map((n) => (Object.is(n, -0) ? "-0" : String(n))).join()}`;
    const known = this.#constants.get(key);
    if (known !== undefined) return known;
    const name = this.unique("constant");
    const array = elements(dtype, numbers);
    this.#constants.set(key, name);
    this.#graph.initializers.push(
      tensorOf({ name, dtype, shape, bytes: new Uint8Array(array.buffer, array.byteOffset, array.byteLength) }),
    );
    return name;
  }

  ints = (list: readonly number[]): string => this.constant("int64", [list.length], list);
  float = (value: number): string => this.constant("float32", [], [value]);

  /** The name of a value as the file has it: channels last. */
  last(value: Value): string {
    if (value.last !== null) return value.last;
    if (value.first !== null) return (value.last = this.node("Transpose", [value.first], value.label, { perm: toLast(value.rank!) }));
    return (value.last = this.weight(value.weight!));
  }

  /** The name of a value with channels first. rank: what the operator that reads it takes. */
  first(value: Value, rank: number): string {
    if (rank < 3) return this.last(value);
    return (value.first ??= this.node("Transpose", [this.last(value)], `${value.label}/channels-first`, { perm: toFirst(rank) }));
  }

  /** A value with channels last, or without channels. */
  plain(name: string, rank: number | null, label = name): Value {
    return { rank, last: name, first: null, weight: null, label };
  }

  /** A value with channels first. */
  channels(name: string, rank: number, label: string): Value {
    return rank < 3 ? this.plain(name, rank, label) : { rank, last: null, first: name, weight: null, label };
  }

  /** The elements of a file as a value. */
  known(weight: Weight): Value {
    return { rank: weight.shape.length, last: null, first: null, weight, label: weight.name };
  }

  /** The graph ends at these values, which get these names. */
  finish(outputs: readonly { readonly name: string; readonly value: Value }[], metadata: Readonly<Record<string, string>>): ModelMessage {
    for (const { name, value } of outputs) {
      let own = this.last(value);
      if (own !== name || this.#graph.inputs.some((i) => i.name === own)) {
        const output = this.unique(name);
        this.nodeOf("Identity", [own], [output], output);
        own = output;
      }
      this.#graph.outputs.push({ name: own, type: null });
    }
    return {
      irVersion: 9,
      opsets: [{ domain: "", version: OPSET }],
      producer: "tfjs",
      graph: this.#graph,
      metadata: { ...metadata },
      functions: [],
    };
  }
}

/** Elements of a weight as numbers. */
export function numbersOf({ dtype, bytes, shape }: Weight): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read: Partial<Record<DType, (at: number) => number>> = {
    float32: (i) => view.getFloat32(4 * i, true),
    int32: (i) => view.getInt32(4 * i, true),
    bool: (i) => view.getUint8(i),
  };
  return Array.from({ length: sizeOf(shape) }, (_, i) => read[dtype]!(i));
}

/** A matrix is transposed in squares of so many rows and columns, whose cache lines stay in the cache. */
const TILE = 16;

/** An axis of a result: its length, and its strides in the elements that are read and in those that are written. */
interface Axis {
  readonly length: number;
  readonly from: number;
  readonly to: number;
}

/** The axes of a result, without those of length 1. Neighbours in both orders are one axis. */
function axesOf(shape: Shape, order: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  for (const [i, axis] of order.entries()) {
    const length = shape[axis]!;
    if (length === 1) continue;
    const from = sizeOf(shape.slice(axis + 1));
    const to = sizeOf(order.slice(i + 1).map((a) => shape[a]!));
    const before = axes.at(-1);
    if (before?.from === length * from) axes[axes.length - 1] = { length: before.length * length, from, to };
    else axes.push({ length, from, to });
  }
  return axes;
}

function transposeMatrix(from: Uint32Array, to: Uint32Array, read: number, written: number, rows: Axis, columns: Axis): void {
  for (let i = 0; i < rows.length; i += TILE)
    for (let j = 0; j < columns.length; j += TILE) {
      const lastRow = Math.min(i + TILE, rows.length);
      const count = Math.min(TILE, columns.length - j);
      for (let row = i; row < lastRow; row++) {
        let source = read + row * rows.from + j * columns.from;
        let target = written + row * rows.to + j * columns.to;
        for (let k = 0; k < count; k++, source += columns.from, target += columns.to) to[target] = from[source]!;
      }
    }
}

/** A weight with its axes in another order. */
export function transposed(weight: Weight, order: readonly number[]): Weight {
  const { name, dtype, shape, bytes } = weight;
  if (dtype !== "float32" && dtype !== "int32")
    throw new UnsupportedError({ operation: "tfjs.load", argument: name, expected: "float32 or int32", received: dtype });
  const own = order.map((axis) => shape[axis]!);
  const axes = axesOf(shape, order);
  const count = sizeOf(shape);
  if (count === 0 || axes.length < 2) return { ...weight, shape: own };
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  const from = new Uint32Array(buffer, byteOffset, count);
  const to = new Uint32Array(count);
  // Columns are neighbours in the result, rows in what is read; where these are the same, the axis before.
  const columns = axes.at(-1)!;
  const rows = columns.from === 1 ? axes.at(-2)! : axes.find((axis) => axis.from === 1)!;
  let starts: readonly (readonly [read: number, written: number])[] = [[0, 0]];
  for (const axis of axes)
    if (axis !== rows && axis !== columns)
      starts = starts.flatMap(([read, written]) =>
        Array.from({ length: axis.length }, (_, i) => [read + i * axis.from, written + i * axis.to] as const),
      );
  for (const [read, written] of starts) transposeMatrix(from, to, read, written, rows, columns);
  return { ...weight, shape: own, bytes: new Uint8Array(to.buffer) };
}

/** A weight of the same elements in another shape. */
export const reshaped = (weight: Weight, shape: Shape): Weight => ({ ...weight, shape });
