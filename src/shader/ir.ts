/**
 * The intermediate form of a shader: blocks of statements over values that are assigned once, and variables that are not. A value is made by
 * one statement, or is a leaf: a constant, an index in the launch, a number given with the launch.
 */
import type { OperationName, Scalar } from "./operations.ts";

/** How elements lie in a buffer. f16 is stored only: it is read as f32 and rounded when written. */
export type Element = "f32" | "f16" | "i32" | "u32";

/** A number that is the same for all threads of a launch: a root constant on the device. */
export type UniformSource =
  | { readonly kind: "size"; readonly buffer: string }
  | { readonly kind: "dimension"; readonly buffer: string; readonly axis: number }
  | { readonly kind: "parameter"; readonly name: string }
  /** Groups in the first axis of the grid. */
  | { readonly kind: "grid" };

export interface Uniform {
  readonly name: string;
  readonly type: Scalar;
  readonly source: UniformSource;
}

export type Leaf =
  | { readonly kind: "constant"; readonly number: number }
  /** The thread's index in its group. */
  | { readonly kind: "local" }
  /** The group's index in the launch: the two axes of the grid. */
  | { readonly kind: "groupX" }
  | { readonly kind: "groupY" }
  | { readonly kind: "uniform"; readonly uniform: Uniform };

export interface Value {
  readonly id: number;
  readonly type: Scalar;
  readonly leaf: Leaf | null;
}

export interface Variable {
  readonly id: number;
  readonly type: Scalar;
}

export interface Buffer {
  readonly kind: "buffer";
  readonly name: string;
  readonly element: Element;
  /** The u register. */
  readonly slot: number;
  readonly isWritable: boolean;
  /** Elements, given with the launch. */
  readonly size: Value;
}

export interface Shared {
  readonly kind: "shared";
  readonly name: string;
  readonly element: Exclude<Element, "f16">;
  readonly slot: number;
  readonly length: number;
}

export type Memory = Buffer | Shared;
export type AtomicName = "add" | "and" | "or" | "xor" | "min" | "max" | "exchange" | "compareExchange";

/** `at` counts elements; in a lowered shader ("raw") it counts bytes, what is read and written are words, and nothing is checked. */
interface Access {
  readonly memory: Memory;
  readonly at: Value;
  readonly raw: boolean;
  /** Outside nothing is read or written; an unchecked access outside is a fault of the shader. */
  readonly checked: boolean;
  /** The address is surely a multiple of the access's size. */
  readonly aligned?: boolean;
  /** Computing the address wraps around nowhere. */
  readonly exact?: boolean;
  /** Of structured memory: `at` counts structures, and this the bytes inside of one. */
  readonly offset?: Value;
  /** Of a load that is not proven to be inside: Direct3D gives 0 outside of the buffer's view, and reads nothing. */
  readonly byView?: true;
  /** `at` counts texels, four words that are moved at once. */
  readonly texel?: true;
  readonly source: string;
}

export interface Operate {
  readonly kind: "operate";
  readonly name: OperationName;
  readonly args: readonly Value[];
  readonly result: Value;
}
export interface Load extends Access {
  readonly kind: "load";
  readonly results: readonly Value[];
}
export interface Store extends Access {
  readonly kind: "store";
  readonly values: readonly Value[];
}
export interface Atomic extends Access {
  readonly kind: "atomic";
  readonly name: AtomicName;
  readonly value: Value;
  /** Of compareExchange: what must be there. */
  readonly expected: Value | null;
  /** What was there before. */
  readonly result: Value | null;
}
export interface Declare {
  readonly kind: "declare";
  readonly variable: Variable;
  readonly value: Value;
}
export interface Get {
  readonly kind: "get";
  readonly variable: Variable;
  readonly result: Value;
}
export interface Assign {
  readonly kind: "assign";
  readonly variable: Variable;
  readonly value: Value;
}
export interface If {
  readonly kind: "if";
  readonly condition: Value;
  readonly body: Block;
  readonly otherwise: Block;
  readonly source: string;
}
export interface For {
  readonly kind: "for";
  readonly index: Value;
  readonly start: Value;
  readonly end: Value;
  readonly step: Value;
  readonly body: Block;
  /** null: by the budget. */
  readonly unroll: boolean | null;
  readonly source: string;
}
export interface While {
  readonly kind: "while";
  /** Computes the condition. */
  readonly head: Block;
  readonly condition: Value;
  readonly body: Block;
  readonly source: string;
}
export interface Barrier {
  readonly kind: "barrier";
  /** "shared": of group-shared memory. "all": of buffers too. */
  readonly scope: "shared" | "all";
  readonly source: string;
}
export interface Jump {
  readonly kind: "break" | "continue";
  readonly source: string;
}
/** Seen by the evaluator only. */
export interface Print {
  readonly kind: "print";
  readonly label: string;
  readonly values: readonly Value[];
  readonly source: string;
}

export type Statement = Operate | Load | Store | Atomic | Declare | Get | Assign | If | For | While | Barrier | Jump | Print;
export type Block = readonly Statement[];

export interface Shader {
  readonly name: string;
  /** Of a group. */
  readonly threads: number;
  readonly buffers: readonly Buffer[];
  readonly shared: readonly Shared[];
  readonly uniforms: readonly Uniform[];
  /** Drivers compute what is written: no x - x as 0, which is NaN for an infinite x, and no (a + b) - a as b. */
  readonly isPrecise?: boolean;
  readonly body: Block;
}

const NO_BLOCKS: readonly Block[] = [];

/** The blocks inside a statement. */
export function blocksOf(s: Statement): readonly Block[] {
  if (s.kind === "if") return [s.body, s.otherwise];
  if (s.kind === "for") return [s.body];
  return s.kind === "while" ? [s.head, s.body] : NO_BLOCKS;
}

const NO_VALUES: readonly Value[] = [];

/** The values that a statement itself reads. */
export function readsOf(s: Statement): readonly Value[] {
  switch (s.kind) {
    case "operate":
      return s.args;
    case "load":
      return s.offset === undefined ? [s.at] : [s.at, s.offset];
    case "store":
      return s.offset === undefined ? [s.at, ...s.values] : [s.at, s.offset, ...s.values];
    case "atomic":
      return s.expected === null ? [s.at, s.value] : [s.at, s.value, s.expected];
    case "declare":
    case "assign":
      return [s.value];
    case "if":
    case "while":
      return [s.condition];
    case "for":
      return [s.start, s.end, s.step];
    case "print":
      return s.values;
    case "get":
    case "barrier":
    case "break":
    case "continue":
      return NO_VALUES;
    default:
      return s satisfies never;
  }
}

/** The values that a statement itself makes. */
export function makesOf(s: Statement): readonly Value[] {
  if (s.kind === "load") return s.results;
  if (s.kind === "operate" || s.kind === "get") return [s.result];
  if (s.kind === "for") return [s.index];
  return s.kind === "atomic" && s.result !== null ? [s.result] : NO_VALUES;
}

/** Every statement, those inside others after them. */
export function allStatements(block: Block, found: Statement[] = []): readonly Statement[] {
  for (const s of block) {
    found.push(s);
    for (const inner of blocksOf(s)) allStatements(inner, found);
  }
  return found;
}

export const constantOf = (v: Value): number | null => (v.leaf?.kind === "constant" ? v.leaf.number : null);

export const sizeOfElement = (e: Element): number => (e === "f16" ? 2 : 4);
/** The type that an element is read as. */
export const typeOfElement = (e: Element): Exclude<Scalar, "bool"> => (e === "f16" ? "f32" : e);
