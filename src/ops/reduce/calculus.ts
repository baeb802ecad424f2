/** Finite differences and numerical integration: diff, gradient, trapezoid, vander. */
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, div, divByOwn, mul, mulByOwn, sub } from "../elementwise/binary.ts";
import { ne } from "../elementwise/compare.ts";
import { ones } from "../creation/creation.ts";
import { asFloat, toDType } from "../data/conversion.ts";
import { cat, flip } from "../shape/join.ts";
import { expand, narrow, reshape, unsqueeze } from "../shape/movement.ts";
import { existingAxis } from "../creation/ranges.ts";
import { sum } from "./reduce.ts";
import { cumprod, cumsum } from "../scan/cumulative.ts";
import { clone } from "../data/state.ts";

/** Options of diff(). Reference: torch.diff. */
export interface DiffOptions {
  /** The order: how many times differences are taken. Default: 1. */
  readonly n?: number | undefined;
  /** Default: the last. */
  readonly axis?: number | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | undefined;

  /** Joined before x along the axis. Default: null, nothing. */
  readonly prepend?: Tensor | null | undefined;
  /** Joined behind x along the axis. Default: null, nothing. */
  readonly append?: Tensor | null | undefined;
}

/** Differences of neighbours along an axis, n times. Of bool: whether they differ. Reference: torch.diff. */
export function diff(x: Tensor, { n = 1, axis = -1, prepend = null, append = null }: DiffOptions = {}): Tensor {
  const a = existingAxis("diff", x, axis);
  if (!Number.isInteger(n) || n < 0) throw new ValueError("diff", "n", "an integer of at least 0", n);
  if (n === 0) return clone(x);
  const parts = [prepend, x, append].filter((t): t is Tensor => t !== null);
  let result = parts.length > 1 ? cat(parts, a) : x;
  for (let i = 0; i < n; i++) {
    const length = result.shape[a]!;
    if (length < 2) return narrow(result, a, 0, 0);
    const [after, before] = [narrow(result, a, 1, length - 1), narrow(result, a, 0, length - 1)];
    result = x.dtype === "bool" ? ne(after, before) : sub(after, before);
  }
  return result;
}

/** Options of trapezoid() and cumulativeTrapezoid(). Reference: torch.trapezoid. */
export interface TrapezoidOptions {
  /** Coordinates of the values: of y's shape, or a vector along the axis. */
  readonly x?: Tensor | null | undefined;
  /** The distance of neighbours where no coordinates are given. Default: 1. */
  readonly dx?: number | undefined;
  /** Default: the last. */
  readonly axis?: number | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | undefined;
}

/** Twice the areas of the trapezoids between neighbours. */
function trapezoids(operation: string, y: Tensor, { x = null, dx = 1, axis = -1 }: TrapezoidOptions): { areas: Tensor; axis: number } {
  for (const t of [y, x]) if (t?.dtype === "bool") throw new DTypeError(operation, t === y ? "y" : "x", "of a numeric dtype", t.describe());
  const a = existingAxis(operation, y, axis);
  const n = y.shape[a]!;
  const neighbourSums = n < 2 ? narrow(y, a, 0, 0) : add(narrow(y, a, 1, n - 1), narrow(y, a, 0, n - 1));
  if (x === null) return { areas: dx === 1 ? neighbourSums : mulByOwn(neighbourSums, dx), axis: a };
  if (x.rank === 1) {
    if (x.shape[0] !== n) throw new ShapeError(operation, "x", `of ${n} elements, as y has along axis ${a}`, x.describe());
    const widths = diff(x);
    return {
      areas: mul(
        neighbourSums,
        reshape(
          widths,
          y.shape.map((_, i) => (i === a ? widths.size : 1)),
        ),
      ),
      axis: a,
    };
  }
  return { areas: mul(neighbourSums, diff(x, { axis: x.rank - (y.rank - a) })), axis: a };
}

/** The integral along an axis by the trapezoidal rule. Reference: torch.trapezoid. @autocast float32 */
export function trapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  const { areas, axis } = trapezoids("trapezoid", y, options);
  return divByOwn(sum(areas, axis), 2);
}

/** The integral up to each index of an axis but the first. Reference: torch.cumulative_trapezoid. */
export function cumulativeTrapezoid(y: Tensor, options: TrapezoidOptions = {}): Tensor {
  const { areas, axis } = trapezoids("cumulativeTrapezoid", y, options);
  return divByOwn(cumsum(areas, axis), 2);
}

/** Options of gradient(). Reference: torch.gradient. */
export interface GradientOptions {
  /** The distance of neighbours: for all axes, or for each a number or the coordinates as a vector. Default: 1. */
  readonly spacing?: number | readonly (number | Tensor)[] | undefined;
  /** Default: every axis. */
  readonly axis?: number | readonly number[] | null | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | readonly number[] | null | undefined;

  /** Order of accuracy at the ends: 1 or 2. Default: 1. */
  readonly edgeOrder?: 1 | 2 | undefined;
}

/** Slopes along axes by central differences, one tensor for each. x: floating, or integers, which give float32. Reference: torch.gradient. */
export function gradient(x: Tensor, { spacing = 1, axis = null, edgeOrder = 1 }: GradientOptions = {}): Tensor[] {
  const axes = (axis === null ? x.shape.map((_, i) => i) : [axis].flat()).map((a) => normalizeAxis("gradient", a as number, x.rank));
  if (new Set(axes).size !== axes.length) throw new ValueError("gradient", "axis", "a list without repeats", axes);
  if (edgeOrder !== 1 && edgeOrder !== 2) throw new ValueError("gradient", "edgeOrder", "1 or 2", edgeOrder);
  const steps = typeof spacing === "number" ? axes.map(() => spacing) : spacing;
  if (steps.length !== axes.length)
    throw new ValueError("gradient", "spacing", `a number, or one for each of ${axes.length} axes`, steps.length);
  const values = asFloat(x);
  return axes.map((a, i) => slope(values, a, steps[i]!, edgeOrder));
}

function slope(x: Tensor, axis: number, step: number | Tensor, edgeOrder: 1 | 2): Tensor {
  const n = x.shape[axis]!;
  if (n < edgeOrder + 1) throw new ShapeError("gradient", "x", `of at least ${edgeOrder + 1} elements along axis ${axis}`, x.describe());
  const at = (start: number, length: number): Tensor => narrow(x, axis, start, length);
  if (step instanceof Tensor && (step.rank !== 1 || step.size !== n))
    throw new ShapeError("gradient", "spacing", `a vector of ${n} coordinates along axis ${axis}`, step.describe());
  if (!(step instanceof Tensor)) return evenSlope(at, n, axis, step, edgeOrder);
  // Distances to the next element, along the axis.
  const widths = reshape(
    toDType(diff(step), x.dtype),
    x.shape.map((_, i) => (i === axis ? n - 1 : 1)),
  );
  const width = (start: number, length: number): Tensor => narrow(widths, axis, start, length);
  const between = (i: number): Tensor => div(sub(at(i + 1, 1), at(i, 1)), width(i, 1));
  const parts: Tensor[] = [];
  if (n > 2) {
    const [h, k] = [width(0, n - 2), width(1, n - 2)];
    const both = add(h, k);
    const before = mul(at(0, n - 2), div(k, mul(h, both)));
    const here = mul(at(1, n - 2), div(sub(k, h), mul(h, k)));
    const after = mul(at(2, n - 2), div(h, mul(k, both)));
    parts.push(add(sub(after, before), here));
  }
  if (edgeOrder === 1) return cat([between(0), ...parts, between(n - 2)], axis);
  const end = (nearest: number, next: number, last: number, h: Tensor, k: Tensor, sign: number): Tensor => {
    const both = add(h, k);
    const a = mul(at(nearest, 1), div(add(mul(h, 2), k), mul(h, both)));
    const b = mul(at(next, 1), div(both, mul(h, k)));
    const c = mul(at(last, 1), div(h, mul(k, both)));
    return mul(sub(sub(b, a), c), sign);
  };
  return cat([end(0, 1, 2, width(0, 1), width(1, 1), 1), ...parts, end(n - 1, n - 2, n - 3, width(n - 2, 1), width(n - 3, 1), -1)], axis);
}

/** slope() for neighbours at one distance: half the difference of those on both sides. */
function evenSlope(at: (start: number, length: number) => Tensor, n: number, axis: number, step: number, edgeOrder: 1 | 2): Tensor {
  const parts = n > 2 ? [divByOwn(sub(at(2, n - 2), at(0, n - 2)), 2 * step)] : [];
  const between = (i: number): Tensor => divByOwn(sub(at(i + 1, 1), at(i, 1)), step);
  if (edgeOrder === 1) return cat([between(0), ...parts, between(n - 2)], axis);
  const end = (nearest: number, next: number, last: number, sign: number): Tensor =>
    divByOwn(sub(sub(mulByOwn(at(next, 1), 4), mulByOwn(at(nearest, 1), 3)), at(last, 1)), 2 * sign * step);
  return cat([end(0, 1, 2, 1), ...parts, end(n - 1, n - 2, n - 3, -1)], axis);
}

/** Options of vander(). Reference: torch.vander. */
export interface VanderOptions {
  /** Number of columns. Default: as many as x has elements. */
  readonly n?: number | undefined;
  /** @deprecated Use n. */
  readonly columns?: number | undefined;

  /** From the power 0 on, rather than down to it. Default: false. */
  readonly increasing?: boolean | undefined;
}

/** The powers of a vector's elements as rows (of several vectors, as matrices). Reference: torch.vander, torch.linalg.vander. */
export function vander(x: Tensor, { n: columns, increasing = false }: VanderOptions = {}): Tensor {
  const values = x.rank === 0 ? reshape(x, [1]) : x;
  const n = columns ?? values.shape.at(-1)!;
  if (!Number.isInteger(n) || n < 0) throw new ValueError("vander", "n", "an integer of at least 0", n);
  const dtype = isFloat(x.dtype) ? x.dtype : "int64";
  const one = ones([...values.shape, 1], { dtype, device: x.device });
  if (n === 0) return narrow(one, -1, 0, 0);
  const factors = expand(unsqueeze(toDType(values, dtype), -1), [...values.shape, n - 1]);
  const powers = n === 1 ? one : cat([one, cumprod(factors, -1)], -1);
  return increasing ? powers : flip(powers, -1);
}

export const methods = { diff };
