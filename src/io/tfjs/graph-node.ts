/** A node of a TensorFlow graph with its attributes, as the translators of operators read it. */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import type { DType } from "../../core/dtype.ts";
import type { Attributes, GraphBuilder, Value, Weight } from "./graph-builder.ts";
import { isRecord, type Json } from "./json.ts";
import { numbersOf } from "./graph-builder.ts";
import type { Window } from "./layer-nodes.ts";

/** TensorFlow's types, by name or number, that have dtypes here. */
const TYPES: Readonly<Record<string, DType>> = {
  DT_FLOAT: "float32",
  DT_INT32: "int32",
  DT_INT64: "int32",
  DT_BOOL: "bool",
  DT_UINT8: "uint8",
  DT_HALF: "float16",
  1: "float32",
  3: "int32",
  9: "int32",
  10: "bool",
  4: "uint8",
  19: "float16",
};

export class NodeCall {
  readonly source: string;
  readonly b: GraphBuilder;
  readonly label: string;
  readonly operator: string;
  readonly inputs: readonly Value[];
  readonly #attributes: Json;

  constructor(
    source: string,
    b: GraphBuilder,
    node: { readonly name: string; readonly op: string; readonly attr: Json },
    inputs: readonly Value[],
  ) {
    this.source = source;
    this.b = b;
    this.label = node.name;
    this.operator = node.op;
    this.inputs = inputs;
    this.#attributes = node.attr;
  }

  get x(): Value {
    return this.input(0);
  }

  input(i: number): Value {
    const value = this.inputs[i];
    if (value === undefined) throw this.bad(`with ${i + 1} inputs of ${this.label}`, `${this.inputs.length}`);
    return value;
  }

  last(i: number): string {
    return this.b.last(this.input(i));
  }

  bad(expected: string, received: string): FormatError {
    return new FormatError("tfjs.load", this.source, expected, received);
  }

  unsupported(what: string): UnsupportedError {
    return new UnsupportedError({ operation: "tfjs.load", argument: `${this.operator} ${this.label}`, received: what });
  }

  has(name: string): boolean {
    return this.#attributes[name] !== undefined;
  }

  #attribute(name: string): Json {
    const value = this.#attributes[name];
    return isRecord(value) ? value : {};
  }

  flag(name: string, otherwise = false): boolean {
    const { b } = this.#attribute(name);
    return typeof b === "boolean" ? b : otherwise;
  }

  int(name: string, otherwise: number): number {
    const { i } = this.#attribute(name);
    return i === undefined ? otherwise : Number(i);
  }

  float(name: string, otherwise: number): number {
    const { f } = this.#attribute(name);
    return f === undefined ? otherwise : Number(f);
  }

  /** Texts are base64, or lists of bytes. */
  text(name: string, otherwise: string): string {
    const { s } = this.#attribute(name);
    return s === undefined ? otherwise : textOf(s);
  }

  #list(name: string): Json {
    const { list } = this.#attribute(name);
    return isRecord(list) ? list : {};
  }

  ints(name: string): number[] {
    const { i } = this.#list(name);
    return Array.isArray(i) ? i.map(Number) : [];
  }

  texts(name: string): string[] {
    const { s } = this.#list(name);
    return Array.isArray(s) ? s.map(textOf) : [];
  }

  dtype(name: string): DType {
    const { type } = this.#attribute(name);
    const found = TYPES[String(type)];
    if (found === undefined) throw this.unsupported(`elements of ${String(type)}`);
    return found;
  }

  /** The shape of a placeholder; null where any rank will do. */
  shape(name: string): (number | null)[] | null {
    const { shape } = this.#attribute(name);
    if (!isRecord(shape) || shape["unknownRank"] === true) return null;
    const dims = Array.isArray(shape["dim"]) ? shape["dim"] : [];
    return dims.map((d: unknown) => (isRecord(d) && Number(d["size"] ?? 0) >= 0 ? Number(d["size"] ?? 0) : null));
  }

  /** The elements of an input, where they are known. */
  constant(i: number): Weight | null {
    return this.inputs[i]?.weight ?? null;
  }

  /** The weight that an input must be, of so many axes where these are said. */
  weight(i: number, axes?: number): Weight {
    const found = this.input(i).weight;
    if (found === null) throw this.unsupported(`input ${i} that is no constant`);
    if (axes !== undefined && found.shape.length !== axes)
      throw this.bad(`with ${found.name} of ${axes} axes`, `[${found.shape.join(", ")}]`);
    return found;
  }

  numbers(i: number): number[] {
    return numbersOf(this.weight(i));
  }

  /** An input of lengths or indices as int64. */
  longs(i: number): string {
    const known = this.constant(i);
    if (known !== null) return this.b.constant("int64", known.shape, numbersOf(known));
    return this.b.node("Cast", [this.last(i)], `${this.label}/long`, { to: 7 });
  }

  requireLast(): void {
    const format = this.text("data_format", "NHWC");
    if (format !== "NHWC") throw this.unsupported(`data_format ${format}`);
  }

  /** Strides, dilations and padding over height and width. */
  window(): Window {
    this.requireLast();
    const strides = this.ints("strides");
    const dilations = this.ints("dilations");
    const padding = this.text("padding", "VALID");
    const explicit = this.ints("explicit_paddings");
    if (padding !== "SAME" && padding !== "VALID" && padding !== "EXPLICIT") throw this.unsupported(`padding ${padding}`);
    return {
      strides: strides.length === 4 ? strides.slice(1, 3) : [1, 1],
      dilations: dilations.length === 4 ? dilations.slice(1, 3) : [1, 1],
      padding:
        padding === "SAME" ? "same" : padding === "VALID" ? "valid" : [[explicit[2] ?? 0, explicit[3] ?? 0], [explicit[4] ?? 0, explicit[5] ?? 0]], // prettier-ignore
    };
  }

  /** A node of values with channels last. */
  node(type: string, inputs: readonly string[], rank: number | null = null, attributes: Attributes = {}): Value {
    return this.b.plain(this.b.node(type, inputs, this.label, attributes), rank);
  }
}

function textOf(s: unknown): string {
  if (typeof s === "string") return Buffer.from(s, "base64").toString();
  return Array.isArray(s) ? Buffer.from(s.map(Number)).toString() : "";
}
