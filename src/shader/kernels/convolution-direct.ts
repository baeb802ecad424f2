/**
 * Direct convolution of few channels with small kernels, forward and the data gradient. A group of threads has some rows of one image: its windows' source, with zeros
 * for padding and between the elements of dy, and the weights are in shared memory. A thread computes a block of channels of one pixel, or its share of the source's channels.
 * Sums are float32.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Uint } from "../numbers.ts";
import { castBuffers, epilogueBuffers, epilogueName, epilogueOf, type EpilogueForm } from "./epilogue.ts";
import { loadWhere, type ConvolutionElement, type Layouts, type Pair } from "./convolution-tiles.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";

/** What a direct convolution and its gradients are of. */
export interface DirectGeometry {
  /** Of operands and result. */
  readonly element: ConvolutionElement;
  readonly layouts: Layouts;
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
}

export interface DirectForm extends DirectGeometry, EpilogueForm {
  readonly kind: "forward" | "inputGradient";
  /** Channels of the result that a thread computes. */
  readonly block: 1 | 2 | 4 | 8;
  /** Threads that share the source's channels of one pixel. */
  readonly slices: number;
  readonly threads: number;
  /** Words of shared memory. */
  readonly sourceWords: number;
  readonly weightWords: number;
  /** Weights of a filter are read four at a time. */
  readonly isWide: boolean;
  /** The groups' channels fit. */
  readonly fits: boolean;
  readonly sizes: DirectSizes;
}

/**
 * Known when the shader is made: indices are divided by them, for which drivers multiply. sources: channels that are summed over; rows and blocks: rows of the
 * result and blocks of its channels that a group has.
 */
export type DirectSizes = Readonly<Record<"sources" | "results" | "fromHeight" | "fromWidth" | "toHeight" | "toWidth" | "rows" | "blocks", number>>; // prettier-ignore

export const DIRECT_PARAMS = { images: "u32" } as const;
export type DirectNumbers = Readonly<Record<keyof typeof DIRECT_PARAMS, number>>;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof DIRECT_PARAMS>;

/** Loads of a thread that wait together. */
const TOGETHER = 4;

type Windows = Pick<DirectForm, "kind" | "kernel" | "stride" | "dilation" | "padding">;

/** Along an axis: the steps of windows, the distance of dy's elements, and where the first window begins. */
function windowOf({ kind, kernel, stride, dilation, padding }: Windows, axis: 0 | 1): { step: number; between: number; start: number } {
  if (kind === "forward") return { step: stride[axis], between: 1, start: -padding[axis] };
  return { step: 1, between: stride[axis], start: padding[axis] - (kernel[axis] - 1) * dilation[axis] };
}

/** Elements along an axis, zeros among them, that the windows of so many neighbours cover. */
export const coveredBy = (form: Windows, axis: 0 | 1, count: number): number =>
  (count - 1) * windowOf(form, axis).step + (form.kernel[axis] - 1) * form.dilation[axis] + 1;

/** What a group has: its channels from `first` on, and rows from `top` on of an image. */
interface Part {
  readonly first: Uint;
  readonly channels: Uint;
  readonly top: Uint;
  readonly image: Uint;
}

/** The sizes as values of the shader. */
function sizesIn(s: S, { sizes }: DirectForm): Readonly<Record<keyof DirectSizes | "images", Uint>> {
  const values = Object.fromEntries(Object.entries(sizes).map(([name, n]) => [name, s.u32(n)])) as Record<keyof DirectSizes, Uint>;
  return { ...values, images: s.params.images };
}

function partOf(s: S, form: DirectForm): Part {
  const { results, rows, blocks, toHeight } = sizesIn(s, form);
  const { block } = form;
  const channels = blocks.mul(block);
  const across = results.add(channels).sub(1).div(channels);
  const down = toHeight.add(rows).sub(1).div(rows);
  const rest = s.group.div(across);
  return { first: s.group.mod(across).mul(channels), channels, top: rest.mod(down).mul(rows), image: rest.div(down) };
}

/** Calls `load` for elements 0 to count of a group's copy, some of each thread at once, then what it returned. */
function copied(s: S, threads: number, count: Uint, load: (at: Uint) => () => void): void {
  s.for(s.local, count, (at) => Array.from({ length: TOGETHER }, (_, i) => load(at.add(i * threads))).forEach((store) => store()), {
    step: threads * TOGETHER,
    unroll: false,
  });
}

function computed(s: S, form: DirectForm): void {
  const { kernel: size, dilation, block, slices, threads } = form;
  const { x: source, w, y: result } = s.buffers as { readonly x: Numbers; readonly w: Numbers; readonly y: Numbers };
  const p = sizesIn(s, form);
  const taps = size[0] * size[1];
  const { first, channels, top, image } = partOf(s, form);
  const [alongY, alongX] = [windowOf(form, 0), windowOf(form, 1)];
  const covered = (axis: 0 | 1, count: Uint): Uint =>
    count
      .sub(1)
      .mul(windowOf(form, axis).step)
      .add((size[axis] - 1) * dilation[axis] + 1);
  const width = covered(1, p.toWidth);
  const area = covered(0, p.rows).mul(width);

  // The source, [sources, rows, width].
  const seen = s.shared("f32", form.sourceWords);
  const isLast = form.layouts.x === "NHWC";
  copied(s, threads, p.sources.mul(area), (at) => {
    const [channel, rest] = isLast ? [at.mod(p.sources), at.div(p.sources)] : [at.div(area), at.mod(area)];
    const axis = (from: Uint, { between, start }: typeof alongY, length: Uint): { at: Uint; inside: ReturnType<Uint["lt"]> } => {
      const reached = from.add(start >>> 0);
      if (between === 1) return { at: reached, inside: reached.lt(length) };
      const index = reached.div(between);
      return { at: index, inside: index.lt(length).and(index.mul(between).eq(reached)) };
    };
    const y = axis(rest.div(width).add(top.mul(alongY.step)), alongY, p.fromHeight);
    const x = axis(rest.mod(width), alongX, p.fromWidth);
    const inside = y.inside.and(x.inside).and(channel.lt(p.sources)).and(image.lt(p.images));
    const pixel = (rows: Uint): Uint => rows.add(y.at).mul(p.fromWidth).add(x.at);
    const index = isLast
      ? pixel(image.mul(p.fromHeight)).mul(p.sources).add(channel)
      : pixel(image.mul(p.sources).add(channel).mul(p.fromHeight));
    const value = loadWhere(source, inside, index)[0]!;
    // Behind the last element there is nothing of another channel.
    return () => seen.store(isLast ? rest.lt(area).select(channel.mul(area).add(rest), form.sourceWords) : at, value);
  });

  // The weights, [blocks, sources, taps, block].
  const weights = s.shared("f32", form.weightWords);
  const indexOf = (channel: Uint, from: Uint, tap: Uint): Uint =>
    channel.div(block).mul(p.sources).add(from).mul(taps).add(tap).mul(block).add(channel.mod(block)); // prettier-ignore
  const length = p.sources.mul(taps);
  if (form.kind === "forward") {
    const wide = form.isWide ? 4 : 1;
    const units = form.isWide ? length.div(4) : length;
    copied(s, threads, channels.mul(units), (at) => {
      const [channel, unit] = [at.div(units), at.mod(units)];
      const values = loadWhere(w, first.add(channel).lt(p.results), first.mul(units).add(at).mul(wide), wide);
      return () => values.forEach((v, q) => weights.store(indexOf(channel, s.u32(0), unit.mul(wide).add(q)), v));
    });
  } else {
    const perSource = channels.mul(taps);
    copied(s, threads, p.sources.mul(perSource), (at) => {
      const [from, rest] = [at.div(perSource), at.mod(perSource)];
      const [channel, tap] = [rest.div(taps), rest.mod(taps)];
      const inside = first.add(channel).lt(p.results).and(from.lt(p.sources));
      const value = loadWhere(w, inside, from.mul(p.results).add(first).add(channel).mul(taps).add(tap))[0]!;
      // The taps of dy are in the opposite order. Behind the last source there are none.
      return () => weights.store(from.lt(p.sources).select(indexOf(channel, from, s.u32(taps - 1).sub(tap)), form.weightWords), value);
    });
  }
  s.barrier();

  const rows = p.rows.min(p.toHeight.sub(top));
  const pixels = rows.mul(p.toWidth);
  const items = pixels.mul(p.blocks);
  const lanes = threads / slices;
  const [slice, lane] = slices === 1 ? [s.u32(0), s.local] : [s.local.div(lanes), s.local.mod(lanes)];
  const ofChannel = epilogueOf(s, form);

  const sumsOf = (item: Uint): { readonly sums: readonly { value: ReturnType<typeof s.f32> }[]; write(): void } => {
    const [own, pixel] = [item.div(pixels), item.mod(pixels)];
    const [y, x] = [pixel.div(p.toWidth), pixel.mod(p.toWidth)];
    const start = y.mul(alongY.step).mul(width).add(x.mul(alongX.step));
    const sums = Array.from({ length: block }, () => s.variable(s.f32(0)));
    s.for(
      slice,
      p.sources,
      (from) => {
        const at = from.mul(area).add(start);
        const weightAt = own.mul(p.sources).add(from).mul(taps * block); // prettier-ignore
        for (let i = 0; i < size[0]; i++) {
          const row = at.add(width.mul(i * dilation[0]));
          for (let j = 0; j < size[1]; j++) {
            const value = seen.loadsInside(row.add(j * dilation[1]), 1)[0]!;
            for (let q = 0; q < block; q += 4)
              weights
                .loadsInside(weightAt.add((i * size[1] + j) * block + q), Math.min(block, 4))
                .forEach((weight, k) => (sums[q + k]!.value = value.fma(weight, sums[q + k]!.value)));
          }
        }
      },
      { step: slices, unroll: false },
    );
    const write = (): void => {
      const channel = first.add(own.mul(block));
      const at = image.mul(p.results).add(channel).mul(p.toHeight).add(top).add(y).mul(p.toWidth).add(x); // prettier-ignore
      const plane = p.toHeight.mul(p.toWidth);
      sums.forEach((sum, q) => {
        const store = (): void => {
          const index = at.add(plane.mul(q));
          result.storesInside(index, ofChannel(() => channel.add(q))([sum.value], index));
        };
        if (form.fits) store();
        else s.if(channel.add(q).lt(p.results), store);
      });
    };
    return { sums, write };
  };

  if (slices === 1) {
    s.for(s.local, items, (item) => sumsOf(item).write(), { step: threads, unroll: false });
    return;
  }
  const parts = s.shared("f32", (slices - 1) * block * lanes);
  s.for(
    0,
    items,
    (from) => {
      const item = from.add(lane);
      const { sums, write } = sumsOf(item.min(items.sub(1)));
      const partAt = (of: Uint | number, q: number): Uint =>
        (typeof of === "number" ? s.u32(of) : of).mul(block).add(q).mul(lanes).add(lane); // prettier-ignore
      s.if(slice.gt(0), () => sums.forEach((sum, q) => parts.store(partAt(slice.sub(1), q), sum.value)));
      s.barrier();
      s.if(slice.eq(0).and(item.lt(items)), () => {
        for (let of = 0; of < slices - 1; of++) sums.forEach((sum, q) => (sum.value = sum.value.add(parts.load(partAt(of, q)))));
        write();
      });
      // The parts have been read.
      s.barrier();
    },
    { step: lanes, unroll: false },
  );
}

/** @internal As convolutionKernel has it. */
export function directKernel(form: DirectForm) {
  const { kind, element, kernel: size, stride, dilation, padding, block, slices, threads } = form;
  const flags = [
    element === "f16" ? "halves" : "",
    form.layouts.x === "NHWC" ? "x last" : "",
    form.isWide ? "wide" : "",
    form.fits ? "" : "rest",
    ...epilogueName(form),
  ];
  return {
    name: [`direct ${kind} ${block} / ${slices} in ${threads}, ${form.sourceWords} and ${form.weightWords}`, Object.values(form.sizes).join(" "), size.join("x"), `by ${stride.join("x")}`, `apart ${dilation.join("x")}`, `padded ${padding.join("x")}`, ...flags].filter(Boolean).join(" "), // prettier-ignore
    inputs: Object.fromEntries(["x", "w", ...epilogueBuffers(form)].map((name) => [name, element])),
    outputs: { y: element },
    params: DIRECT_PARAMS,
    threads,
    groups: (params: LaunchFacts["params"]): number => {
      const { toHeight, rows, results, blocks } = form.sizes;
      return params["images"]! * Math.ceil(toHeight / rows) * Math.ceil(results / (blocks * block));
    },
    body: (s: S): void => computed(s, form),
  };
}

/** The shader of a form: x, w and what its epilogue reads, to y. In the data gradient x is dy, and y is dx. */
export function direct(form: DirectForm): Kernel {
  const { name, inputs, outputs, params, threads, groups, body } = directKernel(form);
  return kernel(
    name,
    { inputs, outputs, params, threads, groups: (facts) => groups(facts.params), isOneOfMany: true, casts: castBuffers(form) },
    (s) => body(s as unknown as S),
  );
}
