/** A call of PyTorch's with its arguments by name, as the table's functions read them. */
import * as dx from "../../src/index.ts";
import {
  Missing,
  decode,
  elementsOf,
  isNumbers,
  tensorOf,
  withComplex,
  type Numbers,
  type Case,
  type Golden,
  type GoldenTensor,
  type Path,
  type Value,
} from "./cases.ts";

/** Tensors by path ("[\"input\"]", "[\"args\",0]", …). */
export type Operands = ReadonlyMap<string, Numbers>;

/** The tensors of a case, each made once. */
export function operandsOf(c: Case, make: (v: GoldenTensor) => Numbers = withComplex(tensorOf)): Operands {
  const made = new Map<string, Numbers>();
  const note = (v: GoldenTensor, path: Path): Numbers => {
    const t = make(v);
    made.set(JSON.stringify(path), t);
    return t;
  };
  decode(c.input, ["input"], note);
  c.args.forEach((v, i) => void decode(v, ["args", i], note));
  for (const [name, v] of Object.entries(c.kwargs)) decode(v, ["kwargs", name], note);
  return made;
}

export class Call {
  readonly case: Case;
  readonly tensors: Operands;
  readonly #named = new Map<string, Value>();
  /** input, then args. */
  readonly positional: readonly Value[];

  /** names: PyTorch's parameter names, for cases (errors) that do not bring them. */
  constructor(c: Case, tensors: Operands, names: readonly string[] = []) {
    this.case = c;
    this.tensors = tensors;
    const value = (v: Golden, path: Path): Value => decode(v, path, (_, at) => tensors.get(JSON.stringify(at))!);
    this.positional = [value(c.input, ["input"]), ...c.args.map((v, i) => value(v, ["args", i]))];
    (c.names ?? names).forEach((name, i) => {
      if (i < this.positional.length) this.#named.set(name, this.positional[i]!);
    });
    for (const [name, v] of Object.entries(c.kwargs)) this.#named.set(name, value(v, ["kwargs", name]));
  }

  has(...names: string[]): boolean {
    return names.some((n) => this.#named.has(n) && this.#named.get(n) !== null);
  }

  /** The value of the first of these names that is given. */
  get(...names: string[]): Value | undefined {
    for (const n of names) if (this.#named.has(n)) return this.#named.get(n)!;
    return undefined;
  }

  /** All arguments with PyTorch's names, in the order in which they were given; positional ones without a name are left out. */
  byName(): [string, Value][] {
    return [...this.#named];
  }

  /** The first operand. */
  get x(): dx.Tensor {
    return this.tensor(this.positional[0]);
  }

  /** The first operand, real or complex. */
  get z(): Numbers {
    const v = this.positional[0];
    return isNumbers(v) ? v : this.tensor(v);
  }

  /** What TypeScript's types refuse is refused here. */
  tensor(v: Value | undefined): dx.Tensor {
    if (v instanceof dx.Tensor) return v;
    throw new dx.DTypeError(this.case.op, "operand", "a tensor", String(v));
  }

  /** A tensor by the name of its parameter. */
  named(...names: string[]): dx.Tensor {
    return this.tensor(this.get(...names));
  }

  /** The same, null where it is not given. */
  optional(...names: string[]): dx.Tensor | null {
    return this.has(...names) ? this.named(...names) : null;
  }

  /** The operands of a function that takes several: a list as the first argument, or one by one. */
  several(): dx.Tensor[] {
    return ((Array.isArray(this.positional[0]) ? this.positional[0] : this.positional) as Value[]).map((v) => this.tensor(v));
  }

  /** A tensor or a number. */
  operand(...names: string[]): dx.Tensor | number | bigint | boolean {
    const v = this.get(...names);
    if (v instanceof dx.Tensor || typeof v === "number" || typeof v === "bigint" || typeof v === "boolean") return v;
    throw new dx.DTypeError(this.case.op, names[0]!, "a tensor or a number", String(v));
  }

  number(name: string, otherwise: number): number {
    const v = this.get(name);
    if (v === undefined || v === null) return otherwise;
    // PyTorch reads a number out of a tensor of one element; here the caller says item().
    if (v instanceof dx.Tensor) return this.#item(v, name);
    return v as number;
  }

  #item(t: dx.Tensor, name: string): number {
    if (t.size !== 1) throw new dx.DTypeError(this.case.op, name, "a number", t.describe());
    return [this.recorded(t)].flat()[0] as number;
  }

  /** The numbers of an operand that PyTorch reads where the caller says toArraySync() here; of a scalar the number. */
  recorded(t: dx.Tensor): number | readonly number[] {
    const [path] = [...this.tensors].find(([, found]) => found === t)!;
    const v = (JSON.parse(path) as Path).reduce<unknown>(
      (at, key) => (at as Record<string | number, unknown>)[key],
      this.case,
    ) as GoldenTensor;
    const all = elementsOf(v).map(Number);
    return t.rank === 0 ? all[0]! : all;
  }

  bool(name: string): boolean {
    return this.get(name) === true;
  }

  text(name: string, otherwise: string): string {
    const v = this.get(name);
    return v === undefined || v === null ? otherwise : (v as string);
  }

  /** The value as it is, undefined where it is not given or null. */
  defined<T>(...names: string[]): T | undefined {
    const v = this.get(...names);
    return v === undefined || v === null ? undefined : (v as T);
  }

  /** `dim`: one axis, several, or none. */
  axes(...names: string[]): number | readonly number[] | null {
    // A lone second positional argument of a reduction is its axis.
    const v =
      this.get(...(names.length > 0 ? names : ["dim", "axis"])) ??
      (names.length === 0 && this.case.names === undefined ? this.positional[1] : undefined);
    return v === undefined || v === null ? null : (v as number | readonly number[]);
  }

  list(...names: string[]): readonly number[] {
    const v = this.get(...names);
    return (Array.isArray(v) ? v : [v]) as readonly number[];
  }

  dtype(): dx.DType | undefined {
    const v = this.get("dtype");
    return typeof v === "object" && v !== null && !isNumbers(v) && "dtype" in v ? (v.dtype as dx.DType) : undefined;
  }
}

/** Which of PyTorch's index expressions are a list of one index for each axis: tuples, and lists that hold more than numbers. */
function parts(key: Golden): Golden[] | null {
  if (Array.isArray(key)) return key.every((i) => typeof i === "number" || typeof i === "boolean") ? null : key;
  return typeof key === "object" && key !== null && "k" in key && key.k === "tuple" ? key.v : null;
}

/** PyTorch's index expression as our list of indices. `key` is its recorded form, which tells tuples from lists. */
export function indexOf(key: Golden, path: Path, tensors: Operands): dx.Index[] {
  const one = (i: Golden, at: Path): dx.Index => {
    if (i === null || typeof i === "number") return i;
    if (typeof i === "boolean") throw new Missing("true and false as an index");
    if (Array.isArray(i)) {
      if (i.every((n) => typeof n === "number")) return i;
      throw new Missing("nested lists as an index");
    }
    const tensor = tensors.get(JSON.stringify(at));
    if (tensor instanceof dx.Tensor) return tensor;
    if (typeof i === "object" && "k" in i && i.k === "ellipsis") return "...";
    if (typeof i === "object" && "k" in i && i.k === "slice") {
      const [start, end, step] = i.v as (number | null)[];
      return dx.s(start ?? null, end ?? null, step ?? 1);
    }
    throw new Missing("an index of this kind");
  };
  const list = parts(key);
  return list === null ? [one(key, path)] : list.map((i, n) => one(i, [...path, n]));
}
