/** Lowers a path over padded inputs: masks are made of the true sizes, which each call uploads as numbers. */
import type { Definition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { dataTypeName } from "../core/dtype.ts";
import { sameData } from "../graph/key.ts";
import { packedExpr, type Expr, type Value } from "../graph/graph.ts";
import { indices, int32, takeAlong, type Padding } from "../core/padded-axes.ts";
import { readMoved, writeMoved, type AddressNumbers } from "./addresses.ts";
import { madeOf, type Assignment, type Creation, type Operation, type Scalar } from "./log.ts";
import type { Operand } from "./operand.ts";
import { isPaddable, type TraceMatch } from "./trace-matching.ts";

/** A true size, or what follows one, as an event that gives a number in each call. */
export const sizeEvent = (device: Device, value: number, dtype: "uint32" | "int32" | "float32" = "uint32"): Scalar => ({
  kind: "scalar",
  device,
  dtype,
  value,
  varies: true,
  holder: null,
  output: null as never,
});

const number = (g: GraphBuilder, dtype: DType, value: number, sizes: readonly number[]): Expr =>
  g.expand(g.fillValueConstant({ output: { sizes: [1], dtype }, valueDataType: dataTypeName(dtype), value: { dtype, value } }), sizes);

type SizedEvent = Operation | Creation;

/** Whether attributes differ that its rule looks at. */
const followsSizes = ({ definition, attrs }: SizedEvent, small: SizedEvent): boolean =>
  definition.follows?.some((k) => !sameData((attrs as Record<string, unknown>)[k], (small.attrs as Record<string, unknown>)[k])) === true;

const refusal = (event: SizedEvent): Unpadded => new Unpadded(`${event.origin} cannot leave padding out`);

/** What a program for several sizes is made of. */
export interface Sized {
  readonly match: TraceMatch;
  /** Of each of the match's axes. */
  readonly sizes: readonly Scalar[];
  readonly device: Device;
  /** Other numbers that follow sizes, with where each call finds them: lowering adds them. */
  readonly numbers: { readonly event: Scalar; readonly of: (match: TraceMatch) => number }[];
}

/** Thrown where no program can serve several sizes: each has its own. The message says why. */
export class Unpadded extends Error {}

/** Gives operations of a path that fits several sizes their padded form. */
export class PaddedLowering {
  readonly #match: TraceMatch;
  readonly #input: (event: Scalar) => Value;
  readonly #sized: Sized;
  readonly #masks = new Map<string, Expr>();

  /** input: the graph's input for a number. */
  constructor(sized: Sized, input: (event: Scalar) => Value) {
    this.#match = sized.match;
    this.#sized = sized;
    this.#input = input;
  }

  /** The elements of an operand that is read by addresses; null for others. whole: its storage, flat. */
  read(g: GraphBuilder, x: Operand, whole: () => Expr): Expr | null {
    const numbers = this.#addresses(x);
    return numbers === null ? null : readMoved(g, whole(), numbers);
  }

  /** A storage, flat, with a part replaced that is found by addresses; null for others. */
  written(g: GraphBuilder, { target }: Assignment, whole: () => Expr, value: Expr): Expr | null {
    const numbers = this.#addresses(target);
    if (numbers === null) return null;
    const large = target.desc.shape;
    const small = [...numbers.sample.shape, ...large.slice(numbers.sample.axes)];
    const filled = large.reduce((x, d, a) => (d === small[a] ? x : this.#repeated(g, x, d, small[a]!, a)), value);
    return writeMoved(g, whole(), filled, numbers);
  }

  /** Whether a write to all of the larger storage is one to a part of the smaller. */
  isPart(event: Assignment): boolean {
    const { desc, storage } = (this.#match.events.get(event) as Assignment).target;
    return desc.sizeInBytes !== storage.contentInBytes;
  }

  /** The value of a write to a part of a storage: what is there already in the padding. */
  partly(g: GraphBuilder, event: Assignment, value: Expr, old: () => Expr): Expr {
    const [large, small] = [event.target.desc.shape, (this.#match.events.get(event) as Assignment).target.desc.shape];
    if (large.every((d, i) => d === small[i])) return value;
    const before = old();
    return large.reduce(
      (x, d, a) => (d === small[a] ? x : g.elementWiseIf(this.#mask(g, d, small[a]!, before.sizes, a), x, before)),
      value,
    );
  }

  #addresses(x: Operand): AddressNumbers | null {
    const sample = this.#match.moved.get(x);
    if (sample === undefined) return null;
    return { sample, shape: x.desc.shape, number: (of) => this.#number((p) => of(p.moved.get(x)!), of(sample)) };
  }

  /** A number that follows sizes: one element. */
  #number(of: (match: TraceMatch) => number, value: number, dtype: "int32" | "float32" = "int32"): Expr {
    const event = sizeEvent(this.#sized.device, value, dtype);
    this.#sized.numbers.push({ event, of });
    return packedExpr(this.#input(event), dtype, [1]);
  }

  definition(event: SizedEvent): Definition<never> {
    const { definition } = event;
    const small = this.#match.events.get(event) as SizedEvent;
    const shapes = (e: SizedEvent): (readonly number[])[] => (e.kind === "operation" ? e.inputs.map((x) => x.desc.shape) : []);
    const [large, other] = [shapes(event), shapes(small)];
    const made = [madeOf(event), madeOf(small)].map((list) => list.map((m) => m.tensor.shape));
    const differs = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): boolean =>
      a.some((shape, i) => shape.some((d, k) => d !== b[i]![k]));
    if (!differs(large, other) && !differs(made[0]!, made[1]!) && !followsSizes(event, small)) return definition;
    if (!isPaddable(definition)) throw refusal(event);
    if (definition.traits.elementwise === true && definition.padded === undefined) return definition;
    const rule = definition.padded!;
    return {
      ...definition,
      traits: { ...definition.traits, handlesPadding: true },
      lower: (g, inputs, attrs, outputs) => {
        const padding = this.#padding(g, inputs, large, other, event);
        const found = rule(g, inputs, attrs, outputs, padding, (replaced) => definition.lower(g, replaced, attrs, outputs));
        if (found === null) throw refusal(event);
        return found;
      },
    };
  }

  #padding(
    g: GraphBuilder,
    inputs: readonly Expr[],
    large: readonly (readonly number[])[],
    small: readonly (readonly number[])[],
    event: SizedEvent,
  ): Padding {
    const isPadded = (i: number, a: number): boolean => large[i]?.[a] !== undefined && large[i][a] !== small[i]![a];
    const axes = (i: number): number[] => (large[i] ?? []).flatMap((_, a) => (isPadded(i, a) ? [a] : []));
    return {
      isPadded,
      isPaddedBeside: (i, ...but) => axes(i).some((a) => !but.includes(a)),
      filled: (i, value, x = inputs[i]!, some) =>
        axes(i).reduce((filled, a) => {
          if (some?.includes(a) === false) return filled;
          const mask = this.#mask(g, large[i]![a]!, small[i]![a]!, filled.sizes, a);
          return g.elementWiseIf(mask, filled, number(g, filled.dtype, value, filled.sizes));
        }, x),
      repeated: (i, axis, x = inputs[i]!) => (isPadded(i, axis) ? this.#repeated(g, x, large[i]![axis]!, small[i]![axis]!, axis) : x),
      length: (i, axis) => g.reinterpret(this.#size(large[i]![axis]!, small[i]![axis]!), { dtype: "int32" }),
      number: (of, dtype) => {
        const value = (p: TraceMatch): number => of((p.events.get(event) as SizedEvent).attrs as never);
        return this.#number(value, value(this.#match), dtype);
      },
      smaller: (this.#match.events.get(event) as SizedEvent).attrs,
      count: (i, along) => {
        const still = along.filter((a) => !isPadded(i, a)).reduce((n, a) => n * (large[i]![a] ?? 1), 1);
        return along
          .filter((a) => isPadded(i, a))
          .map((a) => g.cast(this.#size(large[i]![a]!, small[i]![a]!), { output: { dtype: "float32" } }))
          .reduce((n, size) => g.elementWiseMultiply(n, size), number(g, "float32", still, [1]));
      },
    };
  }

  #size(large: number, small: number): Expr {
    const at = this.#match.axes.findIndex((a) => a.large === large && a.small === small);
    return packedExpr(this.#input(this.#sized.sizes[at]!), "uint32", [1]);
  }

  /** x with the padding of an axis replaced by the last slice before it. */
  #repeated(g: GraphBuilder, x: Expr, large: number, small: number, axis: number): Expr {
    const length = g.reinterpret(this.#size(large, small), { dtype: "int32" });
    const last = g.elementWiseSubtract(length, int32(g, 1, [1]));
    return takeAlong(g, x, g.elementWiseMin(indices(g, large), g.expand(last, [large])), axis);
  }

  /** 1 before the padding of an axis, 0 in it, broadcast to `sizes`. */
  #mask(g: GraphBuilder, large: number, small: number, sizes: readonly number[], axis: number): Expr {
    const key = `${large}/${small}`;
    let row = this.#masks.get(key);
    if (row === undefined) {
      const positions = g.fillValueSequence({
        output: { sizes: [large], dtype: "uint32" },
        valueDataType: "UINT32",
        valueStart: { dtype: "uint32", value: 0 },
        valueDelta: { dtype: "uint32", value: 1 },
      });
      row = g.elementWiseLogicalLessThan(positions, g.expand(this.#size(large, small), [large]), { output: { dtype: "uint8" } });
      this.#masks.set(key, row);
    }
    return g.reinterpret(row, { sizes: [...sizes], strides: sizes.map((_, i) => (i === axis ? 1 : 0)) });
  }
}
