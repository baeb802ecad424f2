/**
 * Convolution as an implicit GEMM with operands in NHWC. Neighbouring threads read neighbouring channels of a pixel, four at a time where there are as many. The sums go
 * over some channels (a chunk) of each tap, then over the next ones, so that overlapping windows are read while they are in the cache. Weights and results are as in NCHW.
 */
import type { Bool, Uint } from "../numbers.ts";
import type { Numbers } from "./kernel.ts";
import {
  advance,
  allOf,
  gatheredSizes,
  loadAdvanced,
  loadWhere,
  multipliedIntoPlanes,
  partOf,
  sourceTap,
  threadsOf,
  type Chunk,
  type ConvolutionForm,
  type ConvolutionTile,
  type Operand,
  type S,
} from "./convolution-tiles.ts";

/** Products of a step for each element of C. */
export const DEPTH = 16;

/** The channel and the tap of a product: some channels of each tap, then the next ones. */
function productOf(at: Uint, taps: number, chunk: Chunk): { readonly channel: Uint; readonly tap: Uint } {
  if (taps === 1) return { channel: at, tap: at.mul(0) };
  if (chunk === 1) return { channel: at.div(taps), tap: at.mod(taps) };
  const unit = at.div(chunk);
  return { channel: unit.div(taps).mul(chunk).add(at.mod(chunk)), tap: unit.mod(taps) };
}

const widthOf = (chunk: Chunk): 1 | 4 => (chunk === 1 ? 1 : 4);

/** Forward and the data gradient, whose source is in NHWC. */
export function gatheredLast(s: S, form: ConvolutionForm, tile: ConvolutionTile): void {
  const { kernel: size, fits } = form;
  const chunk = form.chunks.x;
  const isForward = form.kind === "forward";
  const { bm, bn } = tile;
  const p = s.params;
  const { x: source, w } = s.buffers as { readonly x: Numbers; readonly w: Numbers };
  const taps = size[0] * size[1];
  const threads = threadsOf(tile);
  const { rows, deep, from, to } = gatheredSizes(s, form);
  const toPlane = to[0].mul(to[1]);
  const columns = p.images.mul(toPlane);
  const length = deep.mul(taps);
  const { row, column, group, split } = partOf(s, tile, rows, columns);
  const perPixel = p.groups.mul(deep);

  const wide = widthOf(chunk);
  const across = DEPTH / wide;
  const own = s.local.mod(across).mul(wide);
  const pixels = Array.from({ length: (bn * DEPTH) / wide / threads }, (_, i) => {
    const within = s.local.div(across).add((i * threads) / across);
    const pixel = column.add(within);
    const rest = pixel.mod(toPlane);
    return {
      within,
      y: rest.div(to[1]),
      x: rest.mod(to[1]),
      base: pixel.div(toPlane).mul(from[0]).mul(from[1]).mul(perPixel).add(group.mul(deep)),
      inside: fits.columns ? null : pixel.lt(columns),
    };
  });
  const operandB: Operand = {
    fetch: (at) => {
      const product = at.add(own);
      const { channel, tap } = productOf(product, taps, chunk);
      const isThere = fits.depth ? null : product.lt(length);
      return pixels.flatMap((pixel) => {
        const [v, u] = [
          sourceTap(s, form, 0, pixel.y, tap.div(size[1]), from[0]),
          sourceTap(s, form, 1, pixel.x, tap.mod(size[1]), from[1]),
        ];
        const seen = form.isInside ? null : v.inside.and(u.inside);
        const index = pixel.base.add(v.at.mul(from[1]).add(u.at).mul(perPixel)).add(channel);
        return loadWhere(source, allOf(isThere, pixel.inside, seen), index, wide);
      });
    },
    put: (shared, stride, values) =>
      pixels.forEach(({ within }, i) => {
        for (let q = 0; q < wide; q++) shared.store(own.add(q).mul(stride).add(within), values[i * wide + q]!);
      }),
  };

  // Weights of one filter are read by neighbouring threads in the forward pass, those of neighbouring channels in the data gradient.
  const wideA = isForward && taps === 1 ? wide : 1;
  const deepA = DEPTH / wideA;
  const positions = Array.from({ length: (bm * DEPTH) / wideA / threads }, (_, i) => {
    const at = s.local.add(i * threads);
    return isForward ? { m: at.div(deepA), k: s.local.mod(deepA).mul(wideA) } : { m: at.mod(bm), k: at.div(bm) };
  });
  const operandA: Operand = {
    fetch: (at) =>
      positions.flatMap(({ m, k }) => {
        const product = at.add(k);
        const { channel, tap } = productOf(product, taps, chunk);
        const inside = allOf(fits.rows ? null : row.add(m).lt(rows), fits.depth ? null : product.lt(length));
        const [filter, ofFilter] = isForward ? [row.add(m), channel] : [channel, row.add(m)];
        return loadWhere(w, inside, group.mul(p.filters).add(filter).mul(p.channels).add(ofFilter).mul(taps).add(tap), wideA);
      }),
    put: (shared, stride, values) =>
      positions.forEach(({ m, k }, i) => {
        for (let q = 0; q < wideA; q++) shared.store(k.add(q).mul(stride).add(m), values[i * wideA + q]!);
      }),
  };

  multipliedIntoPlanes(s, form, tile, { row, column, rows, columns, group, split, plane: toPlane }, { depth: DEPTH, step: DEPTH, length, padsB: true }, operandA, operandB); // prettier-ignore
}

/** What a group of the weight gradient computes. */
export interface WeightPart {
  readonly row: Uint;
  readonly column: Uint;
  readonly rows: Uint;
  readonly columns: Uint;
  readonly group: Uint;
  /** Pixels of all images, and the first one of the group. */
  readonly pixels: Uint;
  readonly first: Uint;
}

/** Pixels of a step that a thread loads, which so many threads load together. */
const pixelsOf = (s: S, tile: ConvolutionTile, across: number): Uint[] =>
  Array.from({ length: Math.ceil((DEPTH * across) / threadsOf(tile)) }, (_, i) => s.local.div(across).add((i * threadsOf(tile)) / across));

/** dy of the weight gradient in NHWC: rows of C are channels of dy. */
export function gradientLast(s: S, form: ConvolutionForm, tile: ConvolutionTile, part: WeightPart): Operand {
  const { row, rows, group, pixels } = part;
  const wide = widthOf(form.chunks.dy);
  const across = tile.bm / wide;
  const m = s.local.mod(across).mul(wide);
  const own = pixelsOf(s, tile, across);
  const { dy } = s.buffers as { readonly dy: Numbers };
  const inside = form.fits.rows ? null : row.add(m).lt(rows);
  const channel = group.mul(rows).add(row).add(m);
  const perPixel = s.params.groups.mul(rows);
  return {
    fetch: (at) =>
      own.flatMap((k) => {
        const pixel = at.add(k);
        const isThere = form.fits.depth ? null : pixel.lt(pixels);
        return loadWhere(dy, allOf(inside, isThere), pixel.mul(perPixel).add(channel), wide);
      }),
    put: (shared, stride, values) => own.forEach((k, i) => shared.stores(k.mul(stride).add(m), values.slice(i * wide, (i + 1) * wide))),
  };
}

/** x of the weight gradient in NHWC: columns of C are some channels of each tap, then the next ones. */
export function sourceLast(s: S, form: ConvolutionForm, tile: ConvolutionTile, part: WeightPart): Operand {
  const { kernel: size, stride, dilation, padding, fits } = form;
  const chunk = form.chunks.x;
  const p = s.params;
  const wide = widthOf(chunk);
  const across = tile.bn / wide;
  const m = s.local.mod(across).mul(wide);
  const { channel, tap } = productOf(part.column.add(m), size[0] * size[1], chunk);
  const [top, left] = [tap.div(size[1]).mul(dilation[0]).sub(padding[0]), tap.mod(size[1]).mul(dilation[1]).sub(padding[1])];
  const isColumn = fits.columns ? null : part.column.add(m).lt(part.columns);
  const perPixel = p.groups.mul(p.channels);
  const { x: source } = s.buffers as { readonly x: Numbers };
  const [plane, outPlane] = [p.height.mul(p.width), p.outHeight.mul(p.outWidth)];
  const fromChannel = part.group.mul(p.channels).add(channel);
  const own = pixelsOf(s, tile, across).map((k) => {
    const pixel = part.first.add(k);
    const rest = pixel.mod(outPlane);
    const [image, y, x] = [s.variable(pixel.div(outPlane)), s.variable(rest.div(p.outWidth)), s.variable(rest.mod(p.outWidth))];
    return { k, image, y, x };
  });
  return {
    fetch: (at) =>
      own.flatMap(({ k, image, y, x }) => {
        const [fromRow, fromColumn] = [y.value.mul(stride[0]).add(top), x.value.mul(stride[1]).add(left)];
        const seen: Bool | null = form.isInside ? null : fromRow.lt(p.height).and(fromColumn.lt(p.width));
        const isThere = fits.depth ? null : at.add(k).lt(part.pixels);
        const index = image.value.mul(plane).add(fromRow.mul(p.width)).add(fromColumn).mul(perPixel).add(fromChannel);
        const values = loadAdvanced(source, allOf(isThere, isColumn, seen), index, wide);
        advance(s, image, y, x);
        return values;
      }),
    put: (shared, stride, values) => own.forEach(({ k }, i) => shared.stores(k.mul(stride).add(m), values.slice(i * wide, (i + 1) * wide))),
  };
}

/** Where a column of C is in a filter's weights. */
export function weightOf(column: Uint, { kernel, chunks }: Pick<ConvolutionForm, "kernel" | "chunks">): Uint {
  const taps = kernel[0] * kernel[1];
  const { channel, tap } = productOf(column, taps, chunks.x);
  return taps === 1 ? channel : channel.mul(taps).add(tap);
}
