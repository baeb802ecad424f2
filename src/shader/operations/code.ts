/** What the table of nodes is written with: values of a shader by the dtypes of the graph. */
import type { DType } from "../../core/dtype.ts";
import type { Expr, GraphNode } from "../../graph/graph.ts";
import type { Element } from "../ir.ts";
import { Bool, Uint, type Float, type Int } from "../numbers.ts";

/** An element. Those of uint8 and bool are a Uint, or a Bool where a comparison made them. */
export type Code = Float | Int | Uint | Bool;

/** The shader under construction, as far as constants are concerned. */
export interface Constants {
  f32(x: number): Float;
  i32(x: number): Int;
  u32(x: number): Uint;
}

/** What a node's code depends on, but for its inputs. */
export type Attributes = Pick<GraphNode, "attributes" | "inputs" | "outputs">;

/** An element of a node's output by the same element of each input. */
export type ElementCode = (s: Constants, x: readonly Code[], node: Attributes) => Code;

/** An element of an output, wherever the elements that it needs are. */
export interface Indexed {
  /** In the packed output. */
  readonly index: Uint;
  /** An input's element, `offset` elements behind its first. */
  load(input: number, offset: Uint): Code;
}
export type IndexedCode = (s: Constants, element: Indexed, node: Attributes) => Code;

/** What the elements of a matrix product are sums of. */
export interface Terms {
  /** Terms of each element. */
  readonly count: number;
  /** The two factors of each element's first term, as tensors of the product's sizes, and how many elements behind them those of the next term are. */
  readonly operands: readonly [Operand, Operand];
  readonly addend: Expr | null;
  /** An element of the result. */
  readonly finish: (s: Constants, sum: Float, addend: Float | null) => Float;
}
interface Operand {
  readonly first: Expr;
  readonly stride: number;
}

/** Which elements indices choose. Tensors have the output's sizes. */
export interface Gathered {
  /** What is read for indices of 0. */
  readonly source: Expr;
  /** The offset of the last element that there is. */
  readonly last: number;
  readonly tuple: readonly {
    /** The index; of 64 bits, its low and its high word. */
    readonly words: readonly Expr[];
    /** The source's axis. */
    readonly size: number;
    readonly stride: number;
  }[];
}

/** Elements that are written at indices along an axis: y[o, indices[o, j, i], i] = updates[o, j, i]. */
export interface Scattered {
  /** What it is written into. */
  readonly x: Expr;
  /** Of the updates' sizes. Those that are no index are left out. */
  readonly indices: Expr;
  /** Whether those below 0 count from the end. */
  readonly isSigned: boolean;
  readonly updates: Expr;
  /** Sizes along the axis: of x, and of the updates. */
  readonly n: number;
  readonly k: number;
  /** Elements behind each index along the axis. */
  readonly inner: number;
}

/** Rows that are added by index: y[r, c] = the sum of values[i, c] where indices[i] = r, in the order of i. */
export interface Summed {
  /** In row-major order: each of `columns` elements. */
  readonly values: Expr;
  readonly indices: Expr;
  readonly k: number;
  readonly columns: number;
}

/** How a node reads as shader code. */
export interface Reading {
  /** Dtypes of the inputs and outputs that it computes in. */
  readonly dtypes: ReadonlySet<DType>;
  readonly code:
    | { readonly element: ElementCode }
    | { readonly indexed: IndexedCode }
    | { readonly terms: (node: Attributes) => Terms }
    | { readonly gathered: (node: Attributes) => Gathered }
    | { readonly scattered: (node: Attributes) => Scattered }
    /** The same where each element of the result looks for its index. */
    | { readonly replaced: (node: Attributes) => Scattered }
    | { readonly summed: (node: Attributes) => Summed }
    /** Words of a generator. */
    | { readonly draws: true };
  /** How many elements of each input one element is made of, where they are several. */
  readonly reads?: (node: Attributes) => readonly number[];
  /** Of nodes whose elements are all one number: which. Their readers contain it. */
  readonly constant?: (node: Attributes) => number | null;
  /** False for attributes that the code does not know. */
  readonly accepts?: (node: Attributes) => boolean;
}

/** How a dtype's elements lie in a buffer; those of 8 bits are read out of words. Others are in no shader. */
export const ELEMENT_OF: { readonly [K in DType]?: Element } = {
  float32: "f32",
  float16: "f16",
  int32: "i32",
  uint32: "u32",
  uint8: "u32",
  bool: "u32",
};

export const isByte = (dtype: DType): boolean => dtype === "uint8" || dtype === "bool";

export const FLOATS: ReadonlySet<DType> = new Set(["float32", "float16"]);
export const NUMBERS: ReadonlySet<DType> = new Set(["float32", "float16", "int32", "uint32"]);
export const ALL: ReadonlySet<DType> = new Set(["float32", "float16", "int32", "uint32", "uint8", "bool"]);

export const asUint = (x: Code): Uint => (x instanceof Bool ? x.toUint() : (x as Uint));

/** Whether it is other than 0: so DirectML reads truth values. */
export function asBool(x: Code): Bool {
  if (x instanceof Bool) return x;
  return (x as Uint).ne(0);
}

/** a where the condition holds, else b. */
export function choose(condition: Bool, a: Code, b: Code): Code {
  if (a instanceof Bool !== b instanceof Bool) return condition.select(asUint(a), asUint(b));
  return condition.select(a as Uint, b as Uint);
}

/** Of a scalar attribute or a constant input. */
export function literal(s: Constants, dtype: DType, value: number): Code {
  if (FLOATS.has(dtype)) return s.f32(value);
  return dtype === "int32" ? s.i32(value | 0) : s.u32(isByte(dtype) ? value & 255 : value >>> 0);
}

/** NaN by its bits: drivers take comparisons of a number with itself for known. */
export const isNaNByBits = (x: Float): Bool => x.bits().and(0x7fffffff).gt(0x7f800000);
export const isInfinite = (x: Float): Bool => x.bits().and(0x7fffffff).eq(0x7f800000);
/** x below 0 or -0, by its bits: see kernels/elementwise.ts. */
export const isNegative = (x: Float): Bool => x.bits().sub(0x80000000).lt(0x7f800001);

/**
 * A float32 as the nearest float16. bits: 0xffff as a number of the launch, for devices whose conversion rounds to the nearest; drivers take a
 * conversion there and back for nothing unless something unknown comes between. Null: by integer arithmetic.
 */
export function roundedToHalf(x: Float, bits: Uint | null = null): Float {
  const { builder } = x.context;
  if (builder.madeBy(x.value)?.name === "half.to.f32") return x;
  return bits === null ? x.toHalf().fromHalf() : new Uint(x.context, builder.operate("f32.to.half", x.value)).and(bits).fromHalf();
}
