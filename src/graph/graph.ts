/**
 * The graph that `lower` functions build: nodes are DirectML operators, values are ranges of bytes, and an expression is a value
 * seen as a tensor (dtype, sizes, strides, offset). Eager calls and compiled functions share it.
 */
import type { Mark } from "../core/checkpoint-marks.ts";
import { DTYPES, packedBytes, type DType } from "../core/dtype.ts";
import type { OperatorName } from "../dml/operators.generated.ts";
import { isPacked, packedStrides } from "../core/shape.ts";
import type { OperationDescription } from "../native/binding.ts";

/** A range of bytes that is written once: by a node, or from outside when it is an input. */
export class Value {
  readonly id: number;
  readonly sizeInBytes: number;
  /** The node that was made to write it; null for an input of the graph. */
  readonly producer: GraphNode | null;

  constructor(id: number, sizeInBytes: number, producer: GraphNode | null) {
    this.id = id;
    this.sizeInBytes = sizeInBytes;
    this.producer = producer;
  }
}

/** A value seen as a tensor. Rank 0 is seen as [1]. */
export class Expr {
  /** The buffer that holds it. */
  readonly value: Value;
  /** The dtype of the elements. */
  readonly dtype: DType;
  /** Length of each axis. */
  readonly sizes: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** Where the tensor starts in the value. */
  readonly byteOffset: number;

  constructor(value: Value, dtype: DType, sizes: readonly number[], strides: readonly number[], byteOffset: number) {
    this.value = value;
    this.dtype = dtype;
    this.sizes = sizes;
    this.strides = strides;
    this.byteOffset = byteOffset;
  }
}

/** A fused activation: an operator without tensors. */
export interface Activation {
  /** The activation's operator, "ACTIVATION_RELU". */
  readonly operator: OperatorName;
  /** Its attributes by name, as the builder's method of the operator takes them. */
  readonly attributes: { readonly [name: string]: unknown };
}

/** A compute shader instead of DirectML's operator: what a launch of it needs. bytes, views and constants are made when they are first read. */
export interface ShaderCall {
  /** Equal for equal containers. */
  readonly id: number;
  /** DXBC. */
  readonly bytes: Uint8Array;
  /** What its u0, u1, … are, two bytes for each: the index of a buffer, and bytes of a structure, 0 for raw, 255 for texels of four words. */
  readonly views: Uint8Array;
  /** The words of its root constants. */
  readonly constants: Uint32Array;
  readonly groups: readonly [number, number, number];
  /** Outputs that start as zeros: the launch that fills them, by output. */
  readonly fills: readonly (Pick<ShaderCall, "id" | "bytes" | "views" | "constants" | "groups"> | null)[];
  /** Each thread writes only what it alone has read before: a result may be written over an input; of some, which over which. */
  readonly inPlace: boolean | readonly (readonly [input: number, output: number])[];
  /** Outputs that begin as inputs, of the same bytes, of which the launch writes some: over the input itself where that may be, else over a copy. */
  readonly updates: readonly (readonly [input: number, output: number])[];
}

/** What a SHADER that a pass made of other nodes stands for. */
export interface FusedNodes {
  readonly nodes: readonly GraphNode[];
  /** Why it has no more of them: the operators around it, and limits that were met. */
  readonly ends: readonly string[];
  /** Of its inputs and outputs. */
  readonly bytes: number;
  /** One for each element of an elementwise node's result, and for each that is reduced. */
  readonly flops: number;
  /** The shader as text. */
  readonly shader: () => string;
}

/** What a node's epilogue does to its result: a sum with a tensor of its sizes, batch norm with known statistics, a cast, or relu's gradient. */
export type EpilogueOp =
  | { readonly kind: "add"; readonly addend: Expr }
  /** Of float32 and float16 to the other. */
  | { readonly kind: "cast" }
  | {
      readonly kind: "norm";
      readonly epsilon: number;
      readonly mean: Expr;
      readonly variance: Expr;
      readonly gain: Expr;
      readonly shift: Expr;
    }
  /** 0 where x is at most 0, or where it is not above 0. */
  | { readonly kind: "reluGradient"; readonly x: Expr; readonly zero: "unless at most 0" | "where above 0" };

/**
 * What a shader can do to its first input x when it loads it. rms: divide each row by the root of its mean square plus epsilon; activated: take its activation.
 * Each multiplies the result by a second tensor, a gain for each column or a factor for each element, or by nothing.
 */
export type Prologue = { readonly kind: "rms"; readonly epsilon: number } | { readonly kind: "activated"; readonly activation: Activation };

/** A normalization of rows along their last axis, over a first input x: by its mean and variance, or by its mean square; then a gain and a shift for each column. */
export interface RowNorm {
  readonly kind: "layerNorm" | "rmsNorm";
  readonly epsilon: number;
}

/** Statistics of the rows of a matrix by tiles of columns, [rows, tiles, 2] in float32: means, and sums of squared distances from them. */
export interface TileStatistics {
  readonly sizes: readonly number[];
  /** Of each tile but the last, which may have fewer. */
  readonly tileColumns: number;
  /** Of a row. */
  readonly columns: number;
}

/** An attribute of nodes whose first input has two elements of 4 bits in each byte. */
export const HALF_BYTES = "halfBytes";

/** How SHADERs with the same first inputs share a launch. */
export interface Joins {
  /** Equal for those that may. */
  readonly key: string;
  /** Inputs that all have, the first ones. Default: 1. */
  readonly shared?: number;
  /** The launch of them all: of their inputs, of which the shared ones are there once, then of their outputs. Null: they are too many. */
  readonly launch: (nodes: readonly GraphNode[]) => ShaderCall | null;
}

/** A matrix product by a shader as the operator GEMM, of matrices of any rank. */
export interface AsGemm {
  /** The launch without an epilogue: with another one the node is something else. */
  readonly shader: ShaderCall;
  readonly attributes: GraphNode["attributes"];
  /** By the inputs of the node. */
  readonly inputs: (own: readonly Expr[]) => readonly Expr[];
}

/** A shader of one result as the operator that it stands for. */
export interface AsOperator {
  readonly operator: OperatorName;
  readonly attributes: GraphNode["attributes"];
  /** By the inputs of the node. */
  readonly inputs: (own: readonly Expr[]) => readonly (Expr | null)[];
  readonly output: Pick<Expr, "dtype" | "sizes">;
}

/** Sums of the columns of a product, of each tile of its rows. */
export interface ColumnSumsOfTiles {
  /** Of the sums: [tiles, columns], of several products those of each behind those of the one before. */
  readonly sizes: readonly number[];
  /** Products. */
  readonly count: number;
  /** Rows of a product. */
  readonly rows: number;
  /** Columns of the product. */
  readonly columns: number;
  /** Terms of all its sums: rows times columns times K. */
  readonly products: number;
}

export interface GraphNode {
  readonly id: number;
  readonly operator: OperatorName | "SHADER" | "OPERATION";
  /** Of a SHADER. */
  readonly shader?: ShaderCall;
  /** Of an OPERATION: a kernel of the device for a whole operation of the library's. */
  readonly operation?: OperationDescription;
  /** Attributes by the names of the table (operators.generated.ts), counts excepted. */
  readonly attributes: { readonly [name: string]: unknown };
  /** In slot order; null where an optional tensor is absent. */
  readonly inputs: readonly (Expr | null)[];
  readonly outputs: readonly (Expr | null)[];
  /** The operation that asked for it, "matmul", and its call site where that is known. */
  readonly origin: string;
  /** The call of checkpoint() that it comes from. */
  readonly mark?: Mark | null;
  /** Floating-point operations of the operation that it stands for, where the definition says how many; on one node of each operation. */
  readonly flops?: number;
  /** Of a SHADER that stands for other nodes. */
  readonly fused?: FusedNodes;
  /** Of what `tune` has measured: the times of the forms that it could have. */
  readonly measured?: string;
  /** Of a SHADER whose epilogue can have an activation: its launch then; null: it has no code of this one. */
  readonly withActivation?: (activation: Activation) => ShaderCall | null;
  /** Of a SHADER whose epilogue can have another node: itself with it, which has the other's result; null: it has no code of this one. */
  readonly withEpilogue?: (
    op: EpilogueOp,
  ) => Pick<GraphNode, "shader" | "inputs" | "withActivation" | "withEpilogue" | "withPrologue" | "withStatistics" | "withNorm" | "withColumnSums"> | null; // prettier-ignore
  /** Of a SHADER that can have a prologue: the same with it, over x and a factor; null: it cannot have this one. */
  readonly withPrologue?: (prologue: Prologue, x: Expr, factor: Expr | null) => Pick<GraphNode, "shader" | "inputs" | "joins"> | null;
  /** Of a SHADER of one result: the prologue over its inputs that computes the same. */
  readonly asPrologue?: Prologue;
  /** Of a SHADER that can write the statistics of its result's rows too, as a second output: its launch then. */
  readonly withStatistics?: TileStatistics & { readonly shader: () => ShaderCall };
  /** Of a SHADER that can write sums of its result's columns too, of each tile of rows, as a second output: its launch then. */
  readonly withColumnSums?: ColumnSumsOfTiles & {
    readonly shader: () => ShaderCall;
    /** Of float16 results: the launch that rounds sums of such sizes, which are float32, to float16. */
    readonly rounded: (sizes: readonly number[]) => Pick<GraphNode, "shader" | "isCast" | "asOperator">;
  };
  /** Of a SHADER that can normalize its first input x when it loads it, by statistics of its rows: the same with it; null: it cannot. */
  readonly withNorm?: (
    norm: RowNorm,
    x: Expr,
    statistics: { readonly x: Expr; readonly tileColumns: number },
    factors: { readonly gain: Expr | null; readonly shift: Expr | null },
  ) => Pick<GraphNode, "shader" | "inputs" | "withActivation"> | null;
  /** Of a SHADER that can read float32 instead of float16, or float16 instead of float32: the same with x in place of what was cast; null: it cannot. */
  readonly withCast?: (cast: Value, x: Expr) => Omit<GraphNode, "id" | "operator" | "attributes" | "outputs" | "origin"> | null;
  /** Of a SHADER that casts float32 to float16, or back. */
  readonly isCast?: boolean;
  /** Of a SHADER of one result: the normalization of its first input that it is, with its gain and its shift behind it. */
  readonly asNorm?: RowNorm;
  /** Of a SHADER that can share a launch with others. */
  readonly joins?: Joins;
  /** Of a SHADER that is a matrix product. */
  readonly asGemm?: AsGemm;
  /** Of a SHADER whose operator regions may contain. */
  readonly asOperator?: AsOperator;
  /** Values that are written before it runs, though it does not read them. */
  readonly after?: readonly Value[];
}

/** Whether it is one of DirectML's, which the table describes. */
export const isOperator = (name: GraphNode["operator"]): name is OperatorName => name !== "SHADER" && name !== "OPERATION";

/** What a node's output begins as, where it updates a tensor; null: it writes all of it. */
export function updatedBy({ shader, inputs, outputs }: GraphNode, output: Value): Expr | null {
  const pair = shader?.updates.find(([, o]) => outputs[o]?.value === output);
  return pair === undefined ? null : inputs[pair[0]]!;
}

/** The new value of a mutable buffer: `value` (packed, of the buffer's size) is written to the buffer of the input `buffer` at the end. */
export interface StateWrite {
  readonly buffer: Value;
  readonly value: Expr;
}

/** Nodes in an order in which every value is written before it is read. */
export class Graph {
  nodes: GraphNode[] = [];
  inputs: Value[] = [];
  outputs: Expr[] = [];
  state: StateWrite[] = [];
  /** Inputs whose bytes are known and stay as they are. */
  constants: ReadonlyMap<Value, Uint8Array> = new Map();
  #values: number;

  constructor(values = 0) {
    this.#values = values;
  }

  newValue(sizeInBytes: number, producer: GraphNode | null): Value {
    return new Value(this.#values++, sizeInBytes, producer);
  }

  get valueCount(): number {
    return this.#values;
  }

  /** An input of so many bytes. */
  addInput(sizeInBytes: number): Value {
    const value = this.newValue(sizeInBytes, null);
    this.inputs.push(value);
    return value;
  }
}

/** Bytes that a tensor spans from its first element on, rounded up to 4 as DirectML counts them. */
export function spanInBytes(dtype: DType, sizes: readonly number[], strides: readonly number[]): number {
  let last = 1;
  for (let i = 0; i < sizes.length; i++) last += (sizes[i]! - 1) * strides[i]!;
  return Math.ceil((last * DTYPES[dtype].sizeInBytes) / 4) * 4;
}

/** The whole of a value as a packed tensor. */
export function packedExpr(value: Value, dtype: DType, sizes: readonly number[]): Expr {
  const seen = sizes.length === 0 ? [1] : sizes;
  return new Expr(value, dtype, seen, packedStrides(seen), 0);
}

/** A graph of other nodes with the same inputs; values keep their identity. */
export function withNodes(graph: Graph, nodes: GraphNode[], replaced: (x: Expr) => Expr): Graph {
  const next = new Graph(graph.valueCount);
  next.inputs = graph.inputs;
  next.constants = graph.constants;
  next.nodes = nodes;
  next.outputs = graph.outputs.map(replaced);
  next.state = graph.state.map((w) => ({ buffer: w.buffer, value: replaced(w.value) }));
  return next;
}

/** True when an expression shows the whole of its value, packed. */
export const isWhole = (x: Expr): boolean =>
  x.byteOffset === 0 && isPacked(x.sizes, x.strides) && packedBytes(x.dtype, x.sizes) === x.value.sizeInBytes;
