/** From batches on the host to tensors, and from CollateError to the library's own errors. */
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { CollateError, type HostNode } from "./host-collate.ts";

/** The tensor of an array; on the default device. */
export const arrayTensor = ({ data, shape, dtype }: Extract<HostNode, { kind: "array" }>): Tensor => tensor(data, { shape, dtype });

/** The tensors of a batch, in its structure. */
export function tensorsOf(node: HostNode): unknown {
  switch (node.kind) {
    case "array":
      return arrayTensor(node);
    case "list":
      return node.items.map(tensorsOf);
    case "object":
      return Object.fromEntries(node.keys.map((key, i) => [key, tensorsOf(node.items[i]!)]));
    default:
      return node satisfies never;
  }
}

/** The error that collate() throws. */
export const collateError = ({ kind, expected, received }: Pick<CollateError, "kind" | "expected" | "received">): DTypeError | ShapeError =>
  new (kind === "dtype" ? DTypeError : ShapeError)("collate", "samples", expected, received);

/** Runs fn; a CollateError becomes the library's own error. */
export function withCollateErrors<T>(fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw error instanceof CollateError ? collateError(error) : error;
  }
}
