/** Winograd's convolution: the transform of the weights, and that of the weight gradient's products to the weights' shape. */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import type { ConvolutionElement } from "./convolution-tiles.ts";
import { loadWhere } from "./convolution-tiles.ts";
import { castBuffers, epilogueBuffers, epilogueName, epilogueOf, type EpilogueForm } from "./epilogue.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";
import { inRows, planesOf, sandwiched, transposed, TRANSFORMS, type TileSize } from "./winograd.ts";

/** Elements of a kernel along an axis, and of a kernel. */
const [TAPS, KERNEL_SIZE] = [3, 9];

export interface WeightsForm extends Pick<EpilogueForm, "cast"> {
  readonly size: TileSize;
  readonly element: ConvolutionElement;
  /** Of the data gradient: kernels rotated by 180 degrees, and sums over filters. */
  readonly isRotated: boolean;
}

const WEIGHTS_PARAMS = { filters: "u32", channels: "u32" } as const;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof WEIGHTS_PARAMS>;

/** Kernels of a group along a row of the result, and rows of it. */
const [ACROSS, DOWN] = [32, 8];

/** Reads contiguous kernels and writes rows of matrices, transposed in shared memory. */
function transformedWeights(s: S, { size, isRotated }: WeightsForm): void {
  const { w, v } = s.buffers as { readonly w: Numbers; readonly v: Numbers };
  const { filters, channels } = s.params;
  const [ofFilters, ofChannels] = isRotated ? [DOWN, ACROSS] : [ACROSS, DOWN];
  const [columns, rows] = isRotated ? [channels, filters] : [filters, channels];
  const groupsAcross = columns.add(ACROSS - 1).div(ACROSS);
  const [firstColumn, firstRow] = [s.group.mod(groupsAcross).mul(ACROSS), s.group.div(groupsAcross).mul(DOWN)];
  const [filter, channel] = isRotated ? [firstRow, firstColumn] : [firstColumn, firstRow];
  const length = ofChannels * KERNEL_SIZE;
  // Threads of neighbouring filters read different banks.
  const stride = length + 1;
  const shared = s.shared("f32", ofFilters * stride);
  for (let i = 0; i < (ofFilters * length) / s.threads; i++) {
    const at = s.local.add(i * s.threads);
    const [k, x] = [at.div(length), at.mod(length)];
    const element = channel.mul(KERNEL_SIZE).add(x);
    const inside = filter
      .add(k)
      .lt(filters)
      .and(element.lt(channels.mul(KERNEL_SIZE)));
    const from = filter.add(k).mul(channels).mul(KERNEL_SIZE).add(element);
    shared.store(k.mul(stride).add(x), loadWhere(w, inside, from)[0]!);
  }
  s.barrier();
  const [across, down] = [s.local.mod(ACROSS), s.local.div(ACROSS)];
  const [ownFilter, ownChannel] = isRotated ? [down, across] : [across, down];
  const first = ownFilter.mul(stride).add(ownChannel.mul(KERNEL_SIZE));
  const taps = Array.from({ length: KERNEL_SIZE }, (_, i) => shared.load(first.add(isRotated ? KERNEL_SIZE - 1 - i : i)));
  const made = sandwiched(TRANSFORMS[size].kernel, inRows(taps, TAPS));
  const [column, row] = [firstColumn.add(across), firstRow.add(down)];
  s.if(column.lt(columns).and(row.lt(rows)), () =>
    made.forEach((value, i) => v.storesInside(rows.mul(i).add(row).mul(columns).add(column), [value])),
  );
}

/** @internal As convolutionKernel has it. */
export function weightsKernel(form: WeightsForm) {
  const { size, element, isRotated } = form;
  return {
    name: [`winograd weights ${size}x${size}`, isRotated ? "rotated" : "", element === "f16" ? "halves" : ""].filter(Boolean).join(" "),
    inputs: { w: element },
    outputs: { v: "f32" as const },
    params: WEIGHTS_PARAMS,
    threads: ACROSS * DOWN,
    groups: ({ filters, channels }: LaunchFacts["params"]): number =>
      Math.ceil((isRotated ? channels! : filters!) / ACROSS) * Math.ceil((isRotated ? filters! : channels!) / DOWN),
    body: (s: S): void => transformedWeights(s, form),
  };
}

/** w [Co, Ci, 3, 3]: v [16 or 36, Ci, Co], or, rotated, [16 or 36, Co, Ci]. */
export function winogradWeights(form: WeightsForm): Kernel {
  const { name, groups, body, ...spec } = weightsKernel(form);
  return kernel(name, { ...spec, groups: ({ params }) => groups(params), casts: castBuffers(form) }, (s) => body(s as unknown as S));
}

export interface WeightGradientForm extends EpilogueForm {
  readonly element: ConvolutionElement;
  readonly size: TileSize;
  /** A thread for each matrix of a kernel, where there are many parts or few kernels; else one for all. */
  readonly hasLanes: boolean;
  /** Products are parts of sums. */
  readonly isSplit: boolean;
}

const GRADIENT_PARAMS = { kernels: "u32", splits: "u32" } as const;
type G = Scope<{ readonly [name: string]: ConvolutionElement }, typeof GRADIENT_PARAMS>;

/** Kernels of a group. */
const kernelsOf = ({ size, hasLanes }: Pick<WeightGradientForm, "size" | "hasLanes">): number => (!hasLanes ? 128 : size === 2 ? 32 : 16);
/** Parts that are read at once: the loads wait together. */
const TOGETHER = 4;

/** The sum of the parts of a matrix's element. */
function summed(s: G, { isSplit }: WeightGradientForm, matrix: Uint, at: Uint): Float {
  const { m } = s.buffers as { readonly m: Numbers };
  const { kernels, splits } = s.params;
  const part = (split: Uint): Float => m.loadsInside(matrix.mul(splits).add(split).mul(kernels).add(at), 1)[0]!;
  if (!isSplit) return part(s.u32(0));
  const sum = s.variable(s.f32(0));
  s.for(
    0,
    splits,
    (from) => {
      const parts = Array.from({ length: TOGETHER }, (_, i) => {
        if (i === 0) return part(from);
        const split = from.add(i);
        const inside = split.lt(splits);
        return inside.select(part(inside.select(split, 0)), 0);
      });
      for (const value of parts) sum.value = sum.value.add(value);
    },
    { step: TOGETHER, unroll: false },
  );
  return sum.value;
}

/** Writes contiguous kernels, transposed in shared memory. */
function transformedGradient(s: G, form: WeightGradientForm): void {
  const { y } = s.buffers as { readonly y: Numbers };
  const { kernels } = s.params;
  const { size, hasLanes } = form;
  const { points, kernel: g } = TRANSFORMS[size];
  const together = kernelsOf(form);
  const planes = planesOf(size);
  const first = s.group.mul(together);
  const own = hasLanes ? s.local.mod(together) : s.local;
  const inside = first.add(own).lt(kernels);
  const at = inside.select(first.add(own), 0);
  const written = s.shared("f32", together * KERNEL_SIZE);
  const put = (products: readonly Float[]): void =>
    sandwiched(transposed(g), inRows(products, points)).forEach((value, i) => written.store(own.mul(KERNEL_SIZE).add(i), value));
  if (hasLanes) {
    const sums = s.shared("f32", planes * together);
    sums.store(s.local, summed(s, form, s.local.div(together), at));
    s.barrier();
    s.if(s.local.lt(together), () => put(Array.from({ length: planes }, (_, i) => sums.load(own.add(i * together)))));
  } else put(Array.from({ length: planes }, (_, i) => summed(s, form, s.u32(i), at)));
  s.barrier();
  const epilogue = epilogueOf(s, form)(() => s.u32(0));
  const [count, total] = [together * KERNEL_SIZE, kernels.mul(KERNEL_SIZE)];
  for (let i = 0; i < count; i += s.threads) {
    const element = s.local.add(i);
    const target = first.mul(KERNEL_SIZE).add(element);
    const isThere = target.lt(total);
    s.if(i + s.threads <= count ? isThere : isThere.and(element.lt(count)), () =>
      y.storesInside(target, epilogue([written.load(element)], target)),
    );
  }
}

/** @internal As convolutionKernel has it. */
export function weightGradientKernel(form: WeightGradientForm) {
  const { size, element, hasLanes, isSplit } = form;
  const inputs: { readonly [name: string]: ConvolutionElement } = {
    m: "f32",
    ...Object.fromEntries(epilogueBuffers(form).map((name) => [name, element])),
  };
  const flags = [isSplit ? "split" : "", element === "f16" ? "halves" : "", ...epilogueName(form)];
  return {
    name: [`winograd weight gradient ${size}x${size}`, hasLanes ? "lanes" : "", ...flags].filter(Boolean).join(" "),
    inputs,
    outputs: { y: element },
    params: GRADIENT_PARAMS,
    threads: kernelsOf(form) * (hasLanes ? planesOf(size) : 1),
    groups: ({ kernels }: LaunchFacts["params"]): number => Math.ceil(kernels! / kernelsOf(form)),
    body: (s: G): void => transformedGradient(s, form),
  };
}

/** m [16 or 36, splits, kernels]: y [kernels, 3, 3]. */
export function winogradWeightGradient(form: WeightGradientForm): Kernel {
  const { name, groups, body, ...spec } = weightGradientKernel(form);
  return kernel(name, { ...spec, groups: ({ params }) => groups(params), isOneOfMany: true, casts: castBuffers(form) }, (s) =>
    body(s as unknown as G),
  );
}
