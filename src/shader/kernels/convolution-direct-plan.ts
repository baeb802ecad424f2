/** Which convolutions the direct shaders compute, and how they are launched, from the sizes alone. */
import { variantOf } from "../shader-forms.ts";
import type { ConvolutionSizes } from "./convolution-plan.ts";
import { multiplyAdds, resultShape } from "./convolution-plan.ts";
import { coveredBy, type DirectForm, type DirectNumbers } from "./convolution-direct.ts";
import type { DirectWeightForm, DirectWeightNumbers } from "./convolution-direct-weights.ts";
import { NO_EPILOGUE } from "./epilogue.ts";

/** How the work is divided; a variant that `tune` compares. */
export interface DirectSplit {
  /** Channels of the result of a thread; in the weight gradient filters of a group. */
  readonly block: 1 | 2 | 4 | 8;
  /** Threads that share the source's channels; in the weight gradient parts of the images: 1, or as many as keep a device busy. */
  readonly split: number;
}

export type DirectPlan =
  | { readonly kind: "planes"; readonly form: DirectForm; readonly params: DirectNumbers }
  | { readonly kind: "weights"; readonly form: DirectWeightForm; readonly params: DirectWeightNumbers };

/** Groups that keep a device's multiprocessors busy, and threads. */
const [ENOUGH, ENOUGH_THREADS] = [264, 264 * 256];
const MAX_TAPS = 49;
/** Sums of a thread, which are in registers. */
const MAX_SUMS = 28;
const [MIN_THREADS, MAX_THREADS] = [64, 512];
/** Words of shared memory. */
const MAX_WORDS = 7680;
/** More channels, or products, are for the implicit GEMM. */
const [MAX_CHANNELS, MAX_PRODUCTS] = [32, 2 ** 25];

const ceil = (n: number, by: number): number => Math.ceil(n / by);
const roundUp = (n: number, to: number): number => ceil(n, to) * to;
const powerFrom = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, n)));

/** Whether a convolution has so few channels and products that the direct shaders are for it; estimated. */
export function isForDirect(c: ConvolutionSizes): boolean {
  const taps = c.kernel[0] * c.kernel[1];
  if (taps === 1 || Math.max(c.channels, c.filters) > MAX_CHANNELS || multiplyAdds(c) >= MAX_PRODUCTS) return false;
  // Zeros between the elements of dy are multiplied, too.
  if (c.kind === "inputGradient" && c.stride[0] * c.stride[1] > 1) return false;
  return directSplits(c).length > 0;
}

const nameOf = ({ block, split }: DirectSplit): string => `direct ${block} / ${split}`;

/** Parts of the images that are taken where there is more than one. */
function partsFor(c: ConvolutionSizes, block: number): number {
  const groups = c.channels * c.kernel[0] * ceil(c.filters, block);
  const each = ceil(c.images, Math.max(1, Math.min(c.images, ceil(ENOUGH, groups))));
  return Math.max(1, ceil(c.images, each));
}

/** What the direct shaders could do; none: they are not for it. */
export function directSplits(c: ConvolutionSizes): DirectSplit[] {
  if (c.groups !== 1 || c.kernel[0] * c.kernel[1] > MAX_TAPS) return [];
  if (c.kind === "weightGradient")
    return ([4, 2, 1] as const).flatMap((block) => {
      if (block * c.kernel[1] > MAX_SUMS || (block > 1 && block >= 2 * c.filters)) return [];
      return [...new Set([1, partsFor(c, block)])].map((split) => ({ block, split }));
    });
  const [sources, results] = c.kind === "forward" ? [c.channels, c.filters] : [c.filters, c.channels];
  const blocks = results === 1 ? ([1] as const) : results === 2 ? ([2] as const) : results <= 4 ? ([4] as const) : ([8, 4] as const);
  return blocks.flatMap((block) =>
    [1, 2, 4].filter((split) => split === 1 || split <= sources / 2).flatMap((split) => (sizesFor(c, { block, split }) === null ? [] : [{ block, split }])),
  ); // prettier-ignore
}

/** The split that `tune` says; null: it says none, or another form. */
export function tunedSplit(c: ConvolutionSizes): DirectSplit | null {
  const splits = directSplits(c);
  const name = variantOf(splits.map(nameOf));
  return splits.find((split) => nameOf(split) === name) ?? null;
}

/** The split that the sizes choose, of those that there are. */
export function usualSplit(c: ConvolutionSizes): DirectSplit {
  const splits = directSplits(c);
  // Parts cost a launch that adds them; the smallest block was the fastest of all that were measured.
  if (c.kind === "weightGradient") return splits.filter(({ split }) => split === 1).at(-1)!;
  const pixels = c.images * (c.kind === "forward" ? c.output[0] * c.output[1] : c.input[0] * c.input[1]);
  const results = c.kind === "forward" ? c.filters : c.channels;
  const threads = ({ block, split }: DirectSplit): number => pixels * ceil(results, block) * split;
  // One thread with many channels loads less; several threads for a pixel end earlier.
  return (
    splits.find((s) => s.split === 1 && threads(s) >= ENOUGH_THREADS / 2) ??
    splits.find((s) => s.split <= 2 && s.block <= 4 && threads(s) >= ENOUGH_THREADS / 2) ??
    splits.filter((s) => s.split <= 2).at(-1)!
  );
}

interface PlaneSizes {
  readonly rows: number;
  readonly blocks: number;
  readonly sourceWords: number;
  readonly weightWords: number;
  readonly threads: number;
}

/** Rows of the result and blocks of its channels that a group has; null: one row of one block is too large. */
function sizesFor(c: ConvolutionSizes, { block, split }: DirectSplit): PlaneSizes | null {
  const isForward = c.kind === "forward";
  const [sources, results] = isForward ? [c.channels, c.filters] : [c.filters, c.channels];
  const [height, width] = isForward ? c.output : c.input;
  const windows = { ...c, kind: isForward ? ("forward" as const) : ("inputGradient" as const) };
  const sourceWords = (rows: number): number => sources * coveredBy(windows, 0, rows) * coveredBy(windows, 1, width);
  const weightWords = (blocks: number): number => blocks * block * sources * c.kernel[0] * c.kernel[1];
  const total = ceil(results, block);
  const groups = (rows: number, blocks: number): number => c.images * ceil(height, rows) * ceil(total, blocks);
  const words = (rows: number, blocks: number, threads = MAX_THREADS): number =>
    sourceWords(rows) + weightWords(blocks) + (split - 1) * block * (threads / split);
  let [rows, blocks] = [Math.max(1, height), 1];
  const fits = (): boolean => words(rows, blocks) <= MAX_WORDS;
  while (rows > 1 && (!fits() || groups(rows, blocks) < ENOUGH / 2 || rows * width > MAX_THREADS)) rows = ceil(rows, 2);
  if (!fits()) return null;
  // Groups with more channels read their rows of the source less often.
  while (blocks < total && words(rows, 2 * blocks) <= MAX_WORDS && groups(rows, 2 * blocks) >= ENOUGH / 2 && rows * width * 2 * blocks * split <= MAX_THREADS)
    blocks *= 2; // prettier-ignore
  const items = rows * width * Math.min(blocks, total);
  // Rounds of equal length.
  const lanes = roundUp(ceil(items, ceil(items * split, MAX_THREADS)), 32);
  const threads = Math.max(MIN_THREADS, Math.min(MAX_THREADS, lanes * split));
  return { rows, blocks, sourceWords: sourceWords(rows), weightWords: weightWords(blocks), threads: roundUp(threads, 32 * split) };
}

/** The launch of a split that is among directSplits. */
export function directPlan(c: ConvolutionSizes, { block, split }: DirectSplit): DirectPlan {
  const { kind, element, layouts, kernel, stride, dilation, padding } = c;
  if (kind !== "weightGradient") {
    const { rows, blocks, sourceWords, weightWords, threads } = sizesFor(c, { block, split })!;
    const isForward = kind === "forward";
    const [from, to] = isForward ? [c.input, c.output] : [c.output, c.input];
    const [sources, results] = isForward ? [c.channels, c.filters] : [c.filters, c.channels];
    const isWide = isForward && (sources * kernel[0] * kernel[1]) % 4 === 0;
    const sizes = { sources, results, fromHeight: from[0], fromWidth: from[1], toHeight: to[0], toWidth: to[1], rows, blocks };
    const form: DirectForm = { kind, element, layouts, kernel, stride, dilation, padding, block, slices: split, threads, sourceWords, weightWords, isWide, fits: results % (block * blocks) === 0, sizes, ...NO_EPILOGUE }; // prettier-ignore
    return { kind: "planes", form, params: { images: c.images } };
  }
  const segment = ([4, 2] as const).find((n) => c.output[1] % n === 0) ?? 1;
  const isInside = [0, 1].every((i) => padding[i] === 0 && (c.output[i]! - 1) * stride[i]! + (kernel[i]! - 1) * dilation[i]! < c.input[i]!);
  const isWide = layouts.x === "NCHW" && segment === 4 && stride[1] === 1 && c.input[1] % 4 === 0;
  const groups = split * c.channels * kernel[0] * ceil(c.filters, block);
  const segments = (ceil(c.images, split) * c.output[0] * c.output[1]) / segment;
  const maxThreads = block * kernel[1] > MAX_SUMS / 2 ? 512 : 1024;
  const threads = Math.max(MIN_THREADS, Math.min(maxThreads, powerFrom(segments), powerFrom(ceil(2 * ENOUGH_THREADS, groups))));
  const filters = block as DirectWeightForm["block"];
  const size = resultShape(c).reduce((a, d) => a * d, 1);
  const sizes = { channels: c.channels, filters: c.filters, height: c.input[0], width: c.input[1], outHeight: c.output[0], outWidth: c.output[1], size }; // prettier-ignore
  const form: DirectWeightForm = { element, layouts, kernel, stride, dilation, padding, block: filters, segment, threads, isWide, isInside, fits: c.filters % block === 0, isPartial: split > 1, sizes }; // prettier-ignore
  return { kind: "weights", form, params: { images: c.images, parts: split } };
}
