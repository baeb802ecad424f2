/** The graph that an export writes: nodes, initializers, and sizes that follow from the inputs' shapes. */
import type { DType } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";

/** A name in the graph, which may be given another text until the file is written. */
export interface Name {
  text: string;
}

/** What the two runs say about an axis: its length in each. They differ where the length depends on a dynamic axis. */
export type Length = readonly [number, number];

/** A tensor of the graph. shape, other: of the run with the example's sizes, and of that with others. */
export interface Value {
  readonly name: Name;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly other: Shape;
}

/** An attribute: an integer, a list of them, a number (`{ float }`), text, or a list of texts. */
export type Attribute = number | readonly number[] | { readonly float: number } | string | readonly string[];

export interface Node {
  readonly type: string;
  readonly inputs: readonly (Name | null)[];
  readonly outputs: readonly Name[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

export interface Initializer {
  readonly name: Name;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: Uint8Array | Tensor;
}

/** Why something has no form in ONNX. */
export class Refusal extends Error {}

/** Bytes of elements of a dtype. */
export function bytesOfNumbers(dtype: DType, numbers: readonly (number | bigint | boolean)[]): Uint8Array {
  const array = elements(dtype, numbers);
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

export class ExportGraph {
  readonly nodes: Node[] = [];
  readonly initializers: Initializer[] = [];
  readonly opset: number;
  /** The graph's inputs. */
  inputs: readonly Value[] = [];
  readonly #used = new Set<string>();
  readonly #constants = new Map<string, Name>();
  readonly #sizes = new Map<string, Name>();

  constructor(opset: number) {
    this.opset = opset;
  }

  /** A name that no other has: the text itself, or with a number. */
  unique(text: string): string {
    let name = text;
    for (let i = 1; this.#used.has(name); i++) name = `${text}_${i}`;
    this.#used.add(name);
    return name;
  }

  /** A node of one output. */
  node(type: string, inputs: readonly (Name | null)[], attributes: Node["attributes"] = {}): Name {
    return this.nodeOf(type, inputs, 1, attributes)[0]!;
  }

  /** A node of several outputs. */
  nodeOf(type: string, inputs: readonly (Name | null)[], count: number, attributes: Node["attributes"] = {}): Name[] {
    const outputs = Array.from({ length: count }, () => ({ text: this.unique(type.toLowerCase()) }));
    this.nodes.push({ type, inputs, outputs, attributes });
    return outputs;
  }

  initializer(name: string, dtype: DType, shape: Shape, data: Uint8Array | Tensor): Name {
    const made = { text: this.unique(name) };
    this.initializers.push({ name: made, dtype, shape, data });
    return made;
  }

  /** A constant; equal ones are one. */
  constant(dtype: DType, shape: Shape, numbers: readonly (number | bigint | boolean)[]): Name {
    const key = `${dtype}[${shape.join()}]${numbers.map((n) => (Object.is(n, -0) ? "-0" : String(n))).join()}`;
    let found = this.#constants.get(key);
    if (found === undefined) this.#constants.set(key, (found = this.initializer("constant", dtype, shape, bytesOfNumbers(dtype, numbers))));
    return found;
  }

  scalar(dtype: DType, value: number | bigint | boolean): Name {
    return this.constant(dtype, [], [value]);
  }

  ints(list: readonly number[]): Name {
    return this.constant("int64", [list.length], list);
  }

  /** A list of lengths as an int64 tensor. near: tensors whose shapes probably have them. */
  lengths(list: Shape, other: Shape, near: readonly Value[] = []): Name {
    if (list.length === other.length && list.every((n, i) => n === other[i])) return this.ints(list);
    const parts = list.map((n, i) => this.#length([n, other[i]!], near));
    return parts.length === 1 ? parts[0]! : this.node("Concat", parts, { axis: 0 });
  }

  /** One length, as an int64 tensor [1]. */
  #length([a, b]: Length, near: readonly Value[]): Name {
    if (a === b) return this.ints([a]);
    const key = `${a},${b}`;
    const values = [...near, ...this.inputs];
    for (const v of values) {
      const axis = v.shape.findIndex((n, i) => n === a && v.other[i] === b);
      if (axis >= 0) return this.node("Shape", [v.name], { start: axis, end: axis + 1 });
    }
    const known = this.#sizes.get(key);
    if (known !== undefined) return known;
    const made = this.#computed(a, b);
    this.#sizes.set(key, made);
    return made;
  }

  /** A length that is a multiple of an input's, a product of two, a whole part, differs by a constant, or is the sum of two: if it can be only one. */
  #computed(a: number, b: number): Name {
    const axes = new Map<string, { readonly n: number; readonly m: number; readonly name: () => Name }>();
    for (const v of this.inputs)
      v.shape.forEach((n, i) => {
        const m = v.other[i]!;
        if (n !== m) axes.set(`${n},${m}`, { n, m, name: () => this.node("Shape", [v.name], { start: i, end: i + 1 }) });
      });
    const list = [...axes.values()];
    const found: (() => Name)[] = [];
    list.forEach((x, i) => {
      if (a % x.n === 0 && (a / x.n) * x.m === b) found.push(() => this.node("Mul", [x.name(), this.ints([a / x.n])]));
      if (x.n % a === 0 && x.m % b === 0 && x.n / a === x.m / b) found.push(() => this.node("Div", [x.name(), this.ints([x.n / a])]));
      if (a - x.n === b - x.m) found.push(() => this.node("Add", [x.name(), this.ints([a - x.n])]));
      for (const y of list.slice(i)) {
        const [n, m] = [x.n * y.n, x.m * y.m];
        if (a % n === 0 && (a / n) * m === b)
          found.push(() => this.node("Mul", [this.node("Mul", [x.name(), y.name()]), this.ints([a / n])]));
      }
    });
    // As of keys of a cache and of new ones. Only where nothing else fits, so that it makes no other length ambiguous.
    if (found.length === 0)
      list.forEach((x, i) => {
        for (const y of list.slice(i + 1)) if (a === x.n + y.n && b === x.m + y.m) found.push(() => this.node("Add", [x.name(), y.name()]));
      });
    if (found.length === 1) return found[0]!();
    const ways = found.length === 0 ? "" : `, which follows from these in ${found.length} ways: export an example of other lengths`;
    throw new Refusal(`a length that is ${a} for the example and ${b} for other sizes${ways}`);
  }

  /** The shape that a tensor is given, with -1 for the one length that follows from the others. */
  reshaped(x: Value, shape: Shape, other: Shape): Name {
    const dynamic = shape.flatMap((n, i) => (n === other[i] ? [] : [i]));
    const target = dynamic.length === 1 ? this.ints(shape.map((n, i) => (i === dynamic[0] ? -1 : n))) : this.lengths(shape, other, [x]);
    return this.node("Reshape", [x.name, target]);
  }
}
