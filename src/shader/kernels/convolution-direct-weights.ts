/**
 * Direct convolution of few channels with small kernels: the weight gradient. A group of threads computes one row of the kernel for one channel and a block of filters,
 * over the pixels of all images, or of a part of them. A thread adds the products of neighbouring pixels of a row in registers; sums are float32.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { allOf, loadWhere, type ConvolutionElement } from "./convolution-tiles.ts";
import type { DirectGeometry } from "./convolution-direct.ts";
import { castBuffers, type EpilogueForm } from "./epilogue.ts";
import { GroupReduction, kernel, type Kernel, type Numbers } from "./kernel.ts";

export interface DirectWeightForm extends DirectGeometry, Pick<EpilogueForm, "cast" | "casts"> {
  /** Filters of a group. */
  readonly block: 1 | 2 | 4;
  /** Neighbouring pixels that a thread has at once; a divisor of the rows of dy. */
  readonly segment: 1 | 2 | 4;
  readonly threads: number;
  /** Rows of x are read four elements at a time. */
  readonly isWide: boolean;
  /** No tap lies outside of x. */
  readonly isInside: boolean;
  /** The groups' filters fit. */
  readonly fits: boolean;
  /** The result is parts of sums [parts, ...], in float32. */
  readonly isPartial: boolean;
  readonly sizes: DirectWeightSizes;
}

/** Known when the shader is made: indices are divided by them, for which drivers multiply. size: elements of the result. */
export type DirectWeightSizes = Readonly<Record<"channels" | "filters" | "height" | "width" | "outHeight" | "outWidth" | "size", number>>;

export const DIRECT_WEIGHT_PARAMS = { images: "u32", parts: "u32" } as const;
export type DirectWeightNumbers = Readonly<Record<keyof typeof DIRECT_WEIGHT_PARAMS, number>>;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof DIRECT_WEIGHT_PARAMS>;

/** The sizes as values of the shader. */
function sizesIn(s: S, { sizes }: DirectWeightForm): Readonly<Record<keyof DirectWeightSizes | "images" | "parts", Uint>> {
  const values = Object.fromEntries(Object.entries(sizes).map(([name, n]) => [name, s.u32(n)])) as Record<keyof DirectWeightSizes, Uint>;
  return { ...values, images: s.params.images, parts: s.params.parts };
}

/** Words of shared memory for sums of several threads. */
const MAX_WORDS = 7680;

/** The pixels that a thread adds next: `segment` of them from column x on of row y. */
interface Pixels {
  readonly image: Uint;
  readonly y: Uint;
  /** In segments. */
  readonly x: Uint;
}

/** The elements of x that the windows of the pixels have in one row of the kernel, by their distance from the first one; others are left out. */
function windowRow(s: S, form: DirectWeightForm, { image, y, x }: Pixels, channel: Uint, row: Uint): (distance: number) => Float {
  const { x: source } = s.buffers as { readonly x: Numbers };
  const p = sizesIn(s, form);
  const { kernel: size, stride, dilation, padding, segment } = form;
  const top = y.mul(stride[0]).add(row.mul(dilation[0])).sub(padding[0]);
  const rowInside = form.isInside ? null : top.lt(p.height);
  const distances = Array.from({ length: segment }, (_, q) =>
    Array.from({ length: size[1] }, (_, j) => q * stride[1] + j * dilation[1]),
  ).flat();
  if (!form.isWide) {
    const isLast = form.layouts.x === "NHWC";
    const left = x.mul(segment * stride[1]).sub(padding[1]);
    const start = isLast ? image.mul(p.height).add(top).mul(p.width) : image.mul(p.channels).add(channel).mul(p.height).add(top).mul(p.width); // prettier-ignore
    const values = new Map(
      [...new Set(distances)].map((distance) => {
        const column = left.add(distance);
        const inside = allOf(rowInside, form.isInside ? null : column.lt(p.width));
        const at = start.add(column);
        return [distance, loadWhere(source, inside, isLast ? at.mul(p.channels).add(channel) : at)[0]!] as const;
      }),
    );
    return (distance) => values.get(distance)!;
  }
  // Four elements at a time are all in the row or all outside of it. The first four begin so many before the first pixel.
  const before = Math.ceil(padding[1] / 4);
  const shift = 4 * before - padding[1];
  const width = p.width.div(4);
  const start = image.mul(p.channels).add(channel).mul(p.height).add(top).mul(width);
  const wide = new Map(
    [...new Set(distances.map((distance) => (distance + shift) >> 2))].map((t) => {
      const column = x.add((t - before) >>> 0);
      const inside = allOf(rowInside, form.isInside ? null : column.lt(width));
      const at = start.add(column);
      return [t, loadWhere(source, inside, (inside === null ? at : inside.select(at, 0)).mul(4), 4)] as const;
    }),
  );
  return (distance) => wide.get((distance + shift) >> 2)![(distance + shift) & 3]!;
}

function weighed(s: S, form: DirectWeightForm): void {
  const { dy, y: result } = s.buffers as { readonly dy: Numbers; readonly y: Numbers };
  const { kernel: size, stride, dilation, block, segment, threads } = form;
  const p = sizesIn(s, form);
  const blocks = p.filters.add(block - 1).div(block);
  const first = s.group.mod(blocks).mul(block);
  const above = s.group.div(blocks);
  const row = above.mod(size[0]);
  const channel = above.div(size[0]).mod(p.channels);
  const part = above.div(size[0]).div(p.channels);
  const filters = Array.from({ length: block }, (_, k) => (form.fits ? first.add(k) : first.add(k).min(p.filters.sub(1))));

  const perRow = p.outWidth.div(segment);
  const perImage = p.outHeight.mul(perRow);
  const each = p.images.add(p.parts).sub(1).div(p.parts).mul(perImage);
  const begin = part.mul(each);
  const end = begin.add(each).min(p.images.mul(perImage));
  const sums = Array.from({ length: block }, () => Array.from({ length: size[1] }, () => s.variable(s.f32(0))));
  const isLast = form.layouts.dy === "NHWC";
  s.for(
    begin.add(s.local),
    end,
    (at) => {
      const [image, rest] = [at.div(perImage), at.mod(perImage)];
      const [y, x] = [rest.div(perRow), rest.mod(perRow)];
      const seen = windowRow(s, form, { image, y, x }, channel, row);
      const gradients = filters.map((filter): Float[] => {
        if (!isLast)
          return dy.loadsInside(image.mul(p.filters).add(filter).mul(p.outHeight).add(y).mul(perRow).add(x).mul(segment), segment); // prettier-ignore
        const pixel = image.mul(p.outHeight).add(y).mul(p.outWidth).add(x.mul(segment)); // prettier-ignore
        return Array.from({ length: segment }, (_, q) => dy.loadsInside(pixel.add(q).mul(p.filters).add(filter), 1)[0]!);
      });
      gradients.forEach((ofFilter, k) =>
        ofFilter.forEach((gradient, q) =>
          sums[k]!.forEach((sum, j) => (sum.value = gradient.fma(seen(q * stride[1] + j * dilation[1]), sum.value))),
        ),
      );
    },
    { step: threads, unroll: false },
  );

  const reduction = new GroupReduction(s);
  const flat = sums.flat().map(({ value }) => value);
  const together = batchOf(threads);
  for (let from = 0; from < flat.length; from += together) {
    const totals = reduction.reduce(flat.slice(from, from + together), (a, b) => a.add(b));
    s.if(s.local.eq(0), () =>
      totals.forEach((total, i) => {
        const [k, j] = [Math.floor((from + i) / size[1]), (from + i) % size[1]];
        const filter = first.add(k);
        const at = part.mul(p.size).add(filter.mul(p.channels).add(channel).mul(size[0]).add(row).mul(size[1])).add(j); // prettier-ignore
        const store = (): void => result.storesInside(at, [total]);
        if (form.fits) store();
        else s.if(filter.lt(p.filters), store);
      }),
    );
  }
}

/** Sums that are added at the same time: as many as shared memory holds. */
function batchOf(threads: number): number {
  const radix = threads > 256 ? 32 : 16;
  return Math.min(radix, Math.floor(MAX_WORDS / (threads + Math.max(4, threads / radix))));
}

/** @internal As convolutionKernel has it. */
export function directWeightKernel(form: DirectWeightForm) {
  const { element, layouts, kernel: size, stride, dilation, padding, block, segment, threads } = form;
  const flags = [
    element === "f16" ? "halves" : "",
    layouts.x === "NHWC" ? "x last" : "",
    layouts.dy === "NHWC" ? "dy last" : "",
    form.isWide ? "wide" : "",
    form.isInside ? "inside" : "",
    form.fits ? "" : "rest",
    form.isPartial ? "partial" : "",
  ];
  return {
    name: [`direct weightGradient ${block} x ${segment} in ${threads}`, Object.values(form.sizes).join(" "), size.join("x"), `by ${stride.join("x")}`, `apart ${dilation.join("x")}`, `padded ${padding.join("x")}`, ...flags].filter(Boolean).join(" "), // prettier-ignore
    inputs: { x: element, dy: element } as { readonly [name: string]: ConvolutionElement },
    outputs: { y: form.isPartial ? "f32" : element } as { readonly y: ConvolutionElement },
    params: DIRECT_WEIGHT_PARAMS,
    threads,
    groups: (params: LaunchFacts["params"]): number => {
      const n = params as unknown as DirectWeightNumbers;
      return n.parts * form.sizes.channels * size[0] * Math.ceil(form.sizes.filters / block);
    },
    body: (s: S): void => weighed(s, form),
  };
}

/** The shader of a form: x and dy, to y or parts of it. */
export function directWeight(form: DirectWeightForm): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = directWeightKernel(form);
  return kernel(
    name,
    { inputs, outputs, params, threads, groups: (facts) => groups(facts.params), isOneOfMany: true, casts: castBuffers(form) },
    (s) => body(s as unknown as S),
  );
}
