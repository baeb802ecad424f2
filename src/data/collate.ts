/** Collate: from samples to a batch. */
import { fromPairs, resolved } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import type { TypedArray } from "../core/dtype.ts";
import { DTypeError, ShapeError } from "../core/errors.ts";
import { stack } from "../ops/shape/join.ts";
import { tensor } from "../ops/creation/creation.ts";
import { scope } from "../core/scope.ts";
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

function stacked(samples: readonly unknown[]): unknown {
  const first = samples[0];
  if (first instanceof Tensor) return stack(samples.map((s) => requireKind(s, s instanceof Tensor, "a tensor") as Tensor));
  if (first instanceof ComplexTensor) {
    const all = samples.map((s) => requireKind(s, s instanceof ComplexTensor, "a complex tensor") as ComplexTensor);
    return fromPairs(stack(all.map(resolved)), false);
  }
  if (typeof first === "number" || typeof first === "bigint" || typeof first === "boolean") {
    const list = samples.map((s) => requireKind(s, typeof s === typeof first, `a ${typeof first}`) as number | bigint | boolean);
    return tensor(list, typeof first === "number" && list.every((v) => Number.isInteger(v)) ? { dtype: "int32" } : {});
  }
  if (ArrayBuffer.isView(first) && !(first instanceof DataView)) return rows(samples as readonly TypedArray[]);
  if (Array.isArray(first)) {
    const lists = samples.map((s) => requireKind(s, Array.isArray(s), "an array") as readonly unknown[]);
    for (const l of lists)
      if (l.length !== first.length) throw new ShapeError("collate", "samples", `of ${first.length} parts each`, l.length);
    return first.map((_, i) => stacked(lists.map((l) => l[i])));
  }
  if (typeof first === "object" && first !== null) {
    const objects = samples.map((s) => requireKind(s, typeof s === "object" && s !== null, "an object") as Record<string, unknown>);
    return Object.fromEntries(
      Object.keys(first).map((key) => [key, stacked(objects.map((o) => requireKind(o[key], key in o, `an object with ${key}`)))]),
    );
  }
  throw new DTypeError("collate", "samples", "numbers, tensors, or arrays and objects of them", first === null ? "null" : typeof first);
}

/** Typed arrays as the rows of a tensor of their dtype. */
function rows(samples: readonly TypedArray[]): Tensor {
  const first = samples[0]!;
  const { length, constructor } = first;
  for (const s of samples) {
    requireKind(s, s?.constructor === constructor, `a ${constructor.name}`);
    if (s.length !== length) throw new ShapeError("collate", "samples", `of ${length} elements each`, s.length);
  }
  const all = new (constructor as new (length: number) => TypedArray)(samples.length * length);
  samples.forEach((s, i) => {
    all.set(s as never, i * length);
  });
  return tensor(all, { shape: [samples.length, length] });
}

function requireKind(value: unknown, holds: boolean, expected: string): unknown {
  if (!holds) throw new DTypeError("collate", "samples", `all alike (${expected})`, value === null ? "null" : typeof value);
  return value;
}
