/** Which axes of a compiled function's arguments may have any size, and the sizes that its programs are made for. */
import { TapeNode } from "../autograd/tape.ts";
import { DTYPES } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { PARTS, isComposite } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";
import { layoutOf } from "./geometry.ts";

/** Axes of a tensor; for an object by its fields, for a list by index. Null: none. */
export type DynamicAxes = null | readonly number[] | readonly DynamicAxes[] | { readonly [field: string]: DynamicAxes };

/** Sizes that programs are made for: 2, 4, 8, … ("doubling"), with those between, 3, 6, 12, … ("halves"), or those of a list. */
export type Buckets = "doubling" | "halves" | readonly number[];

/** The least size of a bucket that a size fits in; null where there is none. */
export function bucketOf(size: number, buckets: Buckets): number | null {
  if (typeof buckets === "object") return buckets.reduce<number | null>((b, n) => (n >= size && (b === null || n < b) ? n : b), null);
  const power = 2 ** Math.ceil(Math.log2(size));
  return buckets === "halves" && power >= 4 && 0.75 * power >= size ? 0.75 * power : power;
}

const isAxes = (d: DynamicAxes): d is readonly number[] => Array.isArray(d) && d.every((a) => typeof a === "number");

function requireAxes(dynamic: unknown): void {
  if (dynamic === null) return;
  if (Array.isArray(dynamic) && dynamic.some((a) => typeof a === "number")) {
    for (const a of dynamic) if (!Number.isInteger(a)) throw new ValueError("compile", "dynamic", "integers, the axes", dynamic);
  } else if (Array.isArray(dynamic)) dynamic.forEach(requireAxes);
  else if (typeof dynamic === "object") Object.values(dynamic as object).forEach(requireAxes);
  else throw new ValueError("compile", "dynamic", "axes, or axes by argument", dynamic);
}

/** The sizes of a call's tensors that are padded, and others that show which axes depend on them. */
export interface Sizes {
  readonly large: ReadonlyMap<Tensor, readonly number[]>;
  /** Null: the call's own show it. */
  readonly base: ReadonlyMap<Tensor, readonly number[]> | null;
}

export class Dynamic {
  readonly #axes: DynamicAxes;
  readonly #buckets: Buckets;

  constructor(axes: DynamicAxes, buckets: Buckets) {
    requireAxes(axes);
    if (
      typeof buckets === "string"
        ? !["doubling", "halves"].includes(buckets)
        : buckets.length === 0 || !buckets.every((n) => Number.isInteger(n) && n > 0)
    )
      throw new ValueError("compile", "buckets", '"doubling", "halves" or a list of sizes', buckets);
    this.#axes = axes;
    this.#buckets = buckets;
  }

  /** Null: nothing of this call is padded. */
  sizesOf(args: readonly unknown[]): Sizes | null {
    const marked = new Map<Tensor, Set<number>>();
    const mark = (t: Tensor, axes: readonly number[]): void => {
      for (const a of axes) {
        const at = a < 0 ? a + t.rank : a;
        if (at < 0 || at >= t.rank) continue;
        const axesOf = marked.get(t);
        if (axesOf === undefined) marked.set(t, new Set([at]));
        else axesOf.add(at);
        if (t.ownGrad !== null && t.ownGrad.rank === t.rank) mark(t.ownGrad, [at]);
      }
    };
    const visit = (value: unknown, axes: DynamicAxes | undefined): void => {
      if (axes === null || axes === undefined) return;
      if (value instanceof Tensor) {
        if (isAxes(axes)) mark(value, axes);
      } else if (typeof value !== "object" || value === null) return;
      else if (isComposite(value)) for (const part of value[PARTS]()) visit(part, axes);
      else if (isAxes(axes)) for (const v of value instanceof Map ? value.values() : Object.values(value)) visit(v, axes);
      else if (Array.isArray(axes)) {
        if (Array.isArray(value)) value.forEach((v, i) => visit(v, axes[i]));
      } else
        for (const [k, v] of value instanceof Map ? value : Object.entries(value))
          visit(v, (axes as Record<string, DynamicAxes>)[k as string]);
    };
    if (isAxes(this.#axes) || Array.isArray(this.#axes)) visit(args, this.#axes);
    else for (const a of args) visit(a, this.#axes);
    const large = new Map<Tensor, number[]>();
    const base = new Map<Tensor, number[]>();
    let isOwn = true;
    const taken = new Set([...marked].flatMap(([t, axes]) => [...axes].map((a) => t.shape[a]!)));
    for (const [t, axes] of marked) {
      const [up, down] = [[...t.shape], [...t.shape]];
      for (const a of axes) {
        const size = t.shape[a]!;
        // 0 and 1 mean something else to many operations: broadcasting, empty sums.
        const bucket = size < 2 ? null : bucketOf(size, this.#buckets);
        if (bucket === null || bucket < 3) continue;
        up[a] = bucket;
        if (size === bucket) {
          // Axes of different sizes stay so: no size but this one may become the smaller one.
          let smaller = bucket - 1;
          while (taken.has(smaller) && smaller > 2) smaller--;
          down[a] = taken.has(smaller) ? bucket - 1 : smaller;
          isOwn = false;
        }
      }
      if (up.some((d, i) => d !== down[i])) {
        large.set(t, up);
        base.set(t, down);
      }
    }
    return large.size === 0 ? null : { large, base: isOwn ? null : base };
  }
}

/** Tensors like a call's, of other shapes and without data: a path for other sizes is traced with them. */
export function resizedTensors(shapes: ReadonlyMap<Tensor, readonly number[]>): Map<Tensor, Tensor> {
  const made = new Map<Tensor, Tensor>();
  for (const [t, shape] of shapes) {
    const desc = internDesc(t.device, t.dtype, shape, layoutOf(t)?.strides(shape) ?? undefined);
    const s = new Tensor(new Storage(t.device, desc.extent * DTYPES[t.dtype].sizeInBytes), desc);
    made.set(t, s);
    if (t.node === null) {
      s.leafRequiresGrad = t.leafRequiresGrad;
      s.hooks = t.hooks;
    } else {
      s.node = new TapeNode("argument", [], [desc], [], () => []);
      if (t.ownNode?.retained?.get(t.outputIndex) === t) s.node.retained = new Map([[0, s]]);
    }
  }
  for (const [t, s] of made) s.grad = t.ownGrad === null ? null : (made.get(t.ownGrad) ?? t.ownGrad);
  return made;
}
