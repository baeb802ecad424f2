/**
 * Depthwise convolution: each group has one channel of the input. A thread computes neighbouring elements of one row of the result; in the weight gradient
 * a group of threads computes the taps of one channel, or of a part of its pixels. Where an operand is in NHWC, neighbouring threads have neighbouring channels. Sums are
 * float32.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { castBuffers, epilogueBuffers, epilogueOf, epilogueName, type EpilogueForm } from "./epilogue.ts";
import { sourceTap, type ConvolutionElement, type ConvolutionKind, type Layouts, type Pair } from "./convolution-tiles.ts";
import { GroupReduction, kernel, type Kernel, type Numbers } from "./kernel.ts";

export interface DepthwiseForm extends EpilogueForm {
  readonly kind: ConvolutionKind;
  /** Of operands and result. */
  readonly element: ConvolutionElement;
  readonly layouts: Layouts;
  /** The weight gradient is parts of sums, in float32, which convolutionSum adds. */
  readonly isPartial: boolean;
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
  /** Neighbouring elements of a thread: 4 where rows of the result have a multiple of four elements, else 1. */
  readonly width: 1 | 4;
}

/** Of the tensors; `multiplier`: filters of each channel. parts: into how many the pixels of a channel are split in the weight gradient. */
export const DEPTHWISE_PARAMS = {
  images: "u32",
  channels: "u32",
  multiplier: "u32",
  height: "u32",
  width: "u32",
  outHeight: "u32",
  outWidth: "u32",
  parts: "u32",
} as const;
export type DepthwiseNumbers = Readonly<Record<keyof typeof DEPTHWISE_PARAMS, number>>;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof DEPTHWISE_PARAMS>;

/** More taps would need more registers than threads have. */
export const MAX_DEPTHWISE_TAPS = 49;
const THREADS = { plane: 64, weight: 128 } as const;
/** Neighbouring channels of neighbouring threads where an operand is in NHWC: 32 bytes of float32. */
const CHANNELS = 8;

const isLast = ({ kind, layouts }: Pick<DepthwiseForm, "kind" | "layouts">): boolean =>
  layouts.x === "NHWC" || (kind === "weightGradient" && layouts.dy === "NHWC");

const loadWhere = (from: Numbers, inside: Bool, at: Uint): Float => inside.select(from.loadsInside(inside.select(at, 0), 1)[0]!, 0);

/** The index of a pixel of a plane, from the pixel at the beginning of its row and its column. */
type IndexOf = (row: Uint) => (column: Uint) => Uint;

/** In a tensor with so many channels. */
function indexIn(isInLast: boolean, image: Uint, channel: Uint, channels: Uint, plane: Uint): IndexOf {
  const first = isInLast ? image.mul(plane).mul(channels).add(channel) : image.mul(channels).add(channel).mul(plane);
  const away = (pixels: Uint): Uint => (isInLast ? pixels.mul(channels) : pixels);
  return (row) => {
    const start = first.add(away(row));
    return (column) => start.add(away(column));
  };
}

/** Forward, and the data gradient, which adds over the filters of a channel. */
function planes(s: S, form: DepthwiseForm): void {
  const { x: source, w, y: result } = s.buffers as { readonly x: Numbers; readonly w: Numbers; readonly y: Numbers };
  const p = s.params;
  const isForward = form.kind === "forward";
  const [input, output] = [[p.height, p.width], [p.outHeight, p.outWidth]] as const; // prettier-ignore
  const [from, to] = isForward ? [input, output] : [output, input];
  const taps = form.kernel[0] * form.kernel[1];
  const filters = p.channels.mul(p.multiplier);
  const channels = isForward ? filters : p.channels;
  const perRow = to[1].div(form.width);
  const inLast = form.layouts.x === "NHWC";
  // In NHWC the channels of a thread's neighbours come first, then its row.
  const [low, rest] = inLast ? [s.thread.mod(CHANNELS), s.thread.div(CHANNELS)] : [s.u32(0), s.thread];
  const [x, above] = [rest.mod(perRow).mul(form.width), rest.div(perRow)];
  const [y, block] = [above.mod(to[0]), above.div(to[0])];
  const blocks = inLast ? channels.add(CHANNELS - 1).div(CHANNELS) : channels;
  const image = block.div(blocks);
  const channel = inLast ? block.mod(blocks).mul(CHANNELS).add(low) : block.mod(blocks);
  s.if(inLast ? image.lt(p.images).and(channel.lt(channels)) : image.lt(p.images), () => {
    const sums = Array.from({ length: form.width }, () => s.variable(s.f32(0)));
    const rows = Array.from({ length: form.kernel[0] }, (_, i) => sourceTap(s, form, 0, y, i, from[0]));
    const columns = Array.from({ length: form.kernel[1] }, (_, j) => Array.from({ length: form.width }, (_, q) => sourceTap(s, form, 1, x.add(q), j, from[1]))); // prettier-ignore
    const add = (at: IndexOf, weight: Uint): void =>
      rows.forEach((row, i) => {
        const indexOf = at(row.at.mul(from[1]));
        columns.forEach((across, j) => {
          const tap = w.loadsInside(weight.add(i * form.kernel[1] + j), 1)[0]!;
          across.forEach((column, q) => {
            const inside = row.inside.and(column.inside);
            // What lies outside adds nothing, whatever the weight is.
            const product = inside.select(tap.mul(loadWhere(source, inside, indexOf(column.at))), 0);
            sums[q]!.value = sums[q]!.value.add(product);
          });
        });
      });
    const size = from[0].mul(from[1]);
    if (isForward) add(indexIn(inLast, image, channel.div(p.multiplier), p.channels, size), channel.mul(taps));
    else
      s.for(0, p.multiplier, (m) => {
        const filter = channel.mul(p.multiplier).add(m);
        add(indexIn(inLast, image, filter, filters, size), filter.mul(taps));
      });
    const at = image.mul(channels).add(channel).mul(to[0]).add(y).mul(to[1]).add(x);
    const epilogue = epilogueOf(s, form)(() => channel);
    result.storesInside(at, epilogue(sums.map(({ value }) => value), at)); // prettier-ignore
  });
}

/** Adds the products of a filter's taps over pixels `first`, `first + step`, … */
function filterSums(s: S, form: DepthwiseForm, filter: Uint, first: Uint, end: Uint, step: number): Float[] {
  const { x: source, dy } = s.buffers as { readonly x: Numbers; readonly dy: Numbers };
  const p = s.params;
  const filters = p.channels.mul(p.multiplier);
  const [plane, size] = [p.outHeight.mul(p.outWidth), p.height.mul(p.width)];
  const sums = Array.from({ length: form.kernel[0] * form.kernel[1] }, () => s.variable(s.f32(0)));
  const forward = { ...form, kind: "forward" } as const;
  s.for(
    first,
    end,
    (at) => {
      const [image, rest] = [at.div(plane), at.mod(plane)];
      const [y, x] = [rest.div(p.outWidth), rest.mod(p.outWidth)];
      const gradient = dy.loadsInside(indexIn(form.layouts.dy === "NHWC", image, filter, filters, plane)(rest)(s.u32(0)), 1)[0]!;
      const indexOf = indexIn(form.layouts.x === "NHWC", image, filter.div(p.multiplier), p.channels, size);
      const rows = Array.from({ length: form.kernel[0] }, (_, i) => sourceTap(s, forward, 0, y, i, p.height));
      const columns = Array.from({ length: form.kernel[1] }, (_, j) => sourceTap(s, forward, 1, x, j, p.width));
      rows.forEach((row, i) => {
        const ofRow = indexOf(row.at.mul(p.width));
        columns.forEach((column, j) => {
          const inside = row.inside.and(column.inside);
          const sum = sums[i * form.kernel[1] + j]!;
          const product = gradient.mul(loadWhere(source, inside, ofRow(column.at)));
          sum.value = sum.value.add(inside.select(product, 0));
        });
      });
    },
    { step, unroll: false },
  );
  return sums.map((v) => v.value);
}

/** The weight gradient: y [parts, filters, taps]. */
function weights(s: S, form: DepthwiseForm): void {
  const { y: result } = s.buffers as { readonly y: Numbers };
  const p = s.params;
  const taps = form.kernel[0] * form.kernel[1];
  const filters = p.channels.mul(p.multiplier);
  const pixels = p.images.mul(p.outHeight.mul(p.outWidth));
  const each = pixels.add(p.parts).sub(1).div(p.parts);
  const store = (part: Uint, filter: Uint, tap: Uint | number, total: Float): void =>
    result.storesInside(part.mul(filters).add(filter).mul(taps).add(tap), [total]);
  if (!isLast(form)) {
    const [filter, part] = [s.group.mod(filters), s.group.div(filters)];
    const sums = filterSums(s, form, filter, part.mul(each).add(s.local), part.add(1).mul(each).min(pixels), THREADS.weight);
    const reduction = new GroupReduction(s);
    // A few at a time: as much as shared memory holds.
    for (let tap = 0; tap < taps; tap += 8) {
      const totals = reduction.reduce(sums.slice(tap, tap + 8), (a, b) => a.add(b));
      s.if(s.local.eq(0), () => totals.forEach((total, i) => store(part, filter, tap + i, total)));
    }
    return;
  }
  const blocks = filters.add(CHANNELS - 1).div(CHANNELS);
  const [first, part] = [s.group.mod(blocks).mul(CHANNELS), s.group.div(blocks)];
  const lanes = THREADS.weight / CHANNELS;
  const [low, lane] = [s.local.mod(CHANNELS), s.local.div(CHANNELS)];
  const filter = first.add(low).min(filters.sub(1));
  const sums = filterSums(s, form, filter, part.mul(each).add(lane), part.add(1).mul(each).min(pixels), lanes);
  const shared = s.shared("f32", taps * THREADS.weight);
  sums.forEach((sum, tap) => shared.store(s.local.add(tap * THREADS.weight), sum));
  s.barrier();
  for (let i = 0; i < taps * CHANNELS; i += THREADS.weight) {
    const item = s.local.add(i);
    const [tap, of] = [item.div(CHANNELS), item.mod(CHANNELS)];
    s.if(item.lt(taps * CHANNELS).and(first.add(of).lt(filters)), () => {
      const parts = Array.from({ length: lanes }, (_, k) =>
        shared.load(
          tap
            .mul(THREADS.weight)
            .add(of)
            .add(k * CHANNELS),
        ),
      );
      store(part, first.add(of), tap, parts.reduce((a, b) => a.add(b))); // prettier-ignore
    });
  }
}

/** @internal As convolutionKernel has it. */
export function depthwiseKernel(form: DepthwiseForm) {
  const { kind, element, layouts, isPartial, kernel: size, stride, dilation, padding, width } = form;
  const isWeight = kind === "weightGradient";
  const names = isWeight ? ["x", "dy"] : ["x", "w", ...epilogueBuffers(form)];
  const threads = isWeight ? THREADS.weight : THREADS.plane;
  const flags = [element === "f16" ? "halves" : "", layouts.x === "NHWC" ? "x last" : "", isWeight && layouts.dy === "NHWC" ? "dy last" : "", isPartial ? "partial" : ""]; // prettier-ignore
  return {
    name: [`depthwise ${kind} ${size.join("x")}`, `by ${stride.join("x")}`, `apart ${dilation.join("x")}`, `padded ${padding.join("x")}`, `${width}`, ...flags, ...epilogueName(form)].filter(Boolean).join(" "), // prettier-ignore
    inputs: Object.fromEntries(names.map((name) => [name, element])),
    outputs: { y: isPartial ? "f32" : element } as const,
    params: DEPTHWISE_PARAMS,
    threads,
    groups: (params: LaunchFacts["params"]): number => {
      const n = params as unknown as DepthwiseNumbers;
      const filters = n.channels * n.multiplier;
      const whole = (channels: number): number => (isLast(form) ? Math.ceil(channels / CHANNELS) : channels);
      if (isWeight) return whole(filters) * n.parts;
      const elements = kind === "forward" ? whole(filters) * n.outHeight * n.outWidth : whole(n.channels) * n.height * n.width;
      return Math.ceil((n.images * elements * (isLast(form) ? CHANNELS : 1)) / (threads * width));
    },
    body: (s: S): void => (isWeight ? weights : planes)(s, form),
  };
}

/** The shader of a form: x, w and bias, or x and dy, to y. In the data gradient x is dy, and y is dx. */
export function depthwise(form: DepthwiseForm): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = depthwiseKernel(form);
  return kernel(
    name,
    { inputs, outputs, params, threads, groups: (facts) => groups(facts.params), isOneOfMany: true, casts: castBuffers(form) },
    (s) => body(s as unknown as S),
  );
}
