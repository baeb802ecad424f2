/** A batch as parts for several devices: what forward() takes is split along an axis, what it gives is joined. @package */
import { ShapeError, ValueError } from "../core/errors.ts";
import type { Device } from "../core/device.ts";
import { isComposite, PARTS, WITH_PARTS } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";
import { mapTree } from "../control/tree.ts";
import { to } from "../ops/data/conversion.ts";
import { cat, chunk, stack } from "../ops/shape/join.ts";

/** The inputs of each part: at most `count`, as chunk() makes them; one where there is no tensor to split. */
export function partsOf(operation: string, inputs: readonly unknown[], count: number, axis: number): readonly (readonly unknown[])[] {
  let first: Tensor | null = null;
  const parts = new Map<Tensor, readonly Tensor[]>();
  mapTree(inputs, (t) => {
    t.requireLive(operation, "inputs");
    // One number for all parts.
    if (t.rank === 0) return t;
    if (t.rank <= axis) throw new ShapeError(operation, "inputs", `tensors with an axis ${axis}`, t.describe());
    first ??= t;
    if (t.shape[axis] !== first.shape[axis])
      throw new ShapeError(
        operation,
        "inputs",
        `tensors of one size along axis ${axis} (${first.shape[axis]})`,
        t.describe(),
        "Give what all parts need as a buffer of the module, or expand it along the axis.",
      );
    if (!parts.has(t)) parts.set(t, t.shape[axis] === 0 ? [t] : chunk(t, count, axis));
    return t;
  });
  const length = Math.max(1, ...[...parts.values()].map((list) => list.length));
  return Array.from({ length }, (_, i) => mapTree(inputs, (t) => parts.get(t)?.[i] ?? t));
}

/** The inputs on a device. */
export const movedTo = <T>(inputs: T, device: Device): T => mapTree(inputs, (t) => to(t, device));

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** One result of those of all parts: tensors are joined along the axis on a device, numbers in tensors without axes become a list. */
export function joinedParts(operation: string, results: readonly unknown[], axis: number, device: Device): unknown {
  const first = results[0];
  const differ = (): never => {
    throw new ValueError(operation, "outputs", "of one structure on all parts", "others");
  };
  const join = (pick: (result: never) => unknown): unknown =>
    joinedParts(
      operation,
      results.map((result) => pick(result as never)),
      axis,
      device,
    );
  if (first instanceof Tensor) {
    if (!results.every((t): t is Tensor => t instanceof Tensor && (t.rank === 0) === (first.rank === 0))) return differ();
    const moved = results.map((t) => to(t, device));
    return first.rank === 0 ? stack(moved) : cat(moved, axis);
  }
  if (typeof first !== "object" || first === null) return first;
  if (isComposite(first)) {
    if (!results.every((r) => typeof r === "object" && r !== null && isComposite(r))) return differ();
    return first[WITH_PARTS](first[PARTS]().map((_, i) => join((r: typeof first) => r[PARTS]()[i])));
  }
  if (Array.isArray(first)) {
    if (!results.every((r) => Array.isArray(r) && r.length === first.length)) return differ();
    return first.map((_, i) => join((r: readonly unknown[]) => r[i]));
  }
  if (!isRecord(first)) return first;
  const names = Object.keys(first);
  if (!results.every((r) => isRecord(r) && names.every((name) => name in r))) return differ();
  return Object.fromEntries(names.map((name) => [name, join((r: typeof first) => r[name])]));
}
