/** Collate: from samples to a batch. */
import { fromPairs, resolved } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import type { TypedArray } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { cat, stack } from "../ops/shape/join.ts";
import { full } from "../ops/creation/creation.ts";
import { keep, scope } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { collateBy, commonLength, hostLeaf, requireKind, type HostArray, type Padding, type Structure } from "./worker/host-collate.ts";
import { arrayTensor, withCollateErrors } from "./worker/tensors.ts";

/** Samples of which batches can be made: numbers, real and complex tensors, arrays with shapes, and arrays and plain objects of them. */
export type Sample =
  number | bigint | boolean | Tensor | ComplexTensor | TypedArray | HostArray | readonly Sample[] | { readonly [key: string]: Sample };
/** The same structure, a tensor with a new first axis in place of each number and tensor. */
export type Batch<S> = S extends number | bigint | boolean | Tensor | TypedArray | HostArray
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
 * rows of their dtype; { data, shape } (HostArray) as a tensor of that shape; arrays and objects member by member. Throws unless all samples are alike. Reference: torch.utils.data.default_collate.
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
  const pad = (samples: readonly S[]): Batch<S> => scope(() => stacked(samples as readonly unknown[], padding)) as Batch<S>;
  paddings.set(pad, padding);
  return pad;
}

/** What padCollate made, with its padding. */
const paddings = new WeakMap<object, Padding>();

/** @internal The padding of a function that padCollate made; undefined for any other. */
export const paddingOf = (collateFn: object): Padding | undefined => paddings.get(collateFn);

/** @internal Disposes of the tensors in a batch or a sample. */
export function disposeAll(value: unknown): void {
  if (value instanceof Tensor || value instanceof ComplexTensor) keep(value).dispose();
  else if (Array.isArray(value)) value.forEach(disposeAll);
  else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    Object.values(value).forEach(disposeAll);
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

const structure = (padding: Padding | undefined): Structure<unknown> => ({
  leaf(samples) {
    const first = samples[0];
    if (first instanceof Tensor) {
      const tensors = samples.map((s) => requireKind(s, s instanceof Tensor, "a tensor") as Tensor);
      return stack(padTensors(tensors, padding));
    }
    if (first instanceof ComplexTensor) {
      const all = samples.map((s) => requireKind(s, s instanceof ComplexTensor, "a complex tensor") as ComplexTensor);
      return fromPairs(stack(all.map(resolved)), false);
    }
    const node = hostLeaf(samples, padding);
    return node === null ? null : arrayTensor(node);
  },
  list: (items) => items,
  object: (keys, items) => Object.fromEntries(keys.map((key, i) => [key, items[i]])),
});

const stacked = (samples: readonly unknown[], padding?: Padding): unknown =>
  withCollateErrors(() => collateBy(samples, structure(padding)));
