/** Two recordings of a function, with different lengths of the dynamic axes, as one ONNX graph. */
import type { Capture } from "../../compile/capture.ts";
import type { Operand } from "../../compile/operand.ts";
import type { Definition } from "../../core/definition.ts";
import type { DType } from "../../core/dtype.ts";
import { UnsupportedError } from "../../core/errors.ts";
import { packedStrides, sameShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { Storage } from "../../core/storage.ts";
import type { Tensor } from "../../core/tensor.ts";
import { sameData } from "../../graph/key.ts";
import { formOf } from "./forms.ts";
import { FormCall } from "./form.ts";
import { Refusal, type ExportGraph, type Name, type Value } from "./onnx-graph.ts";

/** A recording whose result is the outputs, in their order. */
export type Recording = Capture<readonly Operand[]>;
type Event = Recording["events"][number];
type ViewEvent = Extract<Event, { kind: "view" }>;
type Made = { readonly tensor: Pick<Tensor, "storage" | "desc" | "offset" | "dtype" | "shape"> };

/** A view, to be made again when what it shows has been written to. */
interface Recipe {
  readonly input: readonly [Operand, Operand];
  readonly event: readonly [ViewEvent, ViewEvent];
}

const keyOf = (t: Pick<Operand, "desc" | "offset">): string => `${t.desc.id},${t.offset}`;
const isPackedWhole = (t: Pick<Operand, "desc" | "offset">): boolean =>
  t.offset === 0 && t.desc.strides.every((s, i) => s === packedStrides(t.desc.shape)[i] || t.desc.shape[i] === 1);

export class Translation {
  readonly #graph: ExportGraph;
  readonly #names: (t: Operand) => string;
  readonly #values = new Map<Storage, Map<string, Value>>();
  readonly #recipes = new Map<Storage, Map<string, Recipe>>();
  /** How often an operation was refused, by what is said of it. */
  readonly #refused = new Map<string, number>();

  /** names: of tensors that live outside of the function. */
  constructor(graph: ExportGraph, names: (t: Operand) => string) {
    this.#graph = graph;
    this.#names = names;
  }

  /** The outputs' names. Throws UnsupportedError with everything that has no form. */
  run(one: Recording, two: Recording, inputs: readonly Value[]): Name[] {
    inputs.forEach((v, i) => this.#define(one.inputs[i]!, v));
    this.#graph.inputs = inputs;
    if (one.events.length !== two.events.length || one.events.some((e, i) => !isAlike(e, two.events[i]!)))
      throw new UnsupportedError({
        operation: "onnx.export",
        argument: "dynamicAxes",
        expected: "axes whose lengths do not decide which operations run",
        received: "a function that runs other operations for other lengths",
      });
    one.events.forEach((e, i) => {
      this.#event(e, two.events[i]!);
    });
    const outputs = one.result.map((t, i) => this.#attempt("the result", () => this.#value(t, two.result[i]!)));
    if (this.#refused.size > 0) {
      const list = [...this.#refused].map(([what, n]) => (n === 1 ? what : `${what} (${n} times)`));
      throw new UnsupportedError({
        operation: "onnx.export",
        argument: "the function",
        expected: "made of operations that have a form in ONNX",
        received: list.join("; "),
        hint: "dx.io.onnx.exportable() lists those that have.",
      });
    }
    return outputs.map((v) => v!.name);
  }

  #attempt<T>(what: string, run: () => T): T | null {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const text = error.message === "" ? what : `${what}: ${error.message}`;
      this.#refused.set(text, (this.#refused.get(text) ?? 0) + 1);
      return null;
    }
  }

  #define(t: Pick<Operand, "storage" | "desc" | "offset">, value: Value): void {
    let known = this.#values.get(t.storage);
    if (known === undefined) this.#values.set(t.storage, (known = new Map()));
    known.set(keyOf(t), value);
  }

  #event(a: Event, b: Event): void {
    switch (a.kind) {
      case "operation": {
        const other = b as typeof a;
        this.#operation(a.definition, a.inputs, other.inputs, [a.attrs, other.attrs], a.outputs, other.outputs);
        break;
      }
      case "create": {
        const other = b as typeof a;
        this.#operation(a.definition, [], [], [a.attrs, other.attrs], [a.output], [other.output]);
        break;
      }
      case "scalar": {
        const other = b as typeof a;
        const name = Object.is(a.value, other.value)
          ? this.#graph.scalar(a.dtype, a.value)
          : this.#attempt("a number that depends on a dynamic axis", () => this.#number(a.dtype, Number(a.value), Number(other.value)));
        this.#define(a.output.tensor, valueOf(a.output, other.output, name ?? { text: "" }));
        break;
      }
      case "constant": {
        const other = b as typeof a;
        if (!sameShape(a.shape, other.shape) || !sameData(a.bytes, other.bytes))
          this.#attempt("data that depend on a dynamic axis", () => {
            throw new Refusal("");
          });
        const name = this.#graph.initializer("constant", a.dtype, a.shape, a.bytes);
        this.#define(a.output.tensor, valueOf(a.output, other.output, name));
        break;
      }
      case "view":
        this.#keep(a, b as ViewEvent);
        break;
      case "assign": {
        const other = b as typeof a;
        this.#attempt("an in-place operation", () => {
          this.#assign([a.target, other.target], [a.source, other.source]);
        });
        break;
      }
      case "retraced":
      case "custom":
      // Loops are traced step by step.
      case "loop":
      case "loopEnd":
      case "loopTest":
        break;
      default:
        a satisfies never;
    }
  }

  /** A number that is a length. */
  #number(dtype: DType, a: number, b: number): Name {
    if (!Number.isInteger(a) || !Number.isInteger(b)) throw new Refusal("");
    const length = this.#graph.node("Reshape", [this.#graph.lengths([a], [b]), this.#graph.constant("int64", [0], [])]);
    return dtype === "int64" ? length : this.#graph.node("CastLike", [length, this.#graph.scalar(dtype, 0)]);
  }

  #operation(
    definition: Definition<never>,
    inputs: readonly Operand[],
    others: readonly Operand[],
    attrs: readonly [unknown, unknown],
    outputs: readonly Made[],
    otherOutputs: readonly Made[],
  ): void {
    const names = this.#attempt(definition.name, () => {
      const form = formOf(definition);
      if (form === null) throw new Refusal("");
      const values = inputs.map((t, i) => this.#value(t, others[i]!));
      const specs = (list: readonly Made[]) => list.map(({ tensor }) => ({ shape: tensor.shape, dtype: tensor.dtype }));
      const made = form(new FormCall(definition, this.#graph, values, attrs as [never, never], [specs(outputs), specs(otherOutputs)]));
      return Array.isArray(made) ? (made as readonly Name[]) : [made as Name];
    });
    outputs.forEach((m, i) => {
      this.#define(m.tensor, valueOf(m, otherOutputs[i]!, names?.[i] ?? { text: "" }));
    });
  }

  #keep(a: ViewEvent, b: ViewEvent): void {
    const { tensor } = a.output;
    if (this.#values.get(tensor.storage)?.has(keyOf(tensor)) === true) return;
    let known = this.#recipes.get(tensor.storage);
    if (known === undefined) this.#recipes.set(tensor.storage, (known = new Map()));
    if (!known.has(keyOf(tensor))) known.set(keyOf(tensor), { input: [a.input, b.input], event: [a, b] });
  }

  /** The value of a tensor as it is now. */
  #value(t: Operand, other: Operand): Value {
    const found = this.#values.get(t.storage)?.get(keyOf(t));
    if (found !== undefined) return found;
    const recipe = this.#recipes.get(t.storage)?.get(keyOf(t));
    let made: Value;
    if (recipe !== undefined) {
      const input = this.#value(...recipe.input);
      made = { name: this.#view(recipe, input), dtype: t.desc.dtype, shape: t.desc.shape, other: other.desc.shape };
    } else if (t.storage.trace === null) {
      if (t.storage !== other.storage || !sameShape(t.desc.shape, other.desc.shape) || t.offset !== other.offset)
        throw new Refusal("a tensor from outside the function that depends on a dynamic axis");
      made = {
        name: this.#graph.initializer(this.#names(t), t.desc.dtype, t.desc.shape, t.tensor),
        dtype: t.desc.dtype,
        shape: t.desc.shape,
        other: t.desc.shape,
      };
    } else throw new Refusal("a view that no operation made");
    this.#define(t, made);
    return made;
  }

  #view({ event: [a, b] }: Recipe, x: Value): Name {
    const g = this.#graph;
    const { name } = a.definition;
    const [to, other] = [a.output.tensor.shape, b.output.tensor.shape];
    if (name === "view") return g.reshaped(x, to, other);
    if (name === "alias") return x.name;
    if (name === "permute") return g.node("Transpose", [x.name], { perm: (a.attrs as { axes: readonly number[] }).axes });
    if (name === "expand") {
      const lead = to.length - x.shape.length;
      // 1 keeps a length as it is.
      const wanted = (list: Shape, from: Shape): number[] => list.map((n, i) => (i >= lead && from[i - lead] === n ? 1 : n));
      return g.node("Expand", [x.name, g.lengths(wanted(to, x.shape), wanted(other, x.other))]);
    }
    if (name === "slice") return this.#slice(x, a.attrs as Box, b.attrs as Box);
    if (!sameShape(to, other) || !sameShape(x.shape, x.other)) throw new Refusal(`the view ${name} of a dynamic axis`);
    const layout = a.definition.view({ shape: x.shape, strides: packedStrides(x.shape) }, a.attrs as never);
    const flat = g.node("Reshape", [x.name, g.ints([-1])]);
    return g.node("Gather", [flat, g.constant("int64", to, positions(layout))], { axis: 0 });
  }

  #slice(x: Value, a: Box, b: Box): Name {
    const end = (box: Box, i: number): number => box.starts[i]! + (box.sizes[i]! - 1) * box.steps[i]! + 1;
    const axes = x.shape.flatMap((n, i) =>
      a.starts[i] === 0 && a.sizes[i] === n && b.starts[i] === 0 && b.sizes[i] === x.other[i] && a.steps[i] === 1 ? [] : [i],
    );
    if (axes.length === 0) return x.name;
    const g = this.#graph;
    // Up to the end, or counted from it, needs no length.
    const bounds = (of: (box: Box, i: number) => number, isEnd: boolean): Name => {
      const list = axes.map((i): readonly [number, number] => {
        const pair = [of(a, i), of(b, i)] as const;
        if (pair[0] === pair[1]) return pair;
        const back = [pair[0] - x.shape[i]!, pair[1] - x.other[i]!] as const;
        if (back[0] !== back[1]) return pair;
        return back[0] === 0 && isEnd ? [2 ** 31 - 1, 2 ** 31 - 1] : back;
      });
      return g.lengths(
        list.map(([n]) => n),
        list.map(([, n]) => n),
        [x],
      );
    };
    if (axes.some((i) => a.steps[i] !== b.steps[i])) throw new Refusal("a step that depends on a dynamic axis");
    return g.node("Slice", [
      x.name,
      bounds((box, i) => box.starts[i]!, false),
      bounds(end, true),
      g.ints(axes),
      g.ints(axes.map((i) => a.steps[i]!)),
    ]);
  }

  #assign(target: readonly [Operand, Operand], source: readonly [Operand, Operand]): void {
    const [t, other] = target;
    if (t.storage.trace === null) throw new Refusal("it changes a tensor that lives outside the function (state)");
    const value = this.#value(...source);
    const known = this.#values.get(t.storage)!;
    const whole = { dtype: t.desc.dtype, shape: t.desc.shape, other: other.desc.shape };
    if (isPackedWhole(t) && sizeOf(t.desc.shape) === sizeOfBase(known)) {
      known.clear();
      this.#define(t, { name: value.name, ...whole });
      return;
    }
    const entry = [...known].find(([, v]) => sizeOf(v.shape) === sizeOfBase(known));
    if (entry === undefined || !sameShape(t.desc.shape, other.desc.shape) || !sameShape(entry[1].shape, entry[1].other))
      throw new Refusal("it writes a part of a dynamic length");
    const g = this.#graph;
    const [key, base] = entry;
    const list = positions({ shape: t.desc.shape, strides: t.desc.strides, offset: t.offset });
    const flat = g.node("Reshape", [base.name, g.ints([-1])]);
    const update = g.node("Reshape", [value.name, g.ints([-1])]);
    const written = g.node("ScatterElements", [flat, g.constant("int64", [list.length], list), update], { axis: 0 });
    known.clear();
    known.set(key, { ...base, name: g.node("Reshape", [written, g.ints(base.shape)]) });
  }
}

interface Box {
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
  readonly steps: readonly number[];
}

/** How many elements the storage has: those of the largest that is known, which was made with it. */
const sizeOfBase = (known: ReadonlyMap<string, Value>): number => Math.max(0, ...[...known.values()].map((v) => sizeOf(v.shape)));

/** Where the elements of a view lie. */
function positions({
  shape,
  strides,
  offset,
}: {
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}): number[] {
  let list = [offset];
  shape.forEach((n, axis) => {
    list = list.flatMap((at) => Array.from({ length: n }, (_, i) => at + i * strides[axis]!));
  });
  return list;
}

const valueOf = (a: Made, b: Made, name: Name): Value => ({ name, dtype: a.tensor.dtype, shape: a.tensor.shape, other: b.tensor.shape });

/** The same operation, whatever its lengths. */
function isAlike(a: Event, b: Event): boolean {
  if (a.kind !== b.kind) return false;
  if (a.kind === "operation") return a.definition === (b as typeof a).definition && a.inputs.length === (b as typeof a).inputs.length;
  if (a.kind === "view" || a.kind === "create") return a.definition === (b as typeof a).definition;
  return true;
}
