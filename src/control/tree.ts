/** Trees of tensors: nested arrays, plain objects and complex tensors, as the functions of control flow take and return them. */
import { DeviceError, DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { show } from "../core/format-value.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { isComposite, KIND, PARTS, WITH_PARTS } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";

/** Whose trees are compared: the operation, and what the second one is expected to be like: "like the result of trueFn". */
export interface Comparison {
  readonly operation: string;
  readonly like: string;
}

const isPlainObject = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** The parts of a node of a tree, by how they are written in a path; null for a leaf. */
function partsOf(value: unknown): readonly (readonly [key: string, part: unknown])[] | null {
  if (typeof value !== "object" || value === null || value instanceof Tensor) return null;
  if (Array.isArray(value)) return value.map((v, i) => [`[${i}]`, v] as const);
  if (isComposite(value)) return value[PARTS]().map((v, i) => [i === 0 ? "" : `[${i}]`, v] as const);
  if (!isPlainObject(value)) return null;
  return Object.entries(value).map(([key, v]) => [`.${key}`, v] as const);
}

/** A node with other parts. */
function withParts(value: unknown, parts: readonly unknown[]): unknown {
  if (Array.isArray(value)) return parts;
  if (isComposite(value as object)) return (value as { [WITH_PARTS](parts: readonly unknown[]): unknown })[WITH_PARTS](parts);
  return Object.fromEntries(Object.keys(value as object).map((key, i) => [key, parts[i]]));
}

/** What a node is, apart from its parts. */
function describeNode(value: unknown): string {
  if (value instanceof Tensor) return value.describe();
  if (Array.isArray(value)) return `an array of length ${value.length}`;
  if (typeof value === "object" && value !== null) {
    if (isComposite(value)) return "a complex tensor";
    if (isPlainObject(value)) return `an object with the fields ${Object.keys(value).sort().join(", ") || "(none)"}`;
  }
  return show(value);
}

/** A tree with each tensor replaced. */
export function mapTree<T>(tree: T, map: (t: Tensor) => unknown): T {
  if (tree instanceof Tensor) return map(tree) as T;
  const parts = partsOf(tree);
  return (
    parts === null
      ? tree
      : withParts(
          tree,
          parts.map(([, part]) => mapTree(part, map)),
        )
  ) as T;
}

/** The tensors of a tree, in order. */
export function leavesOf(tree: unknown): Tensor[] {
  if (tree instanceof Tensor) return [tree];
  return partsOf(tree)?.flatMap(([, part]) => leavesOf(part)) ?? [];
}

/** A tree with other tensors, in their order. */
export function withLeaves<T>(tree: T, leaves: readonly Tensor[]): T {
  let at = 0;
  return mapTree(tree, () => leaves[at++]!);
}

/** The tensors of a tree with their paths. */
export function pathsOf(tree: unknown, path: string): (readonly [path: string, tensor: Tensor])[] {
  if (tree instanceof Tensor) return [[path, tree]];
  return partsOf(tree)?.flatMap(([key, part]) => pathsOf(part, path + key)) ?? [];
}

function requireSameTensor({ operation, like }: Comparison, path: string, a: Tensor, b: Tensor): void {
  if (a.dtype !== b.dtype) throw new DTypeError(operation, path, `${a.dtype}, ${like}`, b.dtype, "Cast it with to().");
  if (!sameShape(a.shape, b.shape)) throw new ShapeError(operation, path, `of shape ${showShape(a.shape)}, ${like}`, showShape(b.shape));
  if (a.device !== b.device) throw new DeviceError(operation, path, `on ${a.device}, ${like}`, String(b.device));
}

/**
 * A tree made of two that must be alike: the same structure, shapes and dtypes, and equal values where there are no tensors. join makes the tensors.
 * Throws for the first leaf that differs, by its path.
 */
export function joinTrees<T>(
  comparison: Comparison,
  path: string,
  a: T,
  b: unknown,
  join: (a: Tensor, b: Tensor, path: string) => Tensor,
): T {
  if (a instanceof Tensor && b instanceof Tensor) {
    requireSameTensor(comparison, path, a, b);
    return join(a, b, path) as T;
  }
  const [own, other] = [partsOf(a), partsOf(b)];
  const isAlike =
    own === null || other === null
      ? own === other && !(a instanceof Tensor) && !(b instanceof Tensor) && Object.is(a, b)
      : Array.isArray(a) === Array.isArray(b) && kindOf(a) === kindOf(b) && sameKeys(own, other);
  if (!isAlike)
    throw new ValueError(comparison.operation, path, `${describeNode(a)}, ${comparison.like}`, partsOf(b) === null ? b : describeNode(b));
  if (own === null) return a;
  const others = new Map(other);
  return withParts(
    a,
    own.map(([key, part]) => joinTrees(comparison, path + key, part, others.get(key), join)),
  ) as T;
}

const kindOf = (value: unknown): string => (typeof value === "object" && value !== null && isComposite(value) ? value[KIND]() : "");

const sameKeys = (a: readonly (readonly [string, unknown])[], b: readonly (readonly [string, unknown])[]): boolean => {
  const keys = new Set(a.map(([key]) => key));
  return a.length === b.length && b.every(([key]) => keys.has(key));
};
