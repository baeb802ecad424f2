/** How a convolution is launched: its form, tile and splits, or the depthwise shader, from its sizes alone. */
import type { DepthwiseForm, DepthwiseNumbers } from "./convolution-depthwise.ts";
import { MAX_DEPTHWISE_TAPS } from "./convolution-depthwise.ts";
import { isPhased, phasedColumns } from "./convolution-phases.ts";
import { NO_EPILOGUE, type EpilogueForm } from "./epilogue.ts";
import { productSizes, splitsOf, stepOf } from "./convolution-gemm.ts";
import type { SumForm } from "./convolution-sum.ts";
import { variantOf } from "../shader-forms.ts";
import { CONVOLUTION_TILES, PIXELS, chunkOf, type ConvolutionElement, type ConvolutionForm, type ConvolutionKind, type ConvolutionNumbers, type ConvolutionTile, type Layouts, type Pair } from "./convolution-tiles.ts"; // prettier-ignore

/** Of y = conv(x, w): x [images, groups * channels, input...], w [groups * filters, channels, kernel...], y [images, groups * filters, output...]. */
export interface ConvolutionSizes {
  readonly kind: ConvolutionKind;
  readonly element: ConvolutionElement;
  readonly layouts: Layouts;
  readonly images: number;
  readonly groups: number;
  /** Of one group. */
  readonly channels: number;
  readonly filters: number;
  readonly input: Pair;
  readonly kernel: Pair;
  readonly output: Pair;
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
}

export interface TiledPlan {
  readonly form: ConvolutionForm;
  readonly tile: ConvolutionTile;
  readonly params: ConvolutionNumbers;
  readonly splits: number;
  /** What adds the splits' parts; null where there is one. */
  readonly sum: { readonly form: SumForm; readonly inner: number; readonly channels: number } | null;
}

/** Groups that keep a device's multiprocessors busy. */
const ENOUGH = 264;
/** Steps that a split has at least: each costs a pass over the result. */
const MIN_STEPS = 8;
const MAX_SPLITS = 64;

const ceil = (n: number, by: number): number => Math.ceil(n / by);
const area = ([a, b]: Pair): number => a * b;

/** Shape of the result. */
export function resultShape(c: ConvolutionSizes): readonly [number, number, number, number] {
  if (c.kind === "weightGradient") return [c.groups * c.filters, c.channels, ...c.kernel];
  const isForward = c.kind === "forward";
  return [c.images, c.groups * (isForward ? c.filters : c.channels), ...(isForward ? c.output : c.input)];
}

/** Products of a convolution. */
export const multiplyAdds = (c: ConvolutionSizes): number => c.images * c.groups * c.channels * c.filters * area(c.kernel) * area(c.output);

/** Whether it is like those that were measured to be faster where they have many products. */
export function isLikeMeasured(c: ConvolutionSizes): boolean {
  const taps = area(c.kernel);
  // Sums over few pixels; most taps between the steps of windows; rows of planes that are read element by element.
  if (c.kind === "weightGradient") return c.images * area(c.output) >= (taps > 1 ? 1024 : 512);
  // 16 channels leave half of each tile empty: 86 instead of DirectML's 48 microseconds for 64 x 16, 14 x 14, of 32 filters of 5 x 5.
  if (c.kind === "inputGradient") return c.channels >= 32 && (area(c.stride) === 1 || isPhased(c));
  return taps > 1 || area(c.output) % 4 === 0;
}

interface ChosenTile {
  readonly tile: ConvolutionTile;
  /** The splits that it is to have. */
  readonly wished: number;
}

/** Splits of the sums, as multiples of those that the sizes choose, which `tune` compares. */
const SPLITS = { "": 1, " half the splits": 0.5, " twice the splits": 2 } as const;

/** Tiles and splits by name. A wide or large tile's code is long where each phase has its own. */
const VARIANTS = Object.keys(CONVOLUTION_TILES).flatMap((tile) =>
  Object.keys(SPLITS).map((splits) => [`${tile}${splits}`, tile as keyof typeof CONVOLUTION_TILES, splits as keyof typeof SPLITS] as const),
);

/** Of C and the sums' length, and the groups of a tile. */
function groupedSizes(c: ConvolutionSizes) {
  const sizes = productSizes(c, numbersOf(c));
  return { ...sizes, groups: ({ bm, bn }: ConvolutionTile): number => ceil(sizes.rows, bm) * ceil(sizes.columns, bn) * c.groups };
}

/** The tile and the splits that `tune` says; null: it says none, or another form. */
export function tunedTile(c: ConvolutionSizes): ChosenTile | null {
  const { rows, columns, depth, groups } = groupedSizes(c);
  const usualSplits = (tile: ConvolutionTile): number => (groups(tile) >= 0.9 * ENOUGH ? 1 : (2 * ENOUGH) / groups(tile));
  const possible = VARIANTS.filter(([, name, splits]) => {
    const tile = CONVOLUTION_TILES[name];
    const { bm, bn } = tile;
    if (splits !== "" && usualSplits(tile) < 1.5) return false;
    return bm <= 2 * Math.max(32, rows) && bn <= 2 * Math.max(32, columns) && !(isPhased(c) && bm * bn > 64 * 64);
  });
  const fixed = variantOf(possible.map(([name]) => name));
  if (fixed === null) return null;
  const [, name, splits] = possible.find(([named]) => named === fixed)!;
  const tile = CONVOLUTION_TILES[name];
  const steps = ceil(depth, stepOf(c, tile));
  return {
    tile,
    wished: Math.max(1, Math.min(Math.round(usualSplits(tile) * SPLITS[splits]), Math.floor(steps / MIN_STEPS), MAX_SPLITS)),
  };
}

/** The tile and the splits that `tune` says, else those that the sizes choose. */
export function chosenTile(c: ConvolutionSizes): ChosenTile {
  const tuned = tunedTile(c);
  if (tuned !== null) return tuned;
  const { rows, columns, depth, groups } = groupedSizes(c);
  const { large, tall, wide, medium, narrow, small } = CONVOLUTION_TILES;
  // Each phase has code of its own, which large tiles would make long.
  const isLong = isPhased(c);
  if (!isLong && rows > 64 && groups(large) >= ENOUGH) return { tile: large, wished: 1 };
  if (!isLong && rows > 64 && groups(tall) >= ENOUGH) return { tile: tall, wished: 1 };
  if (!isLong && rows > 32 && groups(wide) >= 2 * ENOUGH) return { tile: wide, wished: 1 };
  const isTall = c.kind === "weightGradient" && rows >= 128 && columns > 64;
  const tile = rows <= 32 ? small : columns <= 32 ? narrow : isTall ? tall : medium;
  const steps = ceil(depth, stepOf(c, tile));
  // Of large tiles fewer groups run at once; a few splits would cost more than some idle multiprocessors.
  const enough = groups(tile) >= 0.9 * ENOUGH ? 0 : (isTall ? 1.5 : 2) * ENOUGH;
  const wished = Math.max(1, Math.min(Math.round(enough / groups(tile)), Math.floor(steps / MIN_STEPS), MAX_SPLITS));
  return { tile, wished };
}

const numbersOf = (c: ConvolutionSizes): Omit<ConvolutionNumbers, "perSplit" | "size" | "stepImages" | "stepRows" | "stepColumns"> => ({
  images: c.images,
  groups: c.groups,
  channels: c.channels,
  filters: c.filters,
  height: c.input[0],
  width: c.input[1],
  outHeight: c.output[0],
  outWidth: c.output[1],
});

const isOne = ([a, b]: Pair): boolean => a === 1 && b === 1;

/** The launch with a tile and at most so many splits. Default: as chosenTile has them. */
export function tiledPlan(c: ConvolutionSizes, epilogue: EpilogueForm, chosen = chosenTile(c)): TiledPlan {
  const { kind, kernel, stride, dilation, padding } = c;
  const n = numbersOf(c);
  const { rows, columns, depth } = productSizes(c, n);
  const { tile } = chosen;
  const step = stepOf(c, tile);
  const { splits, perSplit } = splitsOf(c, tile, depth, chosen.wished);
  const result = resultShape(c);
  const size = result.reduce((a, d) => a * d, 1);
  const plane = result[2] * result[3];
  const isInside = [0, 1].every((i) => padding[i] === 0 && (c.output[i]! - 1) * stride[i]! + (kernel[i]! - 1) * dilation[i]! < c.input[i]!);
  const isAligned = isOne(kernel) && isOne(stride) && c.input[0] === c.output[0] && c.input[1] === c.output[1];
  const byPhases = isPhased(c);
  const columnsFit = (byPhases ? phasedColumns(c, n) : [columns]).every((d) => d % tile.bn === 0);
  const fits = { rows: rows % tile.bm === 0, columns: columnsFit, depth: depth % step === 0 };
  const isWeight = kind === "weightGradient";
  // In the data gradient rows of A are read four at a time.
  const isPointwise =
    !isWeight && c.layouts.x === "NCHW" && isInside && isAligned && plane % 4 === 0 && fits.depth && (kind === "forward" || fits.rows);
  const isLastWeight = isWeight && c.layouts.x === "NHWC" && area(kernel) > 1;
  const form: ConvolutionForm = {
    kind,
    element: c.element,
    layouts: c.layouts,
    chunks: { x: chunkOf(kind === "inputGradient" ? c.filters : c.channels), dy: chunkOf(c.filters) },
    kernel,
    stride,
    dilation,
    padding,
    fits,
    isPointwise,
    isInside: isInside && (kind !== "inputGradient" || isAligned),
    isWide: !byPhases && !isLastWeight && (isWeight ? columns : plane) % 4 === 0,
    isPartial: splits > 1,
    ...(splits === 1 ? epilogue : NO_EPILOGUE),
  };
  const outPlane = area(c.output);
  const params: ConvolutionNumbers = {
    ...n,
    perSplit,
    size,
    stepImages: Math.floor(PIXELS / outPlane),
    stepRows: Math.floor((PIXELS % outPlane) / c.output[1]),
    stepColumns: (PIXELS % outPlane) % c.output[1],
  };
  const inner = isWeight ? size : plane;
  const sum = {
    form: { width: inner % 4 === 0 ? (4 as const) : (1 as const), element: c.element, ...epilogue },
    inner,
    channels: isWeight ? 1 : result[1],
  };
  return { form, tile, params, splits, sum: splits > 1 ? sum : null };
}

/** Whether the depthwise shader is for it. */
export const isDepthwise = (c: ConvolutionSizes): boolean =>
  c.groups > 1 && c.channels === 1 && area(c.kernel) <= MAX_DEPTHWISE_TAPS && (c.kind === "forward" || c.filters <= 4);

/** Threads of a group of the weight gradient have at least so many pixels each. */
const MIN_PIXELS = 8 * 128;

export interface DepthwisePlan {
  readonly form: DepthwiseForm;
  readonly params: DepthwiseNumbers;
  readonly parts: number;
}

export function depthwisePlan(c: ConvolutionSizes, epilogue: EpilogueForm): DepthwisePlan {
  const result = resultShape(c);
  const pixels = c.images * area(c.output);
  const parts =
    c.kind === "weightGradient" ? Math.max(1, Math.min(ceil(4 * ENOUGH, c.groups * c.filters), Math.floor(pixels / MIN_PIXELS))) : 1;
  const { kind, element, layouts, kernel, stride, dilation, padding } = c;
  const width = kind !== "weightGradient" && result[3] % 4 === 0 ? (4 as const) : (1 as const);
  const params = { images: c.images, channels: c.groups, multiplier: c.filters, height: c.input[0], width: c.input[1], outHeight: c.output[0], outWidth: c.output[1], parts }; // prettier-ignore
  return { form: { kind, element, layouts, isPartial: parts > 1, kernel, stride, dilation, padding, width, ...epilogue }, params, parts };
}
