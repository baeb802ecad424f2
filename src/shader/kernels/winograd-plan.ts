/** Which convolutions Winograd's method can compute, and how its launches divide the work, from the sizes alone. */
import { variantOf } from "../shader-forms.ts";
import { multiplyAdds, resultShape, type ConvolutionSizes } from "./convolution-plan.ts";
import type { Pair } from "./convolution-tiles.ts";
import { fitOf, TILES, type Fit, type Tile } from "./gemm.ts";
import { planesOf, type PlanesForm, type TileSize, type TileWidth, type TilesNumbers, type TransformedPlanes } from "./winograd.ts";

/** The tiles of the products that are compared. */
export const WINOGRAD_TILES = {
  large: TILES.large,
  medium: TILES.medium,
  mediumInTwo: { ...TILES.medium, slices: 2 },
  smallInTwo: TILES.smallInTwo,
} as const satisfies { readonly [name: string]: Tile };
export type WinogradTile = keyof typeof WINOGRAD_TILES;

/** How the work is divided; a variant that `tune` compares. */
export interface WinogradSplit {
  /** Results of a tile along an axis: F(2 x 2, 3 x 3) or F(4 x 4, 3 x 3). */
  readonly size: TileSize;
  /** Of the products. */
  readonly tile: WinogradTile;
  /** Parts of the products' sums, which are added with the last transform. */
  readonly split: number;
  /** Tiles of a thread of the transforms of planes. */
  readonly width: TileWidth;
}

/** Fewer channels leave the products too little to do for the transforms' traffic; estimated. */
const THRESHOLDS = { channels: 32, products: 2 ** 21 } as const;
/** Channels and filters that were measured. */
const MEASURED_CHANNELS = 64;
/** What a buffer of a shader may hold, in elements. */
const MAX_ELEMENTS = 2 ** 27;
/** Groups that keep a device's multiprocessors busy, and threads. */
const [ENOUGH, ENOUGH_THREADS] = [264, 2 ** 14];
/** Kernels of the weight gradient that keep a device busy, with a thread for each. */
const ENOUGH_KERNELS = 2 ** 16;
/** Terms that a part of the sums has at least, and those of the weight gradient's usual parts: the products of 64 x 64 channels of 32 x 32 took 2 microseconds less in 16 parts than in 32. */
const [MIN_TERMS, USUAL_TERMS] = [64, 256];
const MAX_SPLIT = 64;

const ceil = (n: number, by: number): number => Math.ceil(n / by);
const roundUp = (n: number, to: number): number => ceil(n, to) * to;
const isBoth = ([a, b]: Pair, n: number): boolean => a === n && b === n;

/** Whether the sizes are those of a convolution that it computes: kernels of 3 x 3 with stride 1, in NCHW. */
export function isWinograd(c: ConvolutionSizes): boolean {
  if (!isBoth(c.kernel, 3) || !isBoth(c.stride, 1) || !isBoth(c.dilation, 1) || c.groups !== 1) return false;
  if (c.layouts.x !== "NCHW" || c.layouts.dy !== "NCHW") return false;
  return multiplyAdds(c) > 0 && resultShape(c).every((d) => d > 0) && winogradSplits(c).length > 0;
}

/** Whether it is likely to be faster than the implicit GEMM. */
export const isForWinograd = (c: ConvolutionSizes): boolean =>
  Math.min(c.channels, c.filters) >= THRESHOLDS.channels && multiplyAdds(c) >= THRESHOLDS.products && isWinograd(c);

/** Whether it is like those that were measured to be faster where they have many products (measured.ts). */
export const isLikeMeasuredWinograd = (c: ConvolutionSizes): boolean => Math.min(c.channels, c.filters) >= MEASURED_CHANNELS;

interface Sizes {
  /** The plane that is cut into tiles of results; in the weight gradient that of dy. */
  readonly plane: Pair;
  readonly tiles: Pair;
  /** Of all images. */
  readonly count: number;
  /** Of each product: rows and columns of the result, and terms of its sums. In forward and the data gradient tiles are columns, in the weight gradient terms. */
  readonly rows: number;
  readonly columns: number;
  readonly terms: number;
}

function sizesOf(c: ConvolutionSizes, size: TileSize): Sizes {
  const plane = c.kind === "inputGradient" ? c.input : c.output;
  const tiles: Pair = [ceil(plane[0], size), ceil(plane[1], size)];
  const count = c.images * tiles[0] * tiles[1];
  const [rows, columns, terms] = {
    forward: [c.filters, count, c.channels],
    inputGradient: [c.channels, count, c.filters],
    weightGradient: [c.filters, c.channels, count],
  }[c.kind] as [number, number, number];
  return { plane, tiles, count, rows, columns, terms };
}

/** The products of the matrices, in `split` parts each. */
export interface WinogradProduct {
  /** Matrices. */
  readonly planes: number;
  readonly tile: Tile;
  readonly fit: Fit;
  readonly rows: number;
  /** With what is behind the last tile. */
  readonly columns: number;
  /** Of each part. */
  readonly terms: number;
  readonly split: number;
}

/** What is empty at the end may cost so much of the work for tiles that fit. */
const MAX_EMPTY = 1 / 8;

type Products = Pick<WinogradSplit, "size" | "tile" | "split">;

function productOf(c: ConvolutionSizes, { size, tile: name, split: wished }: Products): WinogradProduct {
  const { rows, columns: count, terms: all } = sizesOf(c, size);
  const planes = planesOf(size);
  const tile = WINOGRAD_TILES[name];
  const deep = tile.bk * tile.slices;
  if (c.kind === "weightGradient") {
    // Both operands are transposed on their way to shared memory.
    const padded = { ...tile, pad: 4 };
    const terms = roundUp(ceil(all, wished), deep);
    const form = { transA: false, transB: true };
    return { planes, tile: padded, fit: fitOf(padded, [rows, count, terms], form), rows, columns: count, terms, split: ceil(all, terms) };
  }
  const whole = roundUp(count, tile.bn);
  const columns = whole <= count * (1 + MAX_EMPTY) ? whole : roundUp(count, 4);
  const split = all % wished === 0 ? wished : 1;
  return {
    planes,
    tile,
    fit: fitOf(tile, [rows, columns, all / split], { transA: true, transB: false }),
    rows,
    columns,
    terms: all / split,
    split,
  };
}

const groupsOf = ({ planes, tile, rows, columns, split }: WinogradProduct): number =>
  planes * ceil(rows, tile.bm) * ceil(columns, tile.bn) * split;

/** Elements of the largest buffer. */
const elementsOf = (p: WinogradProduct): number => p.planes * p.split * Math.max(p.rows * p.columns, p.rows * p.terms, p.terms * p.columns);

/** Parts for about so many groups. */
function splitFor(c: ConvolutionSizes, size: TileSize, tile: WinogradTile, enough: number, minTerms = MIN_TERMS): number {
  const one = productOf(c, { size, tile, split: 1 });
  const maxSplit = Math.max(1, Math.min(MAX_SPLIT, Math.floor(one.terms / minTerms)));
  let split = Math.max(1, Math.min(maxSplit, Math.round(enough / groupsOf(one))));
  // Parts of forward and the data gradient are equal.
  if (c.kind !== "weightGradient") while (one.terms % split !== 0) split--;
  return productOf(c, { size, tile, split }).split;
}

/** Tiles of a thread: four adjacent ones, where there are threads enough. Four that are not adjacent took up to 10 microseconds longer; large ones take many registers. */
function usualWidth(c: ConvolutionSizes, size: TileSize): TileWidth {
  const { plane, count } = sizesOf(c, size);
  const threads = (count * Math.min(c.channels, c.filters)) / 4;
  return size === 2 && plane[1] % (4 * size) === 0 && threads >= ENOUGH_THREADS ? 4 : 1;
}

/** What `tune` compares of a size of tiles; none: a buffer would be too large. */
function splitsOf(c: ConvolutionSizes, size: TileSize): WinogradSplit[] {
  const { rows, columns } = sizesOf(c, size);
  const width = usualWidth(c, size);
  // Few of the large tiles: each form is compiled and timed.
  const names = size === 4 ? (["medium"] as const) : (Object.keys(WINOGRAD_TILES) as WinogradTile[]);
  return names.flatMap((tile) => {
    const { bm, bn } = WINOGRAD_TILES[tile];
    // Half of a tile would be empty.
    if (tile !== "medium" && (bm >= 2 * Math.max(32, rows) || bn >= 2 * Math.max(32, columns))) return [];
    const wished = [splitFor(c, size, tile, 2 * ENOUGH)];
    if (tile === "medium") wished.push(splitFor(c, size, tile, ENOUGH));
    if (groupsOf(productOf(c, { size, tile, split: 1 })) >= ENOUGH / 4) wished.push(1);
    if (c.kind === "weightGradient") wished.push(splitFor(c, size, tile, 2 * ENOUGH, USUAL_TERMS));
    return [...new Set(wished)].flatMap((split) =>
      elementsOf(productOf(c, { size, tile, split })) > MAX_ELEMENTS ? [] : [{ size, tile, split, width }],
    );
  });
}

/** What `tune` compares; none: a buffer would be too large. Tiles of 4 x 4 need more than one for each image and axis. */
export function winogradSplits(c: ConvolutionSizes): WinogradSplit[] {
  const isLarge = sizesOf(c, 4).tiles.every((n) => n > 1);
  return [...splitsOf(c, 2), ...(isLarge ? splitsOf(c, 4) : [])];
}

const nameOf = ({ size, tile, split, width }: WinogradSplit, usual: TileWidth): string =>
  `winograd${size === 2 ? "" : " of 4"} ${tile} / ${split}${width === usual ? "" : width === 4 ? ", four tiles" : ", one tile"}`;

/** The split that the sizes choose, of those with tiles of a size; null: a buffer would be too large. */
export function usualWinogradSplit(c: ConvolutionSizes, size: TileSize = 2): WinogradSplit | null {
  const splits = winogradSplits(c).filter((s) => s.size === size);
  const { rows, columns } = sizesOf(c, size);
  const groups = (tile: WinogradTile): number => groupsOf(productOf(c, { size, tile, split: 1 }));
  const tile = ((): WinogradTile => {
    if (size === 4) return "medium";
    if (Math.min(rows, columns) <= 32) return "smallInTwo";
    // Larger tiles were slower at the other sizes that were measured, up to 512 channels of 7 x 7 and 64 of 56 x 56.
    if (c.kind === "weightGradient" && groups("large") >= 0.9 * ENOUGH) return "large";
    return c.kind === "weightGradient" || groups("medium") >= 0.9 * ENOUGH ? "medium" : "mediumInTwo";
  })();
  // Its groups have twice the threads.
  const enough = tile === "mediumInTwo" ? ENOUGH / 2 : ENOUGH;
  const wished =
    groups(tile) >= 0.9 * enough ? 1 : splitFor(c, size, tile, 2 * enough, c.kind === "weightGradient" ? USUAL_TERMS : MIN_TERMS);
  return splits.find((s) => s.tile === tile && s.split === wished) ?? splits.find((s) => s.tile === tile) ?? splits[0] ?? null;
}

/** The variants by name: what `tune` compares, and the usual one with the other width of the transforms. */
export function winogradVariants(c: ConvolutionSizes): ReadonlyMap<string, WinogradSplit> {
  const splits = winogradSplits(c);
  const usual = usualWinogradSplit(c);
  const other: readonly WinogradSplit[] = usual === null ? [] : [{ ...usual, width: usual.width === 4 ? 1 : 4 }];
  return new Map([...splits, ...other].map((split) => [nameOf(split, usualWidth(c, split.size)), split]));
}

/** The split that `tune` says; null: it says none, or another form. Weight gradients keep the smaller error of F(2 x 2, 3 x 3). */
export function tunedWinogradSplit(c: ConvolutionSizes): WinogradSplit | null {
  if (!isWinograd(c)) return null;
  const variants = [...winogradVariants(c)].filter(([, { size }]) => size === 2 || c.kind !== "weightGradient");
  const name = variantOf(variants.map(([own]) => own));
  return variants.find(([own]) => own === name)?.[1] ?? null;
}

interface Transform<F> {
  readonly form: F;
  readonly params: TilesNumbers;
}

/** A transform of planes into rows of `perRow` tiles. */
function planesFor(
  c: ConvolutionSizes,
  of: TransformedPlanes,
  perRow: number,
  splits: number,
  { size, width: wished }: WinogradSplit,
): Transform<PlanesForm> {
  const { tiles, count } = sizesOf(c, size);
  const isGradient = of === "gradient of weights";
  const source = c.kind === "inputGradient" || isGradient ? c.output : c.input;
  const channels = c.kind === "inputGradient" || isGradient ? c.filters : c.channels;
  const padding: Pair = isGradient ? [0, 0] : c.kind === "inputGradient" ? [2 - c.padding[0], 2 - c.padding[1]] : c.padding;
  const width = perRow % 4 === 0 ? wished : 1;
  const isRow = width === 4 && tiles[1] % 4 === 0;
  const isWide = (isRow || size === 4) && source[1] % 4 === 0;
  const form = { size, of, element: c.element, width, isRow, padding, isWide };
  return { form, params: numbersOf({ width, isRow, perRow, rows: splits * channels, channels, tiles, count, plane: source }) };
}

interface Launched {
  readonly width: TileWidth;
  readonly isRow: boolean;
  readonly perRow: number;
  readonly rows: number;
  readonly channels: number;
  readonly tiles: Pair;
  readonly count: number;
  readonly plane: Pair;
}

function numbersOf({ width, isRow, perRow, rows, channels, tiles, count, plane }: Launched): TilesNumbers {
  const unit = isRow ? width : 1;
  return {
    total: (rows * perRow) / width,
    perRow: perRow / width,
    channels,
    count: count / unit,
    perImage: (tiles[0] * tiles[1]) / unit,
    perTileRow: tiles[1] / unit,
    planeHeight: plane[0],
    planeWidth: plane[1],
  };
}

export interface WinogradPlan {
  readonly product: WinogradProduct;
  readonly source: Transform<PlanesForm>;
  /** Of dy, in the weight gradient; else null. */
  readonly gradient: Transform<PlanesForm> | null;
  /** Of products to planes; in the weight gradient null. */
  readonly result: Transform<{ readonly size: TileSize; readonly width: TileWidth; readonly isRow: boolean; readonly fits: { readonly rows: boolean; readonly columns: boolean } }> | null;
  /** As WeightGradientForm has it. */
  readonly hasLanes: boolean;
} // prettier-ignore

/** The launches of a split that is among winogradVariants. */
export function winogradPlan(c: ConvolutionSizes, split: WinogradSplit): WinogradPlan {
  const { size } = split;
  const product = productOf(c, split);
  const hasLanes = product.split >= 4 || c.channels * c.filters < ENOUGH_KERNELS;
  if (c.kind === "weightGradient") {
    const planes = (of: TransformedPlanes): Transform<PlanesForm> => planesFor(c, of, product.terms, product.split, split);
    return { product, source: planes("source of weights"), gradient: planes("gradient of weights"), result: null, hasLanes };
  }
  const { plane, tiles, count } = sizesOf(c, size);
  const width = product.columns % 4 === 0 ? split.width : 1;
  const isRow = width === 4 && plane[1] % (4 * size) === 0;
  const form = { size, width, isRow, fits: { rows: plane[0] % size === 0, columns: plane[1] % size === 0 } };
  const numbers = { width, isRow, perRow: product.columns, rows: product.rows, channels: product.rows, tiles, count, plane };
  const result = { form, params: numbersOf(numbers) };
  return { product, source: planesFor(c, "source", product.columns, 1, split), gradient: null, result, hasLanes };
}
