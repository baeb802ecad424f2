/** A node that runs: its inputs and attributes, as operators read them. */
import type { Device } from "../../core/device.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import { DTypeError, ShapeError, UnsupportedError, ValueError } from "../../core/errors.ts";
import { to, values } from "../../ops/data/conversion.ts";
import { Tensor } from "../../core/tensor.ts";
import type { AttributeMessage, GraphMessage, NodeMessage } from "./proto.ts";
import type { Constants } from "./attribute-constants.ts";
import type { NarrowType } from "./narrow-types.ts";
import { Constant, describe, isNumeric, Texts, type Value } from "./value.ts";

const utf8 = new TextDecoder();

/** Numbers that an operator makes in JavaScript. */
export const MAX_HOSTED = 2 ** 24;

/** What a node's attributes of graphs run in. */
export interface Body {
  /** The names that the graph's inputs have. */
  readonly inputs: readonly string[];
  run(inputs: readonly Value[]): Value[];
}

export class Call {
  readonly node: NodeMessage;
  /** Version of the operator set of the node's domain. */
  readonly opset: number;
  readonly inputs: readonly Value[];
  readonly device: Device;
  readonly #attributes: ReadonlyMap<string, AttributeMessage>;
  readonly #constants: Constants;
  readonly #body: (graph: GraphMessage) => Body;

  constructor(
    node: NodeMessage,
    opset: number,
    inputs: readonly Value[],
    attributes: ReadonlyMap<string, AttributeMessage>,
    { device, constants }: { readonly device: Device; readonly constants: Constants },
    body: (graph: GraphMessage) => Body,
  ) {
    this.node = node;
    this.opset = opset;
    this.inputs = inputs;
    this.#attributes = attributes;
    this.device = device;
    this.#constants = constants;
    this.#body = body;
  }

  /** The same node with other inputs, as of another version of the operator set if one is given. */
  with(inputs: readonly Value[], opset = this.opset): Call {
    return new Call(this.node, opset, inputs, this.#attributes, { device: this.device, constants: this.#constants }, this.#body);
  }

  /** As errors name it. */
  get name(): string {
    return `onnx.${this.node.type}`;
  }

  /** What the importer does not know. */
  unsupported(what: string): UnsupportedError {
    return new UnsupportedError({ operation: this.name, received: what });
  }

  invalid(argument: string, expected: string, received: unknown): ValueError {
    return new ValueError(this.name, argument, expected, received);
  }

  has(i: number): boolean {
    return (this.inputs[i] ?? null) !== null;
  }

  /** Whether somebody may read this output. */
  wants(i: number): boolean {
    return (this.node.outputs[i] ?? "") !== "";
  }

  numeric(i: number): Tensor | Constant {
    const v = this.inputs[i] ?? null;
    if (isNumeric(v)) return v;
    if (v instanceof Texts) throw this.unsupported("texts");
    throw new DTypeError(this.name, `input ${i}`, "a tensor", describe(v));
  }

  /** The type of an input's elements, where its file says one that is none of ours. */
  narrow(i: number): NarrowType | null {
    const v = this.inputs[i];
    return v instanceof Constant ? v.narrow : null;
  }

  tensor(i: number): Tensor {
    return this.asTensor(this.numeric(i));
  }

  /** An input that must have one of these ranks. shape: as errors say it. */
  ranked(i: number, shape: string, ...ranks: readonly number[]): Tensor {
    const t = this.tensor(i);
    if (!ranks.includes(t.rank)) throw new ShapeError(this.name, `input ${i}`, shape, t.describe());
    return t;
  }

  /** A count that the model must state, of at least 1. */
  count(name: string): number {
    return this.size(this.int(name, 0), `attribute ${name}`, 1);
  }

  asTensor(v: Value): Tensor {
    if (v instanceof Constant) return v.on(this.device);
    if (v instanceof Tensor) return v.device === this.device ? v : to(v, this.device);
    throw new DTypeError(this.name, "value", "a tensor", describe(v));
  }

  /** The first input. */
  get x(): Tensor {
    return this.tensor(0);
  }

  optional(i: number): Tensor | null {
    return this.has(i) ? this.tensor(i) : null;
  }

  /** Every input as a tensor. */
  all(): Tensor[] {
    return this.inputs.map((_, i) => this.tensor(i));
  }

  sequence(i: number): readonly Value[] {
    const v = this.inputs[i] ?? null;
    if (!Array.isArray(v)) throw new DTypeError(this.name, `input ${i}`, "a sequence", describe(v));
    return v as readonly Value[];
  }

  /** The elements of an input as numbers. Of a tensor they are read back, which blocks, and which compile() refuses. */
  numbers(i: number): number[] {
    const v = this.numeric(i);
    return v instanceof Constant ? v.numbers() : values(v.dtype, v.dataSync()).map(Number);
  }

  /** The one element of an input, or the default. */
  number(i: number, otherwise?: number): number {
    if (!this.has(i) && otherwise !== undefined) return otherwise;
    const list = this.numbers(i);
    if (list.length !== 1) throw new ShapeError(this.name, `input ${i}`, "of one element", describe(this.inputs[i]));
    return list[0]!;
  }

  hasAttribute(name: string): boolean {
    return this.#attributes.has(name);
  }

  #attribute(name: string): AttributeMessage {
    const found = this.#attributes.get(name);
    if (found === undefined) throw this.invalid(`attribute ${name}`, "given", "nothing");
    return found;
  }

  int(name: string, otherwise: number): number {
    return this.hasAttribute(name) ? Number(this.#attribute(name).i) : otherwise;
  }

  flag(name: string, otherwise = false): boolean {
    return this.hasAttribute(name) ? this.#attribute(name).i !== 0n : otherwise;
  }

  float(name: string, otherwise: number): number {
    return this.hasAttribute(name) ? this.#attribute(name).f : otherwise;
  }

  text(name: string, otherwise: string): string {
    return this.hasAttribute(name) ? utf8.decode(this.#attribute(name).s) : otherwise;
  }

  /** Text that must be one of these. */
  oneOf<T extends string>(name: string, otherwise: T, allowed: readonly T[]): T {
    const found = this.text(name, otherwise);
    if (!(allowed as readonly string[]).includes(found)) throw this.invalid(`attribute ${name}`, `one of ${allowed.join(", ")}`, found);
    return found as T;
  }

  ints(name: string): number[] | null {
    return this.hasAttribute(name) ? this.#attribute(name).ints.map(Number) : null;
  }

  floats(name: string): readonly number[] | null {
    return this.hasAttribute(name) ? this.#attribute(name).floats : null;
  }

  texts(name: string): string[] | null {
    return this.hasAttribute(name) ? this.#attribute(name).strings.map((s) => utf8.decode(s)) : null;
  }

  constant(name: string): Constant | Texts | null {
    const t = this.hasAttribute(name) ? this.#attribute(name).t : null;
    return t === null ? null : this.#constants.of(t);
  }

  attribute(name: string): AttributeMessage | null {
    return this.#attributes.get(name) ?? null;
  }

  body(name: string): Body {
    const { g } = this.#attribute(name);
    if (g === null) throw this.invalid(`attribute ${name}`, "a graph", "none");
    return this.#body(g);
  }

  /** A size that the model states: an integer of at least `min`. */
  size(value: number, argument: string, min = 0): number {
    if (!Number.isSafeInteger(value) || value < min) throw this.invalid(argument, `an integer of at least ${min}`, value);
    return value;
  }

  /** So many numbers may be made on the host: what a model states must not take all memory. */
  hosted(count: number, argument: string): number {
    if (!(count <= MAX_HOSTED)) throw this.invalid(argument, `a value that requires at most ${MAX_HOSTED} numbers on the host`, count);
    return count;
  }

  /** A list that was an attribute in old versions and is an input now. */
  list(name: string, i: number): number[] | null {
    return this.has(i) ? this.numbers(i) : this.ints(name);
  }

  /** An axis counted from the front. */
  axis(value: number, rank: number): number {
    const a = value < 0 ? value + rank : value;
    if (!Number.isInteger(value) || a < 0 || a >= Math.max(rank, 1)) throw this.invalid("axis", `in [${-rank}, ${rank - 1}]`, value);
    return a;
  }

  axes(list: readonly number[], rank: number): number[] {
    return list.map((a) => this.axis(a, rank));
  }

  /** A tensor of JavaScript numbers on the call's device. */
  make(list: readonly (number | bigint)[], dtype: DType, shape: readonly number[] = [list.length]): Tensor {
    return new Constant(dtype, shape, elements(dtype, list)).on(this.device);
  }

  /** A floating dtype's tensor as float32, for what is computed in it. */
  single(t: Tensor): Tensor {
    return isFloat(t.dtype) ? to(t, "float32") : t;
  }
}
