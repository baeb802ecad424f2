/**
 * Depthwise convolution of float32: each group has one channel of the input. A thread computes neighbouring elements of one row of the result; in the weight gradient
 * a group of threads computes the taps of one channel, or of a part of its pixels.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements, Scope } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { epilogueBuffers, epilogueOf, epilogueName, type EpilogueForm } from "./convolution-epilogue.ts";
import type { ConvolutionKind, Pair } from "./convolution-tiles.ts";
import { GroupReduction, kernel, type Kernel } from "./kernel.ts";

export interface DepthwiseForm extends EpilogueForm {
  readonly kind: ConvolutionKind;
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
type S = Scope<{ readonly [name: string]: "f32" }, typeof DEPTHWISE_PARAMS>;
type F32 = BufferElements<"f32">;

/** More taps would need more registers than threads have. */
export const MAX_DEPTHWISE_TAPS = 49;
const THREADS = { plane: 64, weight: 128 } as const;

/** The source's index of a tap along an axis, and whether it is inside. */
function tapAlong(form: DepthwiseForm, axis: 0 | 1, at: Uint, tap: number, size: Uint): { readonly at: Uint; readonly inside: Bool } {
  const [stride, offset] = [form.stride[axis], tap * form.dilation[axis]];
  if (form.kind !== "inputGradient") {
    const seen = at.mul(stride).add(offset).sub(form.padding[axis]);
    return { at: seen, inside: seen.lt(size) };
  }
  const reached = at.add(form.padding[axis]).sub(offset);
  if (stride === 1) return { at: reached, inside: reached.lt(size) };
  const seen = reached.div(stride);
  return { at: seen, inside: seen.lt(size).and(seen.mul(stride).eq(reached)) };
}

const loadWhere = (from: F32, inside: Bool, at: Uint): Float => inside.select(from.loadsInside(inside.select(at, 0), 1)[0]!, 0);

/** Forward, and the data gradient, which adds over the filters of a channel. */
function planes(s: S, form: DepthwiseForm): void {
  const { x: source, w, y: result } = s.buffers as { readonly x: F32; readonly w: F32; readonly y: F32 };
  const p = s.params;
  const isForward = form.kind === "forward";
  const [input, output] = [[p.height, p.width], [p.outHeight, p.outWidth]] as const; // prettier-ignore
  const [from, to] = isForward ? [input, output] : [output, input];
  const taps = form.kernel[0] * form.kernel[1];
  const filters = p.channels.mul(p.multiplier);
  const perRow = to[1].div(form.width);
  const planesOf = p.images.mul(isForward ? filters : p.channels);
  const [x, above] = [s.thread.mod(perRow).mul(form.width), s.thread.div(perRow)];
  const [y, plane] = [above.mod(to[0]), above.div(to[0])];
  s.if(plane.lt(planesOf), () => {
    const channel = plane.mod(isForward ? filters : p.channels);
    const image = plane.div(isForward ? filters : p.channels);
    const sums = Array.from({ length: form.width }, () => s.variable(s.f32(0)));
    const rows = Array.from({ length: form.kernel[0] }, (_, i) => tapAlong(form, 0, y, i, from[0]));
    const columns = Array.from({ length: form.kernel[1] }, (_, j) => Array.from({ length: form.width }, (_, q) => tapAlong(form, 1, x.add(q), j, from[1]))); // prettier-ignore
    const add = (first: Uint, weight: Uint): void =>
      rows.forEach((row, i) =>
        columns.forEach((across, j) => {
          const tap = w.loadsInside(weight.add(i * form.kernel[1] + j), 1)[0]!;
          const start = first.add(row.at.mul(from[1]));
          across.forEach((at, q) => {
            const inside = row.inside.and(at.inside);
            // What lies outside adds nothing, whatever the weight is.
            const product = inside.select(tap.mul(loadWhere(source, inside, start.add(at.at))), 0);
            sums[q]!.value = sums[q]!.value.add(product);
          });
        }),
      );
    const size = from[0].mul(from[1]);
    if (isForward) add(image.mul(p.channels).add(channel.div(p.multiplier)).mul(size), channel.mul(taps));
    else
      s.for(0, p.multiplier, (m) => {
        const filter = channel.mul(p.multiplier).add(m);
        add(image.mul(filters).add(filter).mul(size), filter.mul(taps));
      });
    const at = plane.mul(to[0]).add(y).mul(to[1]).add(x);
    const epilogue = epilogueOf(s, form)(() => channel);
    result.storesInside(at, epilogue(sums.map(({ value }) => value), at)); // prettier-ignore
  });
}

/** The weight gradient: y [parts, filters, taps]. */
function weights(s: S, form: DepthwiseForm): void {
  const { x: source, dy, y: result } = s.buffers as { readonly x: F32; readonly dy: F32; readonly y: F32 };
  const p = s.params;
  const taps = form.kernel[0] * form.kernel[1];
  const filters = p.channels.mul(p.multiplier);
  const [filter, part] = [s.group.mod(filters), s.group.div(filters)];
  const [plane, size] = [p.outHeight.mul(p.outWidth), p.height.mul(p.width)];
  const pixels = p.images.mul(plane);
  const sums = Array.from({ length: taps }, () => s.variable(s.f32(0)));
  const each = pixels.add(p.parts).sub(1).div(p.parts);
  const end = part.add(1).mul(each).min(pixels);
  s.for(
    part.mul(each).add(s.local),
    end,
    (at) => {
      const [image, rest] = [at.div(plane), at.mod(plane)];
      const [y, x] = [rest.div(p.outWidth), rest.mod(p.outWidth)];
      const gradient = dy.loadsInside(image.mul(filters).add(filter).mul(plane).add(rest), 1)[0]!;
      const first = image.mul(p.channels).add(filter.div(p.multiplier)).mul(size);
      const rows = Array.from({ length: form.kernel[0] }, (_, i) => tapAlong(form, 0, y, i, p.height));
      const columns = Array.from({ length: form.kernel[1] }, (_, j) => tapAlong(form, 1, x, j, p.width));
      rows.forEach((row, i) =>
        columns.forEach((column, j) => {
          const inside = row.inside.and(column.inside);
          const sum = sums[i * form.kernel[1] + j]!;
          const product = gradient.mul(loadWhere(source, inside, first.add(row.at.mul(p.width)).add(column.at)));
          sum.value = sum.value.add(inside.select(product, 0));
        }),
      );
    },
    { step: THREADS.weight, unroll: false },
  );
  const reduction = new GroupReduction(s);
  // A few at a time: as much as shared memory holds.
  for (let tap = 0; tap < taps; tap += 8) {
    const some = sums.slice(tap, tap + 8).map((v) => v.value);
    const totals = reduction.reduce(some, (a, b) => a.add(b));
    s.if(s.local.eq(0), () =>
      totals.forEach((total, i) =>
        result.storesInside(
          part
            .mul(filters)
            .add(filter)
            .mul(taps)
            .add(tap + i),
          [total],
        ),
      ),
    );
  }
}

/** @internal As convolutionKernel has it. */
export function depthwiseKernel(form: DepthwiseForm) {
  const { kind, kernel: size, stride, dilation, padding, width } = form;
  const isWeight = kind === "weightGradient";
  const names = isWeight ? ["x", "dy"] : ["x", "w", ...epilogueBuffers(form)];
  const threads = isWeight ? THREADS.weight : THREADS.plane;
  return {
    name: [`depthwise ${kind} ${size.join("x")}`, `by ${stride.join("x")}`, `apart ${dilation.join("x")}`, `padded ${padding.join("x")}`, `${width}`, ...epilogueName(form)].filter(Boolean).join(" "), // prettier-ignore
    inputs: Object.fromEntries(names.map((name) => [name, "f32" as const])),
    outputs: { y: "f32" } as const,
    params: DEPTHWISE_PARAMS,
    threads,
    groups: (params: LaunchFacts["params"]): number => {
      const n = params as unknown as DepthwiseNumbers;
      const filters = n.channels * n.multiplier;
      if (isWeight) return filters * n.parts;
      const elements = kind === "forward" ? filters * n.outHeight * n.outWidth : n.channels * n.height * n.width;
      return Math.ceil((n.images * elements) / (threads * width));
    },
    body: (s: S): void => (isWeight ? weights : planes)(s, form),
  };
}

/** The shader of a form: x, w and bias, or x and dy, to y. In the data gradient x is dy, and y is dx. */
export function depthwise(form: DepthwiseForm): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = depthwiseKernel(form);
  return kernel(name, { inputs, outputs, params, threads, groups: (facts) => groups(facts.params), isOneOfMany: true }, (s) =>
    body(s as unknown as S),
  );
}
