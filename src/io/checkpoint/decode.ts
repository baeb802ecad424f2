/** A checkpoint's JSON as values. */
import { ComplexTensor } from "../../core/complex-tensor.ts";
import { FormatError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import type { Tensor } from "../../core/tensor.ts";
import { MAX_DEPTH, isRecord, type Json } from "./format.ts";

/** What tensors and arrays of a state are made of. */
export interface Resolver {
  tensor(id: number): Tensor;
  /** The elements of a tensor on the host, as numbers. */
  numbers(id: number): readonly number[];
  array(id: number): ArrayBufferView | ArrayBuffer;
}

/** What the one key of a special value says. */
export interface Special {
  readonly kind: string;
  readonly value: Json;
}

/** The kind and the value of an object with one key that begins with $; null for plain values. */
export function specialOf(json: Json): Special | null {
  if (!isRecord(json)) return null;
  const [first, ...others] = Object.keys(json);
  return first !== undefined && others.length === 0 && first.startsWith("$") ? { kind: first.slice(1), value: json[first] as Json } : null;
}

/** The state of an object that had one, as JSON; null for other values. */
export function stateIn(json: Json): { readonly state: Json } | null {
  const special = specialOf(json);
  if (special?.kind !== "state" || !isRecord(special.value) || special.value.state === undefined) return null;
  return { state: special.value.state as Json };
}

/** The entries of an object; null for what is none. */
export function entriesIn(json: Json): readonly (readonly [string, Json])[] | null {
  const special = specialOf(json);
  if (special?.kind === "object" && isPairs(special.value) && special.value.every(([key]) => typeof key === "string"))
    return special.value as readonly (readonly [string, Json])[];
  return special === null && isRecord(json) ? (Object.entries(json) as [string, Json][]) : null;
}

const isPairs = (json: Json): json is readonly (readonly [Json, Json])[] =>
  Array.isArray(json) && json.every((pair) => Array.isArray(pair) && pair.length === 2);

const numbers = new Map([
  ["NaN", NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
  ["-0", -0],
]);
const isIndex = (json: Json | undefined): json is number => Number.isSafeInteger(json) && (json as number) >= 0;

/** Makes the values of a state. */
export class Decoder {
  readonly #source: string;
  readonly #from: Resolver;

  constructor(source: string, from: Resolver) {
    this.#source = source;
    this.#from = from;
  }

  value(json: Json, depth = 0): unknown {
    if (depth > 2 * MAX_DEPTH) throw this.#refuse(`nested at most ${MAX_DEPTH} deep`, "more");
    if (typeof json !== "object" || json === null) return json;
    if (Array.isArray(json)) return json.map((item: Json) => this.value(item, depth + 1));
    const special = specialOf(json);
    if (special !== null) return this.#special(special, depth);
    const made: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(json)) define(made, key, this.value(item as Json, depth + 1));
    return made;
  }

  #refuse(expected: string, received: string): FormatError {
    return new FormatError("load", this.#source, expected, received.slice(0, 100));
  }

  #special({ kind, value }: Special, depth: number): unknown {
    const bad = (): FormatError =>
      this.#refuse("with values that this version of dxtensor supports", `{"$${kind}": ${JSON.stringify(value)}`);
    switch (kind) {
      case "tensor":
        if (isIndex(value)) return this.#from.tensor(value);
        throw bad();
      case "complex":
        if (Array.isArray(value) && isIndex(value[0]) && typeof value[1] === "boolean") return this.#complex(value[0], value[1]);
        throw bad();
      case "numbers":
        if (isIndex(value)) return this.#from.numbers(value);
        throw bad();
      case "array":
        if (isIndex(value)) return this.#from.array(value);
        throw bad();
      case "number":
        if (typeof value === "string" && numbers.has(value)) return numbers.get(value);
        throw bad();
      case "bigint":
        // By hexadecimal digits, whose number is not read in quadratic time.
        if (typeof value === "string" && /^-?0x[0-9a-f]{1,1000000}$/.test(value))
          return value.startsWith("-") ? -BigInt(value.slice(1)) : BigInt(value);
        throw bad();
      case "undefined":
        return undefined;
      case "date":
        if (typeof value === "number" || value === null) return new Date(value ?? NaN);
        throw bad();
      case "map":
        if (isPairs(value)) return new Map(value.map(([k, item]) => [this.value(k, depth + 1), this.value(item, depth + 1)]));
        throw bad();
      case "set":
        if (Array.isArray(value)) return new Set(value.map((item: Json) => this.value(item, depth + 1)));
        throw bad();
      case "state": {
        const state = stateIn({ $state: value });
        if (state !== null) return this.value(state.state, depth + 1);
        throw bad();
      }
      case "object": {
        const entries = entriesIn({ $object: value });
        if (entries === null) throw bad();
        const made: Record<string, unknown> = {};
        for (const [key, item] of entries) define(made, key, this.value(item, depth + 1));
        return made;
      }
      default:
        throw bad();
    }
  }

  #complex(id: number, isConj: boolean): ComplexTensor {
    const pairs = this.#from.tensor(id);
    if (pairs.shape.at(-1) !== 2 || !["float16", "float32"].includes(pairs.dtype))
      throw this.#refuse("with pairs of real numbers for a complex tensor", pairs.describe());
    return new ComplexTensor(pairs, isConj);
  }
}
