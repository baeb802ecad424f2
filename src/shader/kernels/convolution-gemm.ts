/**
 * Convolution of float32 as an implicit GEMM over tiles, [N, C, H, W]: forward C[Co, pixels] = w[Co, Ci taps] x[Ci taps, pixels], the data gradient
 * C[Ci, pixels] = w[Co taps, Ci] dy[Co taps, pixels], and the weight gradient C[Co, Ci taps] = dy[Co, pixels] x[pixels, Ci taps]. No columns are in memory. Where C has
 * few tiles, groups share the sums' length (splits), and a second shader adds their parts in order.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Uint } from "../numbers.ts";
import { castBuffers, epilogueBuffers } from "./epilogue.ts";
import { isPhased, phased, phasedColumns, phasedStep } from "./convolution-phases.ts";
import { DEPTH, gatheredLast, gradientLast, sourceLast, weightOf, type WeightPart } from "./convolution-channels-last.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";
import {
  advance,
  allOf,
  gatheredSizes,
  CONVOLUTION_PARAMS,
  loadAdvanced,
  loadWhere,
  multipliedIntoPlanes,
  multiplied,
  nameOfForm,
  partOf,
  PIXELS,
  sharedTiles,
  sourceTap,
  threadsOf,
  unitOf,
  unitsFor,
  written,
  type ConvolutionForm,
  type ConvolutionNumbers,
  type ConvolutionTile,
  type Operand,
  type S,
} from "./convolution-tiles.ts";

const ceil = (n: number, by: number): number => Math.ceil(n / by);

/** Sizes of C and of the sums in one group of channels; `depth` is what perSplit counts. */
export function productSizes(
  { kind, kernel, stride, layouts }: Pick<ConvolutionForm, "kind" | "kernel" | "stride" | "layouts">,
  n: Pick<ConvolutionNumbers, "images" | "channels" | "filters" | "height" | "width" | "outHeight" | "outWidth">,
): { readonly rows: number; readonly columns: number; readonly depth: number } {
  const taps = kernel[0] * kernel[1];
  const outputs = n.images * n.outHeight * n.outWidth;
  if (kind === "weightGradient") return { rows: n.filters, columns: n.channels * taps, depth: outputs };
  const units = readsChunks({ kind, kernel, stride, layouts }) ? taps : taps / unitOf(kernel);
  return kind === "forward"
    ? { rows: n.filters, columns: outputs, depth: n.channels * units }
    : { rows: n.channels, columns: n.images * n.height * n.width, depth: n.filters * units };
}

type Windows = Pick<ConvolutionForm, "kind" | "kernel" | "stride" | "dilation" | "padding" | "layouts">;

/** Whether the sums go over chunks of channels of x in NHWC; by phases they go over filters. */
const readsChunks = (form: Pick<Windows, "kind" | "kernel" | "stride" | "layouts">): boolean => form.layouts.x === "NHWC" && form.kind !== "weightGradient" && !isPhased(form); // prettier-ignore

/** Length of a step, in what perSplit counts. */
export function stepOf(form: Windows, tile: ConvolutionTile): number {
  if (form.kind === "weightGradient") return PIXELS;
  if (readsChunks(form)) return DEPTH;
  return isPhased(form) ? phasedStep(form, tile) : unitsFor(tile, unitOf(form.kernel));
}

/** Splits that are launched where so many are wished: none is empty. */
export function splitsOf(
  form: Windows,
  tile: ConvolutionTile,
  depth: number,
  wished: number,
): { readonly splits: number; readonly perSplit: number } {
  const step = stepOf(form, tile);
  const steps = ceil(depth, step);
  const each = ceil(steps, Math.max(1, Math.min(wished, steps)));
  return { splits: ceil(steps, each), perSplit: each * step };
}

/** Forward and the data gradient: columns of C are pixels of the result, whose windows are gathered from the source. */
function gathered(s: S, form: ConvolutionForm, tile: ConvolutionTile): void {
  const { kernel: size, fits, isPointwise } = form;
  const isForward = form.kind === "forward";
  const { bm, bn } = tile;
  const p = s.params;
  const { x: source, w } = s.buffers as { readonly x: Numbers; readonly w: Numbers };
  const taps = size[0] * size[1];
  const unit = unitOf(size);
  const [perChannel, perStep, threads] = [taps / unit, unitsFor(tile, unitOf(size)), threadsOf(tile)];
  const { rows, deep, from, to } = gatheredSizes(s, form);
  const [fromPlane, toPlane] = [from[0].mul(from[1]), to[0].mul(to[1])];
  const columns = p.images.mul(toPlane);
  const units = deep.mul(perChannel);
  const { row, column, group, split } = partOf(s, tile, rows, columns);

  const tapAlong = (axis: 0 | 1, at: Uint, tap: Uint | number): ReturnType<typeof sourceTap> =>
    sourceTap(s, form, axis, at, tap, from[axis]);

  const wideB = isPointwise ? 4 : 1;
  const inRow = bn / wideB;
  const [within, sub] = [s.local.mod(inRow).mul(wideB), s.local.div(inRow)];
  const together = threads / inRow;
  const pixel = column.add(within);
  const [image, rest] = [pixel.div(toPlane), pixel.mod(toPlane)];
  const [y, x] = [rest.div(to[1]), rest.mod(to[1])];
  const base = image.mul(p.groups).add(group).mul(deep).mul(fromPlane);
  const pixelInside = fits.columns ? null : pixel.lt(columns);
  const isStatic = unit === taps;
  const alongX = unit === 1 && !isStatic ? null : Array.from({ length: size[1] }, (_, q) => tapAlong(1, x, q));
  const alongY = isStatic ? Array.from({ length: size[0] }, (_, q) => tapAlong(0, y, q)) : null;
  const offsets = isStatic ? alongY!.flatMap((v) => alongX!.map((u) => v.at.mul(from[1]).add(u.at))) : null;
  /** A bit for each tap that lies inside. */
  const mask = ((): Uint | null => {
    if (!isStatic || form.isInside) return null;
    const bits = alongY!.flatMap((v, i) => alongX!.map((u, j) => v.inside.and(u.inside).select(s.u32(1 << (i * size[1] + j)), 0)));
    const all = bits.reduce((a, b) => a.or(b));
    return pixelInside === null ? all : pixelInside.select(all, 0);
  })();

  const operandB: Operand = {
    fetch: (at) =>
      Array.from({ length: perStep / together }, (_, i) => {
        const u = at.add(i * together).add(sub);
        const unitInside = fits.depth ? null : u.lt(units);
        const channel = base.add(u.div(perChannel).mul(fromPlane));
        if (isPointwise) return loadWhere(source, pixelInside, channel.add(rest), 4);
        if (isStatic)
          return Array.from({ length: unit }, (_, q) => {
            const inside = mask === null ? pixelInside : mask.and(1 << q).ne(0);
            return loadWhere(source, allOf(inside, unitInside), channel.add(offsets![q]!))[0]!;
          });
        const part = u.mod(perChannel);
        const v = tapAlong(0, y, unit === 1 ? part.div(size[1]) : part);
        const across = alongX ?? [tapAlong(1, x, part.mod(size[1]))];
        return across.map(
          (t) => loadWhere(source, allOf(pixelInside, unitInside, v.inside, t.inside), channel.add(v.at.mul(from[1])).add(t.at))[0]!,
        );
      }).flat(),
    put: (shared, stride, values) => {
      for (let i = 0; i < perStep / together; i++)
        for (let q = 0; q < unit; q++) {
          const at = sub.add(i * together).mul(unit).add(q).mul(stride).add(within); // prettier-ignore
          shared.stores(at, values.slice((i * unit + q) * wideB, (i * unit + q + 1) * wideB));
        }
    },
  };

  const depth = perStep * unit;
  const wideA = isPointwise ? 4 : 1;
  /** What a thread loads of A: rows of the tile, and the products' index. */
  const positions = Array.from({ length: (bm * depth) / threads / wideA }, (_, i) => {
    const at = s.local.add(i * threads);
    if (isPointwise)
      return isForward
        ? { m: at.div(depth / 4), k: at.mod(depth / 4).mul(4), unit: s.u32(0), tap: s.u32(0) }
        : { m: at.mod(bm / 4).mul(4), k: at.div(bm / 4), unit: at.div(bm / 4), tap: s.u32(0) };
    if (isForward) return { m: at.div(depth), k: at.mod(depth), unit: s.u32(0), tap: s.u32(0) };
    const inUnit = at.mod(bm * unit);
    const [u, tap] = [at.div(bm * unit), inUnit.mod(unit)];
    return { m: inUnit.div(unit), k: u.mul(unit).add(tap), unit: u, tap };
  });
  const length = deep.mul(taps);
  const operandA: Operand = {
    fetch: (at) =>
      positions.flatMap(({ m, k, unit: u, tap }) => {
        const rowInside = fits.rows ? null : row.add(m).lt(rows);
        if (isForward) {
          const index = at.mul(unit).add(k);
          const inside = allOf(rowInside, fits.depth ? null : index.lt(length));
          return loadWhere(w, inside, group.mul(p.filters).add(row).add(m).mul(length).add(index), wideA);
        }
        const which = at.add(u);
        const inside = allOf(rowInside, fits.depth ? null : which.lt(units));
        const filter = group.mul(p.filters).add(which.div(perChannel));
        const index = filter.mul(p.channels).add(row).add(m).mul(taps).add(which.mod(perChannel).mul(unit)).add(tap); // prettier-ignore
        return loadWhere(w, inside, index, wideA);
      }),
    put: (shared, stride, values) =>
      positions.forEach(({ m, k }, i) => {
        const own = values.slice(i * wideA, (i + 1) * wideA);
        if (isPointwise && !isForward) shared.stores(k.mul(stride).add(m), own);
        else own.forEach((v, q) => shared.store(k.add(q).mul(stride).add(m), v));
      }),
  };

  multipliedIntoPlanes(s, form, tile, { row, column, rows, columns, group, split, plane: toPlane }, { depth, step: perStep, length: units, padsB: false }, operandA, operandB); // prettier-ignore
}

/** The weight gradient: the sums are over pixels. */
function weighed(s: S, form: ConvolutionForm, tile: ConvolutionTile): void {
  const { kernel: size, stride, dilation, padding, fits } = form;
  const { bm, bn } = tile;
  const p = s.params;
  const { x: source, dy } = s.buffers as { readonly x: Numbers; readonly dy: Numbers };
  const taps = size[0] * size[1];
  const threads = threadsOf(tile);
  const [rows, columns] = [p.filters, p.channels.mul(taps)];
  const [plane, outPlane] = [p.height.mul(p.width), p.outHeight.mul(p.outWidth)];
  const pixels = p.images.mul(outPlane);
  const { row, column, group, split } = partOf(s, tile, rows, columns);
  const [own, sub] = [s.local.mod(PIXELS), s.local.div(PIXELS)];
  const together = threads / PIXELS;
  const first = split.mul(p.perSplit);
  const end = first.add(p.perSplit).min(pixels);

  // The pixel that this thread loads next: it moves by a constant.
  const start = first.add(own);
  const image = s.variable(start.div(outPlane));
  const y = s.variable(start.mod(outPlane).div(p.outWidth));
  const x = s.variable(start.mod(outPlane).mod(p.outWidth));

  const rowsOf = Array.from({ length: bm / together }, (_, i) => sub.add(i * together));
  const columnsOf = Array.from({ length: bn / together }, (_, i) => {
    const m = sub.add(i * together);
    const c = column.add(m);
    const [channel, tap] = [c.div(taps), c.mod(taps)];
    const [top, left] = [tap.div(size[1]).mul(dilation[0]).sub(padding[0]), tap.mod(size[1]).mul(dilation[1]).sub(padding[1])] as const;
    return { m, top, left, inside: fits.columns ? null : c.lt(columns), at: channel.mul(plane).add(top.mul(p.width)).add(left) };
  });
  const part: WeightPart = { row, column, rows, columns, group, pixels, first };
  const { layouts } = form;
  const plainA = (): Operand => ({
    fetch: (at) => {
      const inside = fits.depth ? null : at.add(own).lt(pixels);
      const base = image.value.mul(p.groups).add(group).mul(p.filters).mul(outPlane).add(y.value.mul(p.outWidth)).add(x.value); // prettier-ignore
      const values = rowsOf.map((m) => {
        const rowInside = fits.rows ? null : row.add(m).lt(rows);
        return loadAdvanced(dy, allOf(inside, rowInside), base.add(row.add(m).mul(outPlane)))[0]!;
      });
      // x in NHWC has pixels of its own.
      if (layouts.x === "NHWC") advance(s, image, y, x);
      return values;
    },
    put: (shared, stride, values) => rowsOf.forEach((m, i) => shared.store(own.mul(stride).add(m), values[i]!)),
  });
  const plainB = (): Operand => ({
    fetch: (at) => {
      const pixelInside = fits.depth ? null : at.add(own).lt(pixels);
      const [top, left] = [y.value.mul(stride[0]), x.value.mul(stride[1])];
      const base = image.value.mul(p.groups).add(group).mul(p.channels).mul(plane).add(top.mul(p.width)).add(left); // prettier-ignore
      const values = columnsOf.map((c) => {
        const seen = form.isInside ? null : top.add(c.top).lt(p.height).and(left.add(c.left).lt(p.width));
        return loadAdvanced(source, allOf(pixelInside, c.inside, seen), base.add(c.at))[0]!;
      });
      advance(s, image, y, x);
      return values;
    },
    put: (shared, stride, values) => columnsOf.forEach(({ m }, i) => shared.store(own.mul(stride).add(m), values[i]!)),
  });
  const sums = multiplied(
    s,
    tile,
    { depth: PIXELS, step: PIXELS, from: first, end, shared: sharedTiles(s, tile, PIXELS) },
    layouts.dy === "NHWC" ? gradientLast(s, form, tile, part) : plainA(),
    layouts.x === "NHWC" ? sourceLast(s, form, tile, part) : plainB(),
  );
  const offset = form.isPartial ? split.mul(p.size) : s.u32(0);
  written(s, form, tile, sums, {
    row,
    column,
    rows,
    columns,
    at: (c) => offset.add(group.mul(p.filters).mul(columns)).add(layouts.x === "NHWC" ? weightOf(c, form) : c),
    rowStride: columns,
    firstBias: s.u32(0),
  });
}

function bodyOf(form: ConvolutionForm): (s: S, form: ConvolutionForm, tile: ConvolutionTile) => void {
  if (form.kind === "weightGradient") return weighed;
  if (isPhased(form)) return phased;
  return form.layouts.x === "NHWC" ? gatheredLast : gathered;
}

/** @internal What a shader of convolution is: its buffers, its threads, the groups of a launch, its code. */
export function convolutionKernel(form: ConvolutionForm, tile: ConvolutionTile) {
  const names = form.kind === "weightGradient" ? ["x", "dy"] : ["x", "w", ...epilogueBuffers(form)];
  const groups = (params: LaunchFacts["params"]): number => {
    const n = params as unknown as ConvolutionNumbers;
    const { rows, columns, depth } = productSizes(form, n);
    const across = (isPhased(form) ? phasedColumns(form, n) : [columns]).reduce((sum, c) => sum + ceil(c, tile.bn), 0);
    return ceil(rows, tile.bm) * across * n.groups * ceil(depth, n.perSplit);
  };
  return {
    name: nameOfForm(form, tile),
    inputs: Object.fromEntries(names.map((name) => [name, form.element])),
    outputs: { y: form.isPartial ? "f32" : form.element },
    params: CONVOLUTION_PARAMS,
    threads: threadsOf(tile),
    groups,
    body: (s: S): void => bodyOf(form)(s, form, tile),
  };
}

/** The shader of a form: x, w and bias, or x and dy, to y or parts of it. In the data gradient x is dy, and y is dx. */
export function convolution(form: ConvolutionForm, tile: ConvolutionTile): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = convolutionKernel(form, tile);
  return kernel(
    name,
    { inputs, outputs, params, threads, groups: (facts) => groups(facts.params), isOneOfMany: true, casts: castBuffers(form) },
    (s) => body(s as unknown as S),
  );
}
