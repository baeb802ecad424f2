/** The indices of the elements that one thread computes: adjacent ones mostly, so that it moves them in one access. */
import type { Scope } from "../../../shader/language.ts";
import type { Uint } from "../../../shader/numbers.ts";
import { isOne, type Access } from "./access.ts";

export type AnyScope = Scope<never, never>;

/** An axis of the tensor that lanes are in, with their coordinate along it. */
export interface GridAxis {
  readonly size: number;
  /** Elements between two of its indices. */
  readonly inner: number;
  readonly at: Uint;
}

/** Lane k is at `base + k * step`; or each somewhere. */
export type Lanes =
  | {
      readonly kind: "run";
      readonly base: Uint;
      readonly step: number;
      /** A power of two that divides the base. */ readonly alignment: number;
      /** Of elements of a row: the base's coordinates. */
      readonly grid?: readonly GridAxis[];
    }
  | { readonly kind: "each"; readonly at: readonly Uint[] };

const MAX_ALIGNMENT = 256;

const alignmentOf = (n: number): number => (n === 0 ? MAX_ALIGNMENT : Math.min(MAX_ALIGNMENT, n & -n));

export const laneOf = (lanes: Lanes, k: number): Uint =>
  lanes.kind === "each" ? lanes.at[k]! : k === 0 || lanes.step === 0 ? lanes.base : lanes.base.add(k * lanes.step);

/** Whether all lanes are one element. */
export const isUniform = (lanes: Lanes): boolean => lanes.kind === "run" && lanes.step === 0;

/** Equal for lanes of the same indices. */
export const keyOfLanes = (lanes: Lanes): string =>
  lanes.kind === "run" ? `${lanes.base.value.id}*${lanes.step}` : lanes.at.map((x) => x.value.id).join();

/** The index along an axis of so many elements, which has `inner` elements behind each of its indices. */
function coordinateIn(s: AnyScope, grid: readonly GridAxis[], inner: number, size: number, index: Uint): Uint {
  const end = inner * size;
  for (const a of grid) {
    // Its index counts up to its own end, of which this one has to be a divisor.
    if (a.inner > inner || (a.inner * a.size) % end !== 0 || inner % a.inner !== 0) continue;
    const rest = a.at.div(inner / a.inner);
    return end === a.inner * a.size ? rest : rest.mod(size);
  }
  const parts = grid.filter((a) => a.inner >= inner && a.inner * a.size <= end);
  if (parts.reduce((n, a) => n * a.size, 1) !== size) return index.div(inner).mod(size);
  return parts.reduce((sum, a) => sum.add(a.at.mul(a.inner / inner)), s.u32(0));
}

function fromGrid(s: AnyScope, { axes }: Access, index: Uint, grid: readonly GridAxis[], start: Uint): Uint {
  let [result, inner] = [start, 1];
  for (const { size, stride } of axes.toReversed()) {
    if (stride !== 0) result = result.add(coordinateIn(s, grid, inner, size, index).mul(stride >>> 0));
    inner *= size;
  }
  return result;
}

/** An access's index in its value. */
function mapped(s: AnyScope, access: Access, index: Uint, start: Uint, grid?: readonly GridAxis[]): Uint {
  if (grid !== undefined) return fromGrid(s, access, index, grid, start);
  const { axes } = access;
  let rest = index;
  let result = start;
  const outermost = axes.findIndex((a) => a.stride !== 0);
  for (let i = axes.length - 1; i >= Math.max(0, outermost); i--) {
    const { size, stride } = axes[i]!;
    if (stride !== 0) result = result.add((i === 0 ? rest : rest.mod(size)).mul(stride >>> 0));
    if (i > outermost) rest = rest.div(size);
  }
  return result;
}

/** The first element of an access, and a power of two that divides its index. */
export interface Start {
  readonly at: Uint;
  readonly alignment: number;
}

/** The lanes of an access's value, for lanes of its elements. start: where its offset is a number of the launch. */
export function mapLanes(s: AnyScope, access: Access, lanes: Lanes, width: number, start: Start | null = null): Lanes {
  const { offset, axes } = access;
  const { at, alignment: aligned } = start ?? { at: s.u32(offset), alignment: alignmentOf(offset) };
  if (isOne(access)) return { kind: "run", base: at, step: 0, alignment: aligned };
  if (lanes.kind === "each") return { kind: "each", at: lanes.at.map((x) => mapped(s, access, x, at)) };
  if (lanes.step === 0) return { kind: "run", base: mapped(s, access, lanes.base, at), step: 0, alignment: 1 };
  const { grid } = lanes;
  if (axes.length === 1) {
    const { stride } = axes[0]!;
    const alignment = Math.min(aligned, lanes.alignment * alignmentOf(stride));
    return { kind: "run", base: mapped(s, access, lanes.base, at, grid), step: lanes.step * stride, alignment };
  }
  const inner = axes.at(-1)!;
  if (lanes.step !== 1 || lanes.alignment < width || inner.size % width !== 0)
    return { kind: "each", at: Array.from({ length: width }, (_, k) => mapped(s, access, laneOf(lanes, k), at)) };
  // All lanes have the same outer coordinates.
  const steps = axes.slice(0, -1).map((a) => alignmentOf(a.stride));
  const own = alignmentOf(inner.stride) * Math.min(lanes.alignment, alignmentOf(inner.size));
  const alignment = Math.min(aligned, own, ...steps);
  return { kind: "run", base: mapped(s, access, lanes.base, at, grid), step: inner.stride, alignment };
}
