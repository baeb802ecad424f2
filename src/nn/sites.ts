/** Where tensors are held: fields and what arrays, plain objects, Maps and Sets there hold. @package */
import { Tensor } from "../core/tensor.ts";

/** A tensor that a module holds, and what puts another one there. */
export interface Site {
  readonly tensor: Tensor;
  put(next: Tensor): void;
}

/** The tensors of a value of a field. put: gives the field another value. around: what it is in. */
export function* sitesIn(value: unknown, put: (next: Tensor) => void, around: readonly object[]): Generator<Site> {
  if (value instanceof Tensor) yield { tensor: value, put };
  else if (typeof value !== "object" || value === null || around.includes(value)) return;
  else if (Array.isArray(value)) {
    for (const [i, inner] of value.entries()) yield* sitesIn(inner, (next) => (value[i] = next), [...around, value]);
  } else if (value instanceof Map) {
    for (const [key, inner] of value) yield* sitesIn(inner, (next) => value.set(key, next), [...around, value]);
  } else if (value instanceof Set) {
    for (const inner of Array.from(value)) {
      let now: unknown = inner;
      const swap = (next: Tensor): void => {
        // A set's order is that of its names.
        const all = [...value].map((v) => (v === now ? next : v));
        value.clear();
        for (const v of all) value.add(v);
        now = next;
      };
      yield* sitesIn(inner, swap, [...around, value]);
    }
  } else {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return;
    const fields = value as Record<string, unknown>;
    for (const key of Object.keys(value)) {
      if (!("value" in Object.getOwnPropertyDescriptor(value, key)!)) continue;
      yield* sitesIn(fields[key], (next) => (fields[key] = next), [...around, value]);
    }
  }
}
