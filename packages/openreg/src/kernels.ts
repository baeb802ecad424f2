/** Which operators the device has, and the kernel of a call. */
import type { backend } from "dxtensor";
import { cast, elementwise, elementwiseOperators, type Compute } from "./elementwise.ts";
import { extreme, gemm, reduce, softmax } from "./linear.ts";
import { hasView } from "./memory.ts";
import { random } from "./random.ts";
import { fill, gather, gatherElements, join, oneHot, pad, scatter, sequence, slice, splitParts, tile } from "./movement.ts";

type Call = backend.BackendCall;

const others: { readonly [operator: string]: (call: Call) => Compute | null } = {
  CAST: cast,
  GEMM: gemm,
  REDUCE: reduce,
  ARGMAX: extreme,
  ARGMIN: extreme,
  ACTIVATION_SOFTMAX1: softmax,
  ACTIVATION_LOG_SOFTMAX1: softmax,
  FILL_VALUE_CONSTANT: fill,
  FILL_VALUE_SEQUENCE: sequence,
  JOIN: join,
  SPLIT: splitParts,
  SLICE1: slice,
  PADDING1: pad,
  TILE: tile,
  GATHER: gather,
  GATHER_ELEMENTS: gatherElements,
  SCATTER: scatter,
  ONE_HOT: oneHot,
  RANDOM_GENERATOR: random,
};

export const operators: readonly Call["operator"][] = [...elementwiseOperators, ...(Object.keys(others) as Call["operator"][])];

/** Null where a dtype or an attribute is none of the device's. */
export function computeOf(call: Call): Compute | null {
  if ([...call.inputs, ...call.outputs].some((t) => t !== null && !hasView(t.dtype))) return null;
  return (others[call.operator] ?? elementwise)(call);
}
