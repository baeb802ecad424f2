/** The graph of a path over padded inputs: masks by the true sizes, which each call gives as numbers. */
import type { Definition } from "../definition.ts";
import type { Device } from "../device.ts";
import type { DType } from "../dtype.ts";
import { TraceError } from "../errors.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { dataTypeName } from "../graph/describe.ts";
import { packedExpr, type Expr, type Value } from "../graph/graph.ts";
import type { Padding } from "../padding.ts";
import { madeOf, type Creation, type Operation, type Scalar } from "./log.ts";
import { isFitting, type Pairing } from "./pairing.ts";

/** A true size, as an event that gives a number in each call. */
export const sizeEvent = (device: Device, value: number): Scalar => ({
  kind: "scalar",
  device,
  dtype: "uint32",
  value,
  varies: true,
  holder: null,
  output: null as never,
});

const number = (g: GraphBuilder, dtype: DType, value: number, sizes: readonly number[]): Expr =>
  g.expand(g.fillValueConstant({ output: { sizes: [1], dtype }, valueDataType: dataTypeName(dtype), value: { dtype, value } }), sizes);

type SizedEvent = Operation | Creation;

/** Gives operations of a path that fits several sizes their padded form. */
export class PaddedLowering {
  readonly #pairing: Pairing;
  readonly #input: (event: Scalar) => Value;
  readonly #sizes: readonly Scalar[];
  readonly #masks = new Map<string, Expr>();
  readonly #name: string;

  /** sizes: of each of the pairing's axes; input: the graph's input for such a number. */
  constructor(name: string, pairing: Pairing, sizes: readonly Scalar[], input: (event: Scalar) => Value) {
    this.#name = name;
    this.#pairing = pairing;
    this.#sizes = sizes;
    this.#input = input;
  }

  definition(event: SizedEvent): Definition<never> {
    const { definition } = event;
    const small = this.#pairing.events.get(event) as SizedEvent;
    const shapes = (e: SizedEvent): (readonly number[])[] => (e.kind === "operation" ? e.inputs.map((x) => x.desc.shape) : []);
    const [large, other] = [shapes(event), shapes(small)];
    const made = [madeOf(event), madeOf(small)].map((list) => list.map((m) => m.tensor.shape));
    const differs = (a: readonly (readonly number[])[], b: readonly (readonly number[])[]): boolean =>
      a.some((shape, i) => shape.some((d, k) => d !== b[i]![k]));
    if (!differs(large, other) && !differs(made[0]!, made[1]!)) return definition;
    if (!isFitting(definition)) throw this.#refusal(event, small, "");
    if (definition.traits.elementwise === true && definition.padded === undefined) return definition;
    const rule = definition.padded!;
    return {
      ...definition,
      lower: (g, inputs, attrs, outputs) => {
        const padding = this.#padding(g, inputs, large, other);
        const found = rule(g, inputs, attrs, outputs, padding, (given) => definition.lower(g, given, attrs, outputs));
        if (found === null) throw this.#refusal(event, small, " along that axis");
        return found;
      },
    };
  }

  #refusal(event: SizedEvent, small: SizedEvent, along: string): TraceError {
    const shape = (e: SizedEvent): string =>
      e.kind === "operation" ? e.inputs.map((x) => `[${x.desc.shape.join(", ")}]`).join(" and ") : `[${e.output.tensor.shape.join(", ")}]`;
    return new TraceError({
      operation: this.#name,
      argument: event.origin,
      expected: `an operation that can leave padding out${along}`,
      received: `${shape(small)} that would be ${shape(event)} with padding`,
      hint: "Leave that axis out of `dynamic`, or make this call outside of the compiled function.",
    });
  }

  #padding(
    g: GraphBuilder,
    inputs: readonly Expr[],
    large: readonly (readonly number[])[],
    small: readonly (readonly number[])[],
  ): Padding {
    const isPadded = (i: number, a: number): boolean => large[i]?.[a] !== undefined && large[i][a] !== small[i]![a];
    const axes = (i: number): number[] => (large[i] ?? []).flatMap((_, a) => (isPadded(i, a) ? [a] : []));
    return {
      isPadded,
      isPaddedBeside: (i, ...but) => axes(i).some((a) => !but.includes(a)),
      filled: (i, value, x = inputs[i]!) =>
        axes(i).reduce((filled, a) => {
          const mask = this.#mask(g, large[i]![a]!, small[i]![a]!, filled.sizes, a);
          return g.elementWiseIf(mask, filled, number(g, filled.dtype, value, filled.sizes));
        }, x),
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
    const at = this.#pairing.axes.findIndex((a) => a.large === large && a.small === small);
    return packedExpr(this.#input(this.#sizes[at]!), "uint32", [1]);
  }

  /** 1 before the padding of an axis, 0 in it, seen with the sizes given. */
  #mask(g: GraphBuilder, large: number, small: number, sizes: readonly number[], axis: number): Expr {
    const key = `${large}/${small}`;
    let line = this.#masks.get(key);
    if (line === undefined) {
      const places = g.fillValueSequence({
        output: { sizes: [large], dtype: "uint32" },
        valueDataType: "UINT32",
        valueStart: { dtype: "uint32", value: 0 },
        valueDelta: { dtype: "uint32", value: 1 },
      });
      line = g.elementWiseLogicalLessThan(places, g.expand(this.#size(large, small), [large]), { output: { dtype: "uint8" } });
      this.#masks.set(key, line);
    }
    return g.reinterpret(line, { sizes: [...sizes], strides: sizes.map((_, i) => (i === axis ? 1 : 0)) });
  }
}
