/** What the shaders of convolution share: forms, tiles, the numbers of a launch, the product of two tiles in shared memory, and the writing of results. */
import type { Scope, SharedElements, Var } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { epilogueOf, epilogueName, type EpilogueForm } from "./epilogue.ts";
import type { Numbers } from "./kernel.ts";

/** Of C: a group makes bm x bn elements, a thread tm x tn of them. */
export interface ConvolutionTile {
  readonly bm: number;
  readonly bn: number;
  readonly tm: number;
  readonly tn: number;
}

/** The tiles that are compared; which is best depends on the sizes and the device. */
export const CONVOLUTION_TILES = {
  large: { bm: 128, bn: 128, tm: 8, tn: 8 },
  tall: { bm: 128, bn: 64, tm: 8, tn: 8 },
  wide: { bm: 64, bn: 128, tm: 8, tn: 8 },
  medium: { bm: 64, bn: 64, tm: 8, tn: 4 },
  narrow: { bm: 64, bn: 32, tm: 8, tn: 4 },
  small: { bm: 32, bn: 32, tm: 4, tn: 4 },
} as const satisfies { readonly [name: string]: ConvolutionTile };

export type ConvolutionKind = "forward" | "inputGradient" | "weightGradient";
export type Pair = readonly [number, number];

/** The layout of an operand [N, C, H, W] in memory. */
export type Layout = "NCHW" | "NHWC";
/** Elements of operands and results; sums are float32. */
export type ConvolutionElement = "f32" | "f16";

/** Of x (dy in the data gradient), and of dy in the weight gradient. Results are NCHW. */
export interface Layouts {
  readonly x: Layout;
  readonly dy: Layout;
}
export const NCHW: Layouts = { x: "NCHW", dy: "NCHW" };

/** What a shader of convolution is made for; sizes come with the launch. */
export interface ConvolutionForm extends EpilogueForm {
  readonly element: ConvolutionElement;
  readonly layouts: Layouts;
  /** Neighbouring channels that are read for one tap before the next tap's, where an operand is in NHWC; a divisor of its channels. */
  readonly chunks: { readonly x: Chunk; readonly dy: Chunk };
  readonly kind: ConvolutionKind;
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Pair;
  /** Whether tiles fit: rows of C, columns of C, and the sums' length. */
  readonly fits: { readonly rows: boolean; readonly columns: boolean; readonly depth: boolean };
  /** A kernel of one element, stride 1, no padding, planes of a multiple of four elements, and a depth that fits: operands are read four elements at a time. */
  readonly isPointwise: boolean;
  /** No tap lies outside of the input. */
  readonly isInside: boolean;
  /** Four neighbouring columns of C are neighbours in the result. */
  readonly isWide: boolean;
  /** The sums are parts of results [splits, ...], which convolutionSum adds. */
  readonly isPartial: boolean;
}

/** For each group of channels: Ci, Co, and the sizes of input and output planes. */
export const CONVOLUTION_PARAMS = {
  images: "u32",
  groups: "u32",
  channels: "u32",
  filters: "u32",
  height: "u32",
  width: "u32",
  outHeight: "u32",
  outWidth: "u32",
  /** Of the sums' length, in units of the kernel. */
  perSplit: "u32",
  /** Elements of the result. */
  size: "u32",
  /** How far pixels move in one step of the weight gradient. */
  stepImages: "u32",
  stepRows: "u32",
  stepColumns: "u32",
} as const;
export type ConvolutionNumbers = Readonly<Record<keyof typeof CONVOLUTION_PARAMS, number>>;

export type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof CONVOLUTION_PARAMS>;

export type Chunk = 1 | 4 | 8 | 16;
/** The largest chunk for so many channels. */
export const chunkOf = (channels: number): Chunk => ([16, 8, 4] as const).find((n) => channels % n === 0) ?? 1;

/** Padding words of each row of A's tile in shared memory, whose columns are written one by one: fewer bank conflicts. */
const PAD = 4;
/** Pixels of a step of the weight gradient. */
export const PIXELS = 16;

export const threadsOf = ({ bm, bn, tm, tn }: ConvolutionTile): number => (bm / tm) * (bn / tn);

/** Taps that are unrolled, of each unit of the sums; a channel has taps / unit of them. */
export function unitOf([kh, kw]: Pair): number {
  if (kh * kw <= 9) return kh * kw;
  return kw <= 9 ? kw : 1;
}

/** Units that a group's threads load at once, each its own pixel. */
export const together = (tile: ConvolutionTile): number => threadsOf(tile) / tile.bn;

/** Units of so many taps in a step: about 16 products for each element of C. */
export function unitsFor(tile: ConvolutionTile, taps: number): number {
  const min = Math.max(2, together(tile));
  return min * Math.max(1, Math.round(16 / (taps * min)));
}

/** The conjunction of conditions; null: there is none to test. */
export const allOf = (...conditions: readonly (Bool | null)[]): Bool | null =>
  conditions.reduce((a, b) => (a === null ? b : b === null ? a : a.and(b)), null);

/** Of forward and the data gradient: rows of C, channels that are summed over, and height and width of the source and of the result. */
export function gatheredSizes({ params: p }: S, { kind }: ConvolutionForm) {
  const isForward = kind === "forward";
  const [rows, deep] = isForward ? [p.filters, p.channels] : [p.channels, p.filters];
  const [input, output] = [
    [p.height, p.width],
    [p.outHeight, p.outWidth],
  ] as const;
  const [from, to] = isForward ? [input, output] : [output, input];
  return { rows, deep, from, to };
}

/** A group's part of C. */
export function partOf(
  s: S,
  { bm, bn }: ConvolutionTile,
  rows: Uint,
  columns: Uint,
): { readonly row: Uint; readonly column: Uint; readonly group: Uint; readonly split: Uint } {
  const [down, across] = [rows.add(bm - 1).div(bm), columns.add(bn - 1).div(bn)];
  const tile = s.group.div(down);
  const rest = tile.div(across);
  return {
    row: s.group.mod(down).mul(bm),
    column: tile.mod(across).mul(bn),
    group: rest.mod(s.params.groups),
    split: rest.div(s.params.groups),
  };
}

/** The index along an axis of the source, of that size, which a tap of a result element's window reads; outside of the source it is at least the size. */
export function sourceTap(
  s: Pick<S, "u32">,
  { kind, stride, dilation, padding }: Pick<ConvolutionForm, "kind" | "stride" | "dilation" | "padding">,
  axis: 0 | 1,
  at: Uint,
  tap: Uint | number,
  size: Uint,
): { readonly at: Uint; readonly inside: Bool } {
  const offset = typeof tap === "number" ? s.u32(tap * dilation[axis]) : tap.mul(dilation[axis]);
  if (kind === "forward") {
    const seen = at.mul(stride[axis]).add(offset).sub(padding[axis]);
    return { at: seen, inside: seen.lt(size) };
  }
  const reached = at.add(padding[axis]).sub(offset);
  if (stride[axis] === 1) return { at: reached, inside: reached.lt(size) };
  const seen = reached.div(stride[axis]);
  return { at: seen, inside: seen.lt(size).and(seen.mul(stride[axis]).eq(reached)) };
}

/** The pixel of dy that the weight gradient's next step reads: it moves by a constant. */
export function advance(s: S, image: Var<"u32">, y: Var<"u32">, x: Var<"u32">): void {
  const p = s.params;
  const right = x.value.add(p.stepColumns);
  const wraps = right.ge(p.outWidth);
  x.value = wraps.select(right.sub(p.outWidth), right);
  const below = y.value.add(p.stepRows).add(wraps.select(s.u32(1), 0));
  const ends = below.ge(p.outHeight);
  y.value = ends.select(below.sub(p.outHeight), below);
  image.value = image.value.add(p.stepImages).add(ends.select(s.u32(1), 0));
}

/** Loads elements where `inside` is true, else zeros. */
export const loadWhere = (from: Numbers, inside: Bool | null, at: Uint, count = 1): Float[] =>
  inside === null ? from.loadsInside(at, count) : from.loadsInside(inside.select(at, 0), count).map((v) => inside.select(v, 0));

/** As loadWhere, at a pixel that advance() moves: it is inside for a reason that spans all trips, which the bounds' verifier does not see. */
export const loadAdvanced = (from: Numbers, inside: Bool | null, at: Uint, count = 1): Float[] =>
  inside === null ? from.loadsInView(at, count) : from.loadsInView(inside.select(at, 0), count).map((v) => inside.select(v, 0));

export function nameOfForm(form: ConvolutionForm, { bm, bn, tm, tn }: ConvolutionTile): string {
  const { kind, kernel, stride, dilation, padding, fits } = form;
  const flags = [
    fits.rows ? "" : "rows",
    fits.columns ? "" : "columns",
    fits.depth ? "" : "depth",
    form.isPointwise ? "pointwise" : "",
    form.isInside ? "inside" : "",
    form.isWide ? "wide" : "",
    form.isPartial ? "partial" : "",
    form.element === "f16" ? "halves" : "",
    form.layouts.x === "NHWC" ? `x last ${form.chunks.x}` : "",
    form.layouts.dy === "NHWC" ? `dy last ${form.chunks.dy}` : "",
    ...epilogueName(form),
  ];
  return [`convolution ${kind} ${bm}x${bn} ${tm}x${tn}`, kernel.join("x"), `by ${stride.join("x")}`, `apart ${dilation.join("x")}`, `padded ${padding.join("x")}`, ...flags].filter(Boolean).join(" "); // prettier-ignore
}

/** What a step loads of one operand, and where in shared memory it goes. */
export interface Operand {
  readonly fetch: (from: Uint) => Float[];
  readonly put: (to: SharedElements<"f32">, stride: number, values: readonly Float[]) => void;
}

interface Steps {
  /** Products of a step for each element of C. */
  readonly depth: number;
  readonly step: number;
  readonly from: Uint;
  readonly end: Uint;
  readonly shared: SharedTiles;
}

export interface SharedTiles {
  readonly a: SharedElements<"f32">;
  readonly b: SharedElements<"f32">;
  /** Words from one row of B's tile to the next. */
  readonly strideB: number;
}

/** padsB: the columns of B's tile are written one by one, too. */
export function sharedTiles(s: S, { bm, bn }: ConvolutionTile, depth: number, padsB = false): SharedTiles {
  const strideB = bn + (padsB ? PAD : 0);
  return { a: s.shared("f32", depth * (bm + PAD)), b: s.shared("f32", depth * strideB), strideB };
}

/** The sums of a thread over `from` to `end`: rows ty * tm + i of the tile, columns as columnsOf has them. */
export function multiplied(s: S, tile: ConvolutionTile, { depth, step, from, end, shared }: Steps, a: Operand, b: Operand): Var<"f32">[][] {
  const { bm, bn, tm, tn } = tile;
  const across = bn / tn;
  const [tx, ty] = [s.local.mod(across), s.local.div(across)];
  const strideA = bm + PAD;
  const { a: sharedA, b: sharedB, strideB } = shared;
  const fetched = (at: Uint): [Float[], Float[]] => [a.fetch(at), b.fetch(at)];
  const next = fetched(from).map((values) => values.map((v) => s.variable(v)));
  const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));
  s.for(
    from,
    end,
    (at) => {
      a.put(sharedA, strideA, next[0]!.map((v) => v.value)); // prettier-ignore
      b.put(sharedB, strideB, next[1]!.map((v) => v.value)); // prettier-ignore
      s.barrier();
      const then = at.add(step);
      s.if(then.lt(end), () => {
        fetched(then).forEach((values, i) => values.forEach((v, q) => (next[i]![q]!.value = v)));
      });
      for (let k = 0; k < depth; k++) {
        const rows = sharedA.loads(ty.mul(tm).add(k * strideA), Math.min(tm, 4));
        if (tm > 4) rows.push(...sharedA.loads(ty.mul(tm).add(k * strideA + 4), 4));
        // Neighbouring threads read neighbouring columns.
        const columns = sharedB.loads(tx.mul(4).add(k * strideB), 4);
        if (tn > 4) columns.push(...sharedB.loads(tx.mul(4).add(k * strideB + bn / 2), 4));
        rows.forEach((x, i) => columns.forEach((y, j) => (sums[i]![j]!.value = x.fma(y, sums[i]![j]!.value))));
      }
      s.barrier();
    },
    { step, unroll: false },
  );
  return sums;
}

/** Where C's elements are in the result, and how many rows and columns there are. */
export interface Target {
  readonly row: Uint;
  readonly column: Uint;
  readonly rows: Uint;
  readonly columns: Uint;
  /** The index of row 0 in a column. */
  readonly at: (column: Uint) => Uint;
  readonly rowStride: Uint;
  /** Of row 0. */
  readonly firstBias: Uint;
}

/** Writes sums, with what follows them. */
export function written(
  s: S,
  form: ConvolutionForm,
  { bn, tm, tn }: ConvolutionTile,
  sums: readonly (readonly Var<"f32">[])[],
  to: Target,
): void {
  const across = bn / tn;
  const [tx, ty] = [s.local.mod(across), s.local.div(across)];
  const { y } = s.buffers as { readonly y: Numbers };
  const ofChannel = epilogueOf(s, form);
  const guarded = (isTrue: boolean, condition: () => ReturnType<Uint["lt"]>, then: () => void): void =>
    isTrue ? then() : s.if(condition(), then);
  for (let half = 0; half < tn; half += 4) {
    const x = to.column.add(tx.mul(4)).add(half === 0 ? 0 : bn / 2);
    // Of four columns that are neighbours in the result, one is inside where all are.
    const starts = form.isWide ? [to.at(x)] : [0, 1, 2, 3].map((q) => to.at(x.add(q)));
    sums.forEach((rowSums, i) => {
      const row = to.row.add(ty.mul(tm)).add(i);
      const values = rowSums.slice(half, half + 4).map((v) => v.value);
      guarded(form.fits.rows, () => row.lt(to.rows), () => {
        const epilogue = ofChannel(() => to.firstBias.add(row));
        starts.forEach((start, q) =>
          guarded(form.fits.columns, () => x.add(q).lt(to.columns), () => {
            const parts = form.isWide ? values : [values[q]!];
            const at = start.add(row.mul(to.rowStride));
            y.storesInside(at, epilogue(parts, at));
          }),
        );
      }); // prettier-ignore
    });
  }
}

/** What forward and the data gradient compute: rows of C are channels of the result, columns are pixels of all images. */
export interface PlanePart {
  readonly row: Uint;
  readonly column: Uint;
  readonly rows: Uint;
  readonly columns: Uint;
  readonly group: Uint;
  readonly split: Uint;
  /** Pixels of an image. */
  readonly plane: Uint;
}

/** Multiplies the part of the sums over `length` that the group's split has, and writes it into the planes of the result, or of the split's own. */
export function multipliedIntoPlanes(
  s: S,
  form: ConvolutionForm,
  tile: ConvolutionTile,
  { row, column, rows, columns, group, split, plane }: PlanePart,
  { depth, step, length, padsB }: { readonly depth: number; readonly step: number; readonly length: Uint; readonly padsB: boolean },
  a: Operand,
  b: Operand,
): void {
  const p = s.params;
  const first = split.mul(p.perSplit);
  const end = first.add(p.perSplit).min(length);
  const sums = multiplied(s, tile, { depth, step, from: first, end, shared: sharedTiles(s, tile, depth, padsB) }, a, b);
  const offset = form.isPartial ? split.mul(p.size) : s.u32(0);
  written(s, form, tile, sums, {
    row,
    column,
    rows,
    columns,
    at: (c) => offset.add(c.div(plane).mul(p.groups).add(group).mul(rows).mul(plane)).add(c.mod(plane)),
    rowStride: plane,
    firstBias: group.mul(rows),
  });
}
