/** scan(): a function applied along an axis, with a carry. */
import { ShapeError, ValueError } from "../core/errors.ts";
import { showShape } from "../core/shape.ts";
import { autocast, autocastDType, isAutocastEnabled, withoutAutocast } from "../core/autocast.ts";
import { defaultDevice, withDevice } from "../core/device.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer, type LoopBody, type Tracer } from "../core/tracer.ts";
import { movedim, select } from "../ops/shape/movement.ts";
import { stack } from "../ops/shape/join.ts";
import { zeros } from "../ops/creation/creation.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { resultOf } from "./cond.ts";
import { joinTrees, leavesOf, mapTree, pathsOf, withLeaves } from "./tree.ts";

/** Options of scan(). Reference: torch scan's dim and reverse. */
export interface ScanOptions {
  /** The axis of xs along which the function is applied. Default: 0. */
  readonly dim?: number;
  /** From the last slice to the first. Default: false. */
  readonly reverse?: boolean;
}

/** The axis as a number from 0, and the number of slices, which all leaves share. */
function stepsOf(xs: unknown, dim: number): { readonly length: number; readonly axisOf: (t: Tensor) => number } {
  const leaves = pathsOf(xs, "xs");
  const first = leaves[0];
  if (first === undefined) throw new ValueError("scan", "xs", "a tree with at least one tensor", xs, "Scan over dx.arange(n) to count.");
  const axisOf = (t: Tensor): number => (dim < 0 ? dim + t.rank : dim);
  for (const [path, t] of leaves) {
    t.requireLive("scan", path);
    if (axisOf(t) < 0 || axisOf(t) >= t.rank) throw new ShapeError("scan", path, `of a rank that has the axis ${dim}`, t.describe());
    const length = first[1].shape[axisOf(first[1])]!;
    if (t.shape[axisOf(t)] !== length)
      throw new ShapeError("scan", path, `of length ${length} along axis ${dim}, like ${first[0]}`, showShape(t.shape));
  }
  return { length: first[1].shape[axisOf(first[1])]!, axisOf };
}

/** Where the slices of y are stacked: the axis `dim` of the result. */
function axisAmong(dim: number, y: Tensor): number {
  const axis = dim < 0 ? dim + y.rank + 1 : dim;
  if (axis < 0 || axis > y.rank) throw new ShapeError("scan", "y", `of a rank that has an axis ${dim} when it is stacked`, y.describe());
  return axis;
}

/** Steps up to this many are part of the program around them. */
const FEW_STEPS = 4;

/** In a trace: one step for all. */
function traced<Carry, X, Y>(
  t: Tracer,
  call: (carry: Carry, x: X) => readonly [Carry, Y],
  init: Carry,
  xs: X,
  options: { readonly length: number; readonly axisOf: (t: Tensor) => number; readonly dim: number; readonly reverse: boolean },
): [carry: Carry, ys: Y] {
  const { length, axisOf, dim, reverse } = options;
  const dtype = isAutocastEnabled() ? autocastDType() : null;
  const device = defaultDevice();
  // The body is traced again for its gradients. A weight that is cast in it is its own.
  const around = <T>(run: () => T): T =>
    withDevice(device, () => (dtype === null ? withoutAutocast(run) : autocast(dtype, run, { cacheWeights: false })));
  let first: { readonly y: Y } | null = null;
  const step: LoopBody = (carry, slices) => {
    const [next, y] = around(() => call(withLeaves(init, carry), withLeaves(xs, slices)));
    if (first === null) first = { y };
    else joinTrees({ operation: "scan", like: "like that of the first slice" }, "y", first.y, y, (_, b) => b);
    for (const leaf of leavesOf(y)) axisAmong(dim, leaf);
    return { carry: leavesOf(next), ys: leavesOf(y) };
  };
  const slices = leavesOf(xs).map((x) => movedim(x, axisOf(x), 0));
  const { carry, ys } = t.loop({ name: "scan", length, reverse, init: leavesOf(init), xs: slices }, step);
  const y = (first as { readonly y: Y } | null)!.y;
  const stacked = leavesOf(y).map((leaf, i) => movedim(ys[i]!, 0, axisAmong(dim, leaf)));
  return [withLeaves(init, carry), withLeaves(y, stacked)];
}

/**
 * fn(carry, x) for each slice x of xs along an axis, where each call gets the carry that the call before returned: [the last carry, the second results
 * stacked along a new axis `dim`].
 *
 * fn: gives [carry, y], trees of tensors (nested arrays and plain objects); the carry is like init, and each y like the first one, in structure, shapes
 * and dtypes. init: a tree of tensors, or null. xs: a tree of tensors of the same length along the axis `dim` (default 0; negative counts from the
 * last). reverse: from the last slice to the first; y of slice i is at i all the same. Gradients of any order flow to init, xs and closures.
 *
 * A last carry that is init is a copy of it. Without slices fn is called once on zeros, without gradients, for the shapes of the y.
 * In a compiled function fn is traced once for all slices (from five on), and is a program of its own, which other lengths run too: it must do the same for each
 * slice. Where it writes outside, draws random numbers or depends on a counter, each slice is traced.
 * Throws ShapeError, DTypeError or ValueError with the path of the leaf for a carry or y that differs, for xs without tensors or of several lengths, and
 * for a function that returns a promise or anything but a pair.
 * Reference: torch._higher_order_ops.scan, jax.lax.scan.
 */
export function scan<Carry, X, Y>(
  fn: (carry: Carry, x: X) => readonly [carry: Carry, y: Y],
  init: Carry,
  xs: X,
  { dim = 0, reverse = false }: ScanOptions = {},
): [carry: Carry, ys: Y] {
  const { length, axisOf } = stepsOf(xs, dim);
  const call = (carry: Carry, x: X): readonly [Carry, Y] => {
    const result: unknown = resultOf("scan", "fn", fn(carry, x));
    if (!Array.isArray(result) || result.length !== 2) throw new ValueError("scan", "fn", "a function that returns [carry, y]", result);
    const [next, y] = result as unknown as readonly [Carry, Y];
    return [joinTrees({ operation: "scan", like: "like init" }, "carry", init, next, (_, t) => t), y];
  };
  if (length === 0) {
    const slice = mapTree(xs, (t) => {
      const axis = axisOf(t);
      return zeros(t.shape.filter((_, i) => i !== axis), { dtype: t.dtype, device: t.device }); // prettier-ignore
    });
    const [, y] = noGrad(() => call(init, slice));
    return [
      mapTree(init, (t) => t.clone()),
      mapTree(y, (t) => zeros(t.shape.toSpliced(axisAmong(dim, t), 0, 0), { dtype: t.dtype, device: t.device })),
    ];
  }
  const t = tracer();
  if (t?.hasLoops === true && length > FEW_STEPS) return traced(t, call, init, xs, { length, axisOf, dim, reverse });
  let carry = init;
  const ys: Y[] = [];
  for (let i = 0; i < length; i++) {
    const at = reverse ? length - 1 - i : i;
    const [next, y] = call(
      carry,
      mapTree(xs, (t) => select(t, axisOf(t), at)),
    );
    carry = next;
    if (i > 0) joinTrees({ operation: "scan", like: "like that of the first slice" }, "y", ys[0], y, (_, t) => t);
    ys.push(y);
  }
  if (reverse) ys.reverse();
  const lists = ys.map(leavesOf);
  let leaf = 0;
  const stacked = (y: Tensor): Tensor => {
    const index = leaf++;
    return stack(
      lists.map((list) => list[index]!),
      axisAmong(dim, y),
    );
  };
  const initial = new Set(leavesOf(init).map((leaf) => leaf.storage));
  return [mapTree(carry, (leaf) => (initial.has(leaf.storage) ? leaf.clone() : leaf)), mapTree(ys[0]!, stacked)];
}
