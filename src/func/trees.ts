/** Trees of tensors: arrays, plain objects and complex tensors inside each other, and numbers of axes in the shape of the beginning of one. */
import { ValueError } from "../core/errors.ts";
import { PARTS, WITH_PARTS, isComposite } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";

/** An axis for all tensors of a value, null for none of them, or arrays and objects of these in the value's shape. */
export type AxisTree = number | null | readonly AxisTree[] | { readonly [name: string]: AxisTree };

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The value with other tensors, each made of one and its axis. Throws ValueError for an axis of what is no tensor. */
export function mapTree(
  operation: string,
  argument: string,
  value: unknown,
  axes: AxisTree,
  map: (t: Tensor, axis: number | null, argument: string) => Tensor,
): unknown {
  if (value instanceof Tensor) {
    if (typeof axes === "number" || axes === null) return map(value, axes, argument);
  } else if (typeof value === "object" && value !== null && isComposite(value)) {
    if (typeof axes === "number" && axes < 0)
      throw new ValueError(operation, argument, "with an axis of at least 0, since it is complex", axes);
    if (typeof axes === "number" || axes === null)
      return value[WITH_PARTS]((value[PARTS]() as readonly Tensor[]).map((t) => map(t, axes, argument)));
  } else if (Array.isArray(value)) {
    if (Array.isArray(axes) && axes.length !== value.length)
      throw new ValueError(operation, `axes of ${argument}`, `a list of ${value.length}`, axes.length);
    if (typeof axes === "number" || axes === null || Array.isArray(axes))
      return value.map((v: unknown, i) =>
        mapTree(operation, `${argument}[${i}]`, v, Array.isArray(axes) ? (axes as readonly AxisTree[])[i]! : (axes as number | null), map),
      );
  } else if (isPlain(value)) {
    if (isPlain(axes) && Object.keys(value).some((name) => !(name in axes)))
      throw new ValueError(
        operation,
        `axes of ${argument}`,
        `an object with ${Object.keys(value).join(", ")}`,
        Object.keys(axes).join(", "),
      );
    if (typeof axes === "number" || axes === null || isPlain(axes))
      return Object.fromEntries(
        Object.entries(value).map(([name, v]) => [
          name,
          mapTree(operation, `${argument}.${name}`, v, isPlain(axes) ? (axes as Record<string, AxisTree>)[name]! : axes, map),
        ]),
      );
  } else if (axes === null) return value;
  throw new ValueError(
    operation,
    `axes of ${argument}`,
    value instanceof Tensor
      ? "an axis, or null"
      : typeof value === "object"
        ? "axes in the shape of the value"
        : "null, since it is no tensor",
    axes,
  );
}

/** The tensors of a tree, in order. */
export function tensorsOf(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [value];
  if (typeof value !== "object" || value === null) return [];
  if (isComposite(value)) return [...(value[PARTS]() as readonly Tensor[])];
  if (Array.isArray(value)) return value.flatMap(tensorsOf);
  return isPlain(value) ? Object.values(value).flatMap(tensorsOf) : [];
}
