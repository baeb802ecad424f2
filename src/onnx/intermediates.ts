/** The tensors that a run of a graph has made, and when they are freed. */
import { collect, track, type Disposable } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";
import { Pairs, type Value } from "./format/value.ts";

type List = readonly Value[];

const isList = (v: Value | undefined): v is List => Array.isArray(v);

/** The tensor of a value that is none of several: itself, or a map's values. */
const tensorOf = (v: Value | undefined): Tensor | null => (v instanceof Tensor ? v : v instanceof Pairs && v.values instanceof Tensor ? v.values : null); // prettier-ignore

function addTensors(v: Value | undefined, into: Set<unknown>): void {
  if (isList(v)) for (const inner of v) addTensors(inner, into);
  else {
    const t = tensorOf(v);
    if (t !== null) into.add(t);
  }
}

/** Whether a value is or has a tensor. A sequence of tensors is searched by Array's own search, from its end, since loops append. */
function hasTensor(v: Value | undefined, t: Tensor): boolean {
  if (!isList(v)) return tensorOf(v) === t;
  if (v.lastIndexOf(t) >= 0) return true;
  const first = v[0];
  return (isList(first) || first instanceof Pairs) && v.some((inner) => hasTensor(inner, t));
}

/** So many are searched for one by one. More of them are compared with the set of all that the values have. */
const FEW = 16;

/** Those of some tensors that values have. */
function heldOf(tensors: ReadonlySet<Disposable>, values: readonly (Value | undefined)[]): ReadonlySet<unknown> {
  const held = new Set<unknown>();
  if (tensors.size <= FEW) {
    for (const t of tensors) if (t instanceof Tensor && values.some((v) => hasTensor(v, t))) held.add(t);
  } else for (const v of values) addTensors(v, held);
  return held;
}

/**
 * The tensors that a run of a graph has made, by how many names they have: freed with the last one, if no sequence that has a name has them. A sequence is
 * counted as a whole: a loop that appends to one costs what it appends.
 */
export class Intermediates {
  readonly #names = new Map<Tensor, number>();
  /** Sequences by how many names they have. */
  readonly #lists = new Map<List, number>();
  /** Tensors without a name that sequences have. */
  readonly #inLists = new Set<Tensor>();

  /** What `run` makes and gives is the graph's; what else it makes is freed. */
  make(run: () => readonly Value[]): readonly Value[] {
    const { result, made } = collect(run, (values, items) => heldOf(items, values));
    for (const item of made)
      if (item instanceof Tensor) {
        this.#names.set(item, 0);
        this.#inLists.add(item);
      }
    return result;
  }

  /** One more name, or one less, for a value. */
  count(value: Value | undefined, by: 1 | -1): void {
    if (isList(value)) {
      const names = (this.#lists.get(value) ?? 0) + by;
      if (names > 0) this.#lists.set(value, names);
      else if (this.#lists.delete(value)) this.#free();
      return;
    }
    const t = tensorOf(value);
    const before = t === null ? undefined : this.#names.get(t);
    if (t === null || before === undefined) return;
    this.#names.set(t, before + by);
    if (before + by > 0) this.#inLists.delete(t);
    else {
      this.#inLists.add(t);
      this.#free([t]);
    }
  }

  /** Frees those of the tensors without a name that no sequence has. */
  #free(tensors: readonly Tensor[] = [...this.#inLists]): void {
    const held = this.#lists.size === 0 ? null : heldOf(new Set(tensors), [...this.#lists.keys()]);
    for (const t of tensors) {
      if (held?.has(t) === true) continue;
      this.#inLists.delete(t);
      this.#names.delete(t);
      t.dispose();
    }
  }

  /** Frees all but what these values have, which belongs to the scope around. */
  end(values: readonly (Value | undefined)[]): void {
    const kept = heldOf(new Set(this.#names.keys()), values);
    for (const t of this.#names.keys())
      if (kept.has(t)) track(t);
      else t.dispose();
    this.#names.clear();
    this.#lists.clear();
    this.#inLists.clear();
  }
}
