/** A call of PyTorch's with its arguments by name, as the table's functions read them. */
import * as dx from "../../src/index.ts";
import { Excluded, decode, type Case, type Golden, type Path, type Value } from "./cases.ts";

export class Call {
  readonly case: Case;
  /** Tensors by path ("[\"input\"]", "[\"args\",0]", …). */
  readonly tensors = new Map<string, dx.Tensor>();
  readonly #named = new Map<string, Value>();
  /** input, then args. */
  readonly positional: readonly Value[];

  /** names: PyTorch's parameter names, for cases (errors) that do not bring them. */
  constructor(c: Case, names: readonly string[] = []) {
    this.case = c;
    this.positional = [decode(c.input, ["input"], this.tensors), ...c.args.map((v, i) => decode(v, ["args", i], this.tensors))];
    (c.names ?? names).forEach((name, i) => { if (i < this.positional.length) this.#named.set(name, this.positional[i]!); });
    for (const [name, v] of Object.entries(c.kwargs)) this.#named.set(name, decode(v, ["kwargs", name], this.tensors));
  }

  has(...names: string[]): boolean {
    return names.some((n) => this.#named.has(n) && this.#named.get(n) !== null);
  }

  /** The value of the first of these names that is given. */
  get(...names: string[]): Value | undefined {
    for (const n of names) if (this.#named.has(n)) return this.#named.get(n)!;
    return undefined;
  }

  /** The first operand. */
  get x(): dx.Tensor {
    return this.tensor(this.positional[0]);
  }

  tensor(v: Value | undefined): dx.Tensor {
    if (v instanceof dx.Tensor) return v;
    throw new Excluded("the operand is no tensor, and here it must be one");
  }

  /** A tensor or a number. */
  operand(...names: string[]): dx.Tensor | number | bigint | boolean {
    const v = this.get(...names);
    if (v instanceof dx.Tensor || typeof v === "number" || typeof v === "bigint" || typeof v === "boolean") return v;
    throw new dx.DTypeError("golden", names[0]!, "a tensor or a number", String(v));
  }

  number(name: string, otherwise: number): number {
    const v = this.get(name);
    if (v === undefined || v === null) return otherwise;
    if (v instanceof dx.Tensor) throw new Excluded("a tensor where a JavaScript number is taken");
    return v as number;
  }

  bool(name: string): boolean {
    return this.get(name) === true;
  }

  text(name: string, otherwise: string): string {
    const v = this.get(name);
    return v === undefined || v === null ? otherwise : (v as string);
  }

  /** `dim`: one axis, several, or none. */
  axes(...names: string[]): number | readonly number[] | null {
    // A lone second positional argument of a reduction is its axis.
    const v = this.get(...(names.length > 0 ? names : ["dim", "axis"])) ?? (names.length === 0 && this.case.names === undefined ? this.positional[1] : undefined);
    return v === undefined || v === null ? null : (v as number | readonly number[]);
  }

  list(...names: string[]): readonly number[] {
    const v = this.get(...names);
    return (Array.isArray(v) ? v : [v]) as readonly number[];
  }

  dtype(): dx.DType | undefined {
    const v = this.get("dtype");
    return typeof v === "object" && v !== null && "dtype" in v ? v.dtype : undefined;
  }
}

/** PyTorch's index expression as our list of indices. `key` is its recorded form, which tells tuples from lists. */
export function indexOf(key: Golden, path: Path, tensors: ReadonlyMap<string, dx.Tensor>): dx.Index[] {
  const one = (i: Golden, at: Path): dx.Index => {
    if (i === null || typeof i === "number") return i;
    if (Array.isArray(i) && i.every((n) => typeof n === "number")) return i;
    const tensor = tensors.get(JSON.stringify(at));
    if (tensor !== undefined) return tensor;
    if (typeof i === "object" && "k" in i && i.k === "ellipsis") return "...";
    if (typeof i === "object" && "k" in i && i.k === "slice") {
      const [start, end, step] = i.v as (number | null)[];
      return dx.s(start ?? null, end ?? null, step ?? 1);
    }
    throw new Excluded("an index of this kind (nested lists, true and false) is not taken");
  };
  const list = Array.isArray(key) ? (key.every((i) => typeof i === "number") ? null : key) : typeof key === "object" && key !== null && "k" in key && key.k === "tuple" ? key.v : null;
  const result = list === null ? [one(key, path)] : list.map((i, n) => one(i, [...path, n]));
  if (result.some((i) => i instanceof dx.Tensor && (i.dtype === "bool" || i.dtype === "uint8"))) throw new Excluded("masks as indices: the result's shape would depend on data");
  if (result.filter((i) => i instanceof dx.Tensor || Array.isArray(i)).length > 1) throw new Excluded("indices for more than one axis: gather() and takeAlongAxis() are for that");
  return result;
}
