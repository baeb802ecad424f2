/** checkpointSequential(): a chain of layers of which backward recomputes all segments but the last. */
import { checkpoint } from "../autograd/checkpoint.ts";
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { Sequential } from "./containers.ts";
import { Module, type Layer } from "./module.ts";

/** A part of a chain: a layer, or a function of one tensor. */
export type ChainPart = Layer | ((x: Tensor) => Tensor);

/**
 * What the layers give one after the other, in `segments` parts of about equal length: of all parts but the last one only the inputs are saved, and
 * backward recomputes the rest, as checkpoint(). Memory for about the square root of the number of layers as segments is lowest.
 *
 * functions: a Sequential, or layers and functions of one tensor in a list. segments: from 1 to the number of functions; 1: nothing is recomputed.
 * input: what the first one takes. Result: what the last one gives. Throws ValueError for another number of segments.
 * Reference: torch.utils.checkpoint.checkpoint_sequential.
 */
export function checkpointSequential(functions: Sequential | readonly ChainPart[], segments: number, input: Tensor): Tensor {
  const parts: readonly ChainPart[] = functions instanceof Sequential ? [...functions] : functions;
  if (!Number.isInteger(segments) || segments < 1 || segments > parts.length)
    throw new ValueError("checkpointSequential", "segments", `an integer in [1, ${parts.length}], the number of functions`, segments);
  const length = Math.floor(parts.length / segments);
  const run =
    (start: number, end: number) =>
    (x: Tensor): Tensor =>
      parts.slice(start, end).reduce((value, part) => (part instanceof Module ? (part as unknown as (v: Tensor) => Tensor)(value) : (part as (v: Tensor) => Tensor)(value)), x); // prettier-ignore
  let x = input;
  const last = length * (segments - 1);
  for (let start = 0; start < last; start += length) x = checkpoint(run(start, start + length), x);
  return run(last, parts.length)(x);
}
