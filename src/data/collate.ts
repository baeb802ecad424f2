/** Collate: from samples to a batch. */
import { fromPairs, resolved } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import type { TypedArray } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { cat, stack } from "../ops/shape/join.ts";
import { full, tensor } from "../ops/creation/creation.ts";
import { keep, scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";

/** Samples of which batches can be made: numbers, real and complex tensors, and arrays and plain objects of them. */
export type Sample =
  number | bigint | boolean | Tensor | ComplexTensor | TypedArray | readonly Sample[] | { readonly [key: string]: Sample };
/** The same structure, a tensor with a new first axis in place of each number and tensor. */
export type Batch<S> = S extends number | bigint | boolean | Tensor | TypedArray
  ? Tensor
  : S extends ComplexTensor
    ? ComplexTensor
    : S extends readonly unknown[]
      ? { -readonly [K in keyof S]: Batch<S[K]> }
      : S extends object
        ? { -readonly [K in keyof S]: Batch<S[K]> }
        : never;

/**
 * Stacks samples: tensors along a new first axis; integers as int32, other numbers as float32, bigints as int64; typed arrays as
 * rows of their dtype; arrays and objects member by member. Throws unless all samples are alike. Reference: torch.utils.data.default_collate.
 */
export function collate<S>(samples: readonly S[]): Batch<S> {
  return scope(() => stacked(samples as readonly unknown[])) as Batch<S>;
}

/** Options of padCollate. */
export interface PadOptions {
  /** What the shorter ones are filled with. Default: 0. */
  readonly value?: number | undefined;
  /** Which end of the shorter ones is filled. Default: "right". */
  readonly side?: "left" | "right" | undefined;
  /** Rounds the common length up to a multiple of this, so that fewer shapes occur. Default: 1. */
  readonly multipleOf?: number | undefined;
}

/**
 * A collateFn for samples of different lengths: as collate(), but tensors and typed arrays whose first axes differ are padded to the longest of the
 * batch. Throws ValueError for a multipleOf below 1, ShapeError where other axes differ. Reference: torch.nn.utils.rnn.pad_sequence.
 */
export function padCollate<S>({ value = 0, side = "right", multipleOf = 1 }: PadOptions = {}): (samples: readonly S[]) => Batch<S> {
  if (!Number.isInteger(multipleOf) || multipleOf < 1)
    throw new ValueError("padCollate", "multipleOf", "an integer of at least 1", multipleOf);
  if (side !== "left" && side !== "right") throw new ValueError("padCollate", "side", 'one of "left", "right"', side);
  const padding = { value, side, multipleOf };
  return (samples) => scope(() => stacked(samples as readonly unknown[], padding)) as Batch<S>;
}

/** @internal Disposes of the tensors in a batch or a sample. */
export function disposeAll(value: unknown): void {
  if (value instanceof Tensor || value instanceof ComplexTensor) keep(value).dispose();
  else if (Array.isArray(value)) value.forEach(disposeAll);
  else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    Object.values(value).forEach(disposeAll);
}

type Padding = Required<{ [K in keyof PadOptions]: NonNullable<PadOptions[K]> }>;

/** The length that all samples get. */
function commonLength(lengths: readonly number[], { multipleOf }: Padding): number {
  return Math.ceil(Math.max(...lengths) / multipleOf) * multipleOf;
}

/** Tensors with first axes of one length. */
function padTensors(tensors: readonly Tensor[], padding: Padding | undefined): readonly Tensor[] {
  if (padding === undefined || tensors.some((t) => t.rank === 0)) return tensors;
  const length = commonLength(
    tensors.map((t) => t.shape[0]!),
    padding,
  );
  return tensors.map((t) => {
    const more = length - t.shape[0]!;
    if (more === 0) return t;
    const filler = full([more, ...t.shape.slice(1)], padding.value, { dtype: t.dtype, device: t.device });
    return cat(padding.side === "left" ? [filler, t] : [t, filler], 0);
  });
}

function stacked(samples: readonly unknown[], padding?: Padding): unknown {
  const first = samples[0];
  if (first instanceof Tensor) {
    const tensors = samples.map((s) => requireKind(s, s instanceof Tensor, "a tensor") as Tensor);
    return stack(padTensors(tensors, padding));
  }
  if (first instanceof ComplexTensor) {
    const all = samples.map((s) => requireKind(s, s instanceof ComplexTensor, "a complex tensor") as ComplexTensor);
    return fromPairs(stack(all.map(resolved)), false);
  }
  if (typeof first === "number" || typeof first === "bigint" || typeof first === "boolean") {
    const list = samples.map((s) => requireKind(s, typeof s === typeof first, `a ${typeof first}`) as number | bigint | boolean);
    return tensor(list, typeof first === "number" && list.every((v) => Number.isInteger(v)) ? { dtype: "int32" } : {});
  }
  if (ArrayBuffer.isView(first) && !(first instanceof DataView)) return rows(samples as readonly TypedArray[], padding);
  if (Array.isArray(first)) {
    const lists = samples.map((s) => requireKind(s, Array.isArray(s), "an array") as readonly unknown[]);
    for (const l of lists)
      if (l.length !== first.length) throw new ShapeError("collate", "samples", `of ${first.length} parts each`, l.length);
    return first.map((_, i) =>
      stacked(
        lists.map((l) => l[i]),
        padding,
      ),
    );
  }
  if (typeof first === "object" && first !== null) {
    const objects = samples.map((s) => requireKind(s, typeof s === "object" && s !== null, "an object") as Record<string, unknown>);
    return Object.fromEntries(
      Object.keys(first).map((key) => [
        key,
        stacked(
          objects.map((o) => requireKind(o[key], key in o, `an object with ${key}`)),
          padding,
        ),
      ]),
    );
  }
  throw new DTypeError("collate", "samples", "numbers, tensors, or arrays and objects of them", first === null ? "null" : typeof first);
}

/** Typed arrays as the rows of a tensor of their dtype. */
function rows(samples: readonly TypedArray[], padding?: Padding): Tensor {
  const { constructor, length: first } = samples[0]!;
  for (const s of samples) {
    requireKind(s, s?.constructor === constructor, `a ${constructor.name}`);
    if (padding === undefined && s.length !== first) throw new ShapeError("collate", "samples", `of ${first} elements each`, s.length);
  }
  const length =
    padding === undefined
      ? first
      : commonLength(
          samples.map((s) => s.length),
          padding,
        );
  const all = new (constructor as new (length: number) => TypedArray)(samples.length * length);
  if (padding !== undefined && padding.value !== 0)
    all.fill((all instanceof BigInt64Array || all instanceof BigUint64Array ? BigInt(padding.value) : padding.value) as never);
  samples.forEach((s, i) => {
    all.set(s as never, i * length + (padding?.side === "left" ? length - s.length : 0));
  });
  return tensor(all, { shape: [samples.length, length] });
}

function requireKind(value: unknown, holds: boolean, expected: string): unknown {
  if (!holds) throw new DTypeError("collate", "samples", `all alike (${expected})`, value === null ? "null" : typeof value);
  return value;
}
