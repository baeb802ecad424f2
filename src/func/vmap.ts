/** vmap(): a function of one sample becomes a function of a batch. Reference: torch.func.vmap. */
import { ShapeError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { cat } from "../ops/shape/join.ts";
import { expand, movedim, narrow } from "../ops/shape/movement.ts";
import { defaultGenerator } from "../ops/random/random.ts";
import { BatchLevel, type Randomness } from "./level.ts";
import { mapTree, tensorsOf, type AxisTree } from "./trees.ts";

/** Options of vmap(). Reference: torch.func.vmap. */
export interface VmapOptions {
  /**
   * The batch axis of each argument: a number for all tensors of all arguments, or a list with, for each argument, a number, null (every sample gets the same), or
   * arrays and objects of these in the argument's shape. Negative numbers count from the end. Default: 0.
   */
  readonly inDims?: AxisTree;
  /** Where the results have the batch axis: a number for all tensors, or arrays and objects of numbers in the result's shape; null for one that is the same for all samples. Default: 0. */
  readonly outDims?: AxisTree;
  /** What random numbers are: an "error", the "same" for all samples, or "different" in each. Default: "error". */
  readonly randomness?: Randomness;
  /** How many samples run at once. Default: all. */
  readonly chunkSize?: number | null;
}

/** The arguments' axes, normalized, in the order of their tensors, and the length of the batch axis. */
interface Batches {
  readonly axes: readonly (number | null)[];
  readonly size: number;
}

function batchesOf(args: readonly unknown[], inDims: AxisTree): Batches {
  if (Array.isArray(inDims) && inDims.length !== args.length)
    throw new ValueError("vmap", "inDims", `a list of ${args.length}, one for each argument`, inDims);
  const axes: (number | null)[] = [];
  let size: number | null = null;
  mapTree("vmap", "arguments", args, inDims, (t, axis, argument) => {
    t.requireLive("vmap", argument);
    if (axis !== null && (!Number.isInteger(axis) || axis < -t.rank || axis >= t.rank))
      throw new ValueError("vmap", "inDims", `an axis of ${argument}, which is ${t.describe()}`, axis);
    const own = axis === null ? null : axis < 0 ? axis + t.rank : axis;
    axes.push(own);
    if (own === null) return t;
    const length = t.shape[own]!;
    if (size !== null && length !== size)
      throw new ShapeError("vmap", argument, `as long along its batch axis as the others (${size})`, `${t.describe()}, batch axis ${own}`);
    size = length;
    return t;
  });
  if (size === null) throw new ValueError("vmap", "inDims", "an axis of at least one argument", inDims);
  return { axes, size };
}

/** The arguments with other tensors, each made of one and its batch axis. */
function mapped(args: readonly unknown[], axes: readonly (number | null)[], map: (t: Tensor, axis: number | null) => Tensor): unknown[] {
  let at = 0;
  // The axes are known: whatever is no tensor stays what it is.
  return mapTree("vmap", "arguments", args, null, (t) => map(t, axes[at++]!)) as unknown[];
}

type Fn = (...args: never[]) => unknown;

function runBatch(fn: Fn, args: readonly unknown[], { axes, size }: Batches, outDims: AxisTree, randomness: Randomness): unknown {
  const level = new BatchLevel(size, randomness);
  const inner = mapped(args, axes, (t, axis) => level.lift(axis === null ? t : axis === 0 ? t : movedim(t, axis, 0), axis !== null));
  const end = (result: unknown): unknown =>
    mapTree("vmap", "fn's result", result, outDims, (t, axis, argument) => {
      t.requireLive("vmap", argument);
      const value = level.valueOf(t);
      const isBatched = level.isBatched(t);
      if (axis === null) {
        if (isBatched) throw new ValueError("vmap", "outDims", `an axis for ${argument}, which is different in each sample`, null);
        return value;
      }
      const rank = t.rank + 1;
      if (!Number.isInteger(axis) || axis < -rank || axis >= rank)
        throw new ValueError("vmap", "outDims", `an axis in [${-rank}, ${rank - 1}] of ${argument} with its batch axis`, axis);
      const full = isBatched ? value : expand(value, [size, ...value.shape]);
      return axis === 0 ? full : movedim(full, 0, axis);
    });
  return level.run(
    () => fn(...(inner as never[])),
    (result) => {
      if (result instanceof Promise) {
        // Whatever it fails by belongs to no call.
        result.catch(() => undefined);
        throw new ValueError("vmap", "fn's result", "what a function gives at once", "a promise");
      }
      if (tensorsOf(result).length === 0) throw new ValueError("vmap", "fn's result", "a tensor, or arrays and objects of tensors", result);
      return end(result);
    },
    tensorsOf,
  );
}

function runChunks(fn: Fn, args: readonly unknown[], batches: Batches, outDims: AxisTree, randomness: Randomness, chunk: number): unknown {
  const { axes, size } = batches;
  // Each chunk draws the same numbers.
  const state = randomness === "same" ? defaultGenerator().snapshot() : null;
  const results: unknown[] = [];
  for (let from = 0; from < size; from += chunk) {
    const length = Math.min(chunk, size - from);
    if (from > 0) state?.restore();
    const part = mapped(args, axes, (t, axis) => (axis === null ? t : narrow(t, axis, from, length)));
    results.push(runBatch(fn, part, { axes, size: length }, outDims, randomness));
  }
  state?.dispose();
  const parts = results.map(tensorsOf);
  let at = 0;
  return mapTree("vmap", "fn's result", results[0], outDims, (t, axis) => {
    const i = at++;
    return axis === null ? t : cat(parts.map((list) => list[i]!), axis < 0 ? axis + t.rank : axis); // prettier-ignore
  });
}

/**
 * fn, which is written for one sample, as a function of a batch: it runs once, and each of its operations computes all samples. Inside of fn a tensor shows the shape of
 * one sample. A matrix product becomes a batched one, a convolution one with groups; an operation without such a rule runs once for each sample, which fallbackStats()
 * counts as "vmap". Calls can be nested, and contain gradOf(), vjp(), jvp(), jacobian(); gradients flow through the result.
 *
 * fn: gives a tensor, or arrays and objects of tensors. Its arguments are tensors, arrays and objects of them; an argument that is none has null in inDims.
 * Result: a function of the same arguments with their batch axes. It throws ValueError for axes that do not exist, for random numbers unless randomness allows them, and for an
 * in-place change by different values of a tensor that is the same for all samples; ShapeError for batch axes of different lengths; TraceError where fn asks for numbers
 * of a tensor. Reference: torch.func.vmap.
 */
export function vmap<Args extends readonly unknown[], Result>(
  fn: (...args: Args) => Result,
  options: VmapOptions = {},
): (...args: Args) => Result {
  const { inDims = 0, outDims = 0, randomness = "error", chunkSize = null } = options;
  if (chunkSize !== null && (!Number.isInteger(chunkSize) || chunkSize < 1))
    throw new ValueError("vmap", "chunkSize", "an integer of at least 1, or null", chunkSize);
  return (...args) => {
    const batches = batchesOf(args, inDims);
    const result =
      chunkSize === null || batches.size <= chunkSize
        ? runBatch(fn as unknown as Fn, args, batches, outDims, randomness)
        : runChunks(fn as unknown as Fn, args, batches, outDims, randomness, chunkSize);
    return result as Result;
  };
}
