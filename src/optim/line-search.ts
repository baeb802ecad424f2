/** The line search of LBFGS: how far to go along a direction. */
import type { Tensor } from "../core/tensor.ts";

/** Asks for a tensor's element. */
export type Reading<T> = Generator<Tensor, T, number>;

/** A point along a direction: how far, the loss, its gradient, and that along the direction. */
export interface Point {
  readonly t: number;
  readonly f: number;
  readonly g: Tensor;
  readonly slope: number;
}

/** The minimum of the cubic through two points with their slopes, within bounds. */
function cubicMinimum(a: Point, b: Point, [low, high]: readonly [number, number]): number {
  const d1 = a.slope + b.slope - (3 * (a.f - b.f)) / (a.t - b.t);
  const square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const d2 = Math.sqrt(square);
  const at =
    a.t <= b.t
      ? b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
      : a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return Math.min(Math.max(at, low), high);
}

/** Of a sufficient decrease, and of the slope that stays. */
const [C1, C2] = [1e-4, 0.9];
const MAX_SEARCHES = 25;

/** A point that satisfies the strong Wolfe conditions, by brackets and cubic steps inside them; as PyTorch's and minFunc's. */
export function* strongWolfe(
  evaluate: (t: number) => Reading<Point>,
  start: Point,
  first: number,
  largest: number,
  toleranceChange: number,
): Reading<{ point: Point; evaluations: number }> {
  let point = yield* evaluate(first);
  let evaluations = 1;
  let before = start;
  let isDone = false;
  let searches = 0;
  let bracket: [Point, Point] | null = null;
  const isTooHigh = (p: Point): boolean => p.f > start.f + C1 * p.t * start.slope;
  while (searches < MAX_SEARCHES) {
    if (isTooHigh(point) || (searches > 1 && point.f >= before.f)) bracket = [before, point];
    else if (Math.abs(point.slope) <= -C2 * start.slope) [bracket, isDone] = [[point, point], true];
    else if (point.slope >= 0) bracket = [before, point];
    if (bracket !== null) break;
    const next = cubicMinimum(before, point, [point.t + 0.01 * (point.t - before.t), point.t * 10]);
    before = point;
    point = yield* evaluate(next);
    evaluations++;
    searches++;
  }
  bracket ??= [start, point];
  const ends: [Point, Point] = bracket;
  let low: 0 | 1 = ends[0].f <= ends[1].f ? 0 : 1;
  let hasStalled = false;
  while (!isDone && searches < MAX_SEARCHES) {
    const [min, max] = [Math.min(ends[0].t, ends[1].t), Math.max(ends[0].t, ends[1].t)];
    if ((max - min) * largest < toleranceChange) break;
    let t = cubicMinimum(ends[0], ends[1], [min, max]);
    const margin = 0.1 * (max - min);
    if (Math.min(max - t, t - min) < margin) {
      if (hasStalled || t >= max || t <= min) {
        t = Math.abs(t - max) < Math.abs(t - min) ? max - margin : min + margin;
        hasStalled = false;
      } else hasStalled = true;
    } else hasStalled = false;
    const p: Point = yield* evaluate(t);
    evaluations++;
    searches++;
    const high: 0 | 1 = low === 0 ? 1 : 0;
    if (isTooHigh(p) || p.f >= ends[low].f) {
      ends[high] = p;
      low = ends[0].f <= ends[1].f ? 0 : 1;
      continue;
    }
    if (Math.abs(p.slope) <= -C2 * start.slope) isDone = true;
    else if (p.slope * (ends[high].t - ends[low].t) >= 0) ends[high] = ends[low];
    ends[low] = p;
  }
  return { point: ends[low], evaluations };
}
