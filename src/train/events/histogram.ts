/** Histograms with the buckets and counts of torch.utils.tensorboard, that is, of numpy.histogram. */
import { setImmediate } from "node:timers/promises";
import { ValueError } from "../../core/errors.ts";

/** What a histogram's record has. */
export interface Histogram {
  readonly min: number;
  readonly max: number;
  readonly count: number;
  readonly sum: number;
  readonly sumOfSquares: number;
  /** Upper ends of the buckets. */
  readonly limits: readonly number[];
  readonly counts: readonly number[];
}

/** Elements between two turns of the event loop. */
const TURN = 2 ** 19;

let exponential: readonly number[] | null = null;

/** TensorFlow's: ±1e-12 times powers of 1.1 below 1e20, and 0. */
function exponentialEdges(): readonly number[] {
  if (exponential !== null) return exponential;
  const positive: number[] = [];
  for (let edge = 1e-12; edge < 1e20; edge *= 1.1) positive.push(edge);
  exponential = [...positive.toReversed().map((edge) => -edge), 0, ...positive];
  return exponential;
}

/** Edges of buckets of equal width, as numpy.linspace has them. */
function equalEdges(operation: string, count: number, min: number, max: number): readonly number[] {
  if (!Number.isFinite(min) || !Number.isFinite(max))
    throw new ValueError(operation, "tensor", "finite where bins is a number", `a minimum of ${min} and a maximum of ${max}`);
  const [first, last] = min === max ? [min - 0.5, max + 0.5] : [min, max];
  const step = (last - first) / count;
  return Array.from({ length: count + 1 }, (_, i) => (i === count ? last : i * step + first));
}

/** The bucket of a value: edges[i] <= value < edges[i + 1], in the last one also the upper end; -1 for none, so for NaN. */
function bucketOf(edges: readonly number[], value: number): number {
  const last = edges.length - 1;
  if (!(value >= edges[0]! && value <= edges[last]!)) return -1;
  let low = 0;
  let high = last;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (edges[middle]! <= value) low = middle;
    else high = middle;
  }
  return low;
}

/** The buckets from the first to the last one with a count, and an empty one before: TensorBoard reads upper ends alone. */
function trimmed(edges: readonly number[], counts: readonly number[]): Pick<Histogram, "limits" | "counts"> {
  const first = counts.findIndex((n) => n > 0);
  const end = counts.findLastIndex((n) => n > 0) + 1;
  return { limits: edges.slice(first, end + 1), counts: [0, ...counts.slice(first, end)] };
}

/**
 * Counts of the values by bucket. NaN and infinities are in no bucket, but in min, max and the sums. Throws ValueError where no value is in a bucket,
 * and for NaN or infinities where bins is a number.
 */
export async function histogramOf(
  operation: string,
  values: ArrayLike<number>,
  bins: "tensorflow" | number | readonly number[],
): Promise<Histogram> {
  let [min, max, sum, sumOfSquares] = [Infinity, -Infinity, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value < min || Number.isNaN(value)) min = value;
    if (value > max || Number.isNaN(value)) max = value;
    sum += value;
    sumOfSquares += value * value;
    if (i % TURN === TURN - 1) await setImmediate();
  }
  const edges = bins === "tensorflow" ? exponentialEdges() : typeof bins === "number" ? equalEdges(operation, bins, min, max) : bins;
  const counts = Array.from<number>({ length: edges.length - 1 }).fill(0);
  for (let i = 0; i < values.length; i++) {
    const bucket = bucketOf(edges, values[i]!);
    if (bucket >= 0) counts[bucket]!++;
    if (i % TURN === TURN - 1) await setImmediate();
  }
  if (counts.every((n) => n === 0))
    throw new ValueError(
      operation,
      "tensor",
      `with a value from ${edges[0]} to ${edges.at(-1)}`,
      `a minimum of ${min} and a maximum of ${max}`,
    );
  return { min, max, count: values.length, sum, sumOfSquares, ...trimmed(edges, counts) };
}
