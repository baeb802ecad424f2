/**
 * Winograd's convolution F(2 x 2, 3 x 3) and F(4 x 4, 3 x 3), stride 1: y = A^T [(G w G^T) * (B^T x B)] A for tiles of 2 x 2 results, which takes 16 products instead of
 * 36, or of 4 x 4, which takes 36 instead of 144. Here: the transform of planes, [N, C, H, W] to 16 or 36 matrices of channels by tiles, and that of the products back to planes, with the epilogue. All sums are float32.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { loadWhere, type ConvolutionElement, type Pair } from "./convolution-tiles.ts";
import { castBuffers, epilogueBuffers, epilogueName, epilogueOf, type EpilogueForm } from "./epilogue.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";

export type Matrix = readonly (readonly number[])[];

/** Results of a tile along an axis. */
export type TileSize = 2 | 4;

interface Transforms {
  /** Elements of a transform along an axis. */
  readonly points: number;
  /** B^T, of a tile of the source. */
  readonly source: Matrix;
  /** G, of a kernel. */
  readonly kernel: Matrix;
  /** A^T, of the products. */
  readonly result: Matrix;
}

/** Of F(4 x 4, 3 x 3) at the points 0, 1, -1, 2, -2. */
export const TRANSFORMS: Readonly<Record<TileSize, Transforms>> = {
  2: {
    points: 4,
    source: [
      [1, 0, -1, 0],
      [0, 1, 1, 0],
      [0, -1, 1, 0],
      [0, 1, 0, -1],
    ],
    kernel: [
      [1, 0, 0],
      [1 / 2, 1 / 2, 1 / 2],
      [1 / 2, -1 / 2, 1 / 2],
      [0, 0, 1],
    ],
    result: [
      [1, 1, 1, 0],
      [0, 1, -1, -1],
    ],
  },
  4: {
    points: 6,
    source: [
      [4, 0, -5, 0, 1, 0],
      [0, -4, -4, 1, 1, 0],
      [0, 4, -4, -1, 1, 0],
      [0, -2, -1, 2, 1, 0],
      [0, 2, -1, -2, 1, 0],
      [0, 4, 0, -5, 0, 1],
    ],
    kernel: [
      [1 / 4, 0, 0],
      [-1 / 6, -1 / 6, -1 / 6],
      [-1 / 6, 1 / 6, -1 / 6],
      [1 / 24, 1 / 12, 1 / 6],
      [1 / 24, -1 / 12, 1 / 6],
      [0, 0, 1],
    ],
    result: [
      [1, 1, 1, 1, 1, 0],
      [0, 1, -1, 2, -2, 0],
      [0, 1, 1, 4, 4, 0],
      [0, 1, -1, 8, -8, 1],
    ],
  },
};

/** Matrices of products. */
export const planesOf = (size: TileSize): number => TRANSFORMS[size].points ** 2;

/** Rows of so many values. */
export const inRows = <T>(values: readonly T[], length: number): T[][] =>
  Array.from({ length: values.length / length }, (_, i) => values.slice(length * i, length * (i + 1)));

export const transposed = (m: Matrix): Matrix => m[0]!.map((_, j) => m.map((row) => row[j]!));

/** Of each row of a matrix its product with values; elements that are 0 read nothing, so that NaN stays where it has a part. */
function applied(m: Matrix, values: readonly Float[]): Float[] {
  return m.map((row) => {
    const terms = row.flatMap((factor, i) => (factor === 0 ? [] : [{ factor, value: values[i]! }]));
    // The first one is not multiplied, where there is one of factor 1.
    const [first, ...rest] = terms.toSorted((a, b) => Number(b.factor === 1) - Number(a.factor === 1));
    const start = first!.factor === 1 ? first!.value : first!.value.mul(first!.factor);
    return rest.reduce((sum, { factor, value }) => {
      if (factor === 1) return sum.add(value);
      return factor === -1 ? sum.sub(value) : value.fma(factor, sum);
    }, start);
  });
}

/** m d m^T, row by row. */
export function sandwiched(m: Matrix, d: readonly (readonly Float[])[]): Float[] {
  const columns = d[0]!.map((_, j) => applied(m, d.map((row) => row[j]!))); // prettier-ignore
  return m.flatMap((_, i) => applied(m, columns.map((column) => column[i]!))); // prettier-ignore
}

/** Neighbouring tiles of a thread, whose elements of a matrix are one access. */
export type TileWidth = 1 | 4;

interface TilesForm {
  readonly size: TileSize;
  readonly element: ConvolutionElement;
  readonly width: TileWidth;
  /** A thread's four tiles are in one row of an image. */
  readonly isRow: boolean;
}

/** x for products over channels; x, or dy, for products over tiles, as the weight gradient has them. */
export type TransformedPlanes = "source" | "source of weights" | "gradient of weights";

export interface PlanesForm extends TilesForm, Pick<EpilogueForm, "cast"> {
  readonly of: TransformedPlanes;
  /** Elements before the first tile; fewer than 0: elements that no tile has. */
  readonly padding: Pair;
  /** Rows of the source are multiples of four elements, which are read together. */
  readonly isWide: boolean;
}

/** Tiles are counted by `width` in perRow, and by four where isRow is true, else one by one, in count, perImage and perTileRow. */
const TILES_PARAMS = {
  /** Threads. */
  total: "u32",
  /** Tiles of a row of a matrix. */
  perRow: "u32",
  channels: "u32",
  /** Tiles of all images. */
  count: "u32",
  perImage: "u32",
  /** Of a row of tiles. */
  perTileRow: "u32",
  /** Of a plane. */
  planeHeight: "u32",
  planeWidth: "u32",
} as const;
export type TilesNumbers = Readonly<Record<keyof typeof TILES_PARAMS, number>>;
type S = Scope<{ readonly [name: string]: ConvolutionElement }, typeof TILES_PARAMS>;

const THREADS = 128;
const groupsOf = ({ total }: LaunchFacts["params"]): number => Math.ceil(total! / THREADS);

/** The position of a tile, or of the first of four adjacent ones. */
interface Position {
  readonly inside: Bool;
  readonly image: Uint;
  /** The row and column of its first result. */
  readonly top: Uint;
  readonly left: Uint;
}

/** The tiles of a thread, `unit` of them at each position. at: of `width` tiles, from the first one of all images. */
function positionsOf(
  s: S,
  { size, width, isRow }: TilesForm,
  at: Uint,
): { readonly unit: number; readonly positions: readonly Position[] } {
  const { count, perImage, perTileRow } = s.params;
  const unit = isRow ? width : 1;
  const positions = Array.from({ length: width / unit }, (_, q): Position => {
    const n = isRow || width === 1 ? at : at.mul(width).add(q);
    const rest = n.mod(perImage);
    return {
      inside: n.lt(count),
      image: n.div(perImage),
      top: rest.div(perTileRow).mul(size),
      left: rest.mod(perTileRow).mul(size * unit),
    };
  });
  return { unit, positions };
}

const shifted = (at: Uint, by: number): Uint => (by < 0 ? at.sub(-by) : at.add(by));

/** Elements of a row of the source from a column on, `count` of them; outside of the row they are 0. start: the row's first element. */
function rowOf(s: S, isWide: boolean, { left, inside, start }: { readonly left: Uint; readonly inside: Bool; readonly start: Uint }, padding: number, count: number): Float[] {
  const { x } = s.buffers as { readonly x: Numbers };
  const { planeWidth } = s.params;
  const one = (distance: number): Float => {
    const column = shifted(left, distance);
    return loadWhere(x, inside.and(column.lt(planeWidth)), start.add(column))[0]!;
  };
  const distances = Array.from({ length: count }, (_, i) => i - padding);
  if (!isWide) return distances.map(one);
  // `left` is a multiple of four, as is the row: of four elements all are in it or none.
  const fours = new Map<number, Float[]>();
  return distances.map((distance) => {
    const four = Math.floor(distance / 4);
    if (distances.filter((other) => Math.floor(other / 4) === four).length === 1) return one(distance);
    const column = shifted(left, 4 * four);
    const loaded = fours.get(four) ?? loadWhere(x, inside.and(column.lt(planeWidth)), start.add(column), 4);
    fours.set(four, loaded);
    return loaded[distance - 4 * four]!;
  });
} // prettier-ignore

function transformedPlanes(s: S, form: PlanesForm): void {
  const { u } = s.buffers as { readonly u: Numbers };
  const { total, perRow, channels, planeHeight, planeWidth } = s.params;
  const { size, width, padding } = form;
  const { points, source, result } = TRANSFORMS[size];
  const isGradient = form.of === "gradient of weights";
  const [matrix, reach] = isGradient ? [transposed(result), size] : [source, points];
  s.if(s.thread.lt(total), () => {
    const row = s.thread.div(perRow);
    const channel = row.mod(channels);
    const { unit, positions } = positionsOf(s, form, row.div(channels).mul(perRow).add(s.thread.mod(perRow)));
    const tiles = positions.flatMap(({ inside, image, top, left }) => {
      const plane = image.mul(channels).add(channel).mul(planeHeight);
      const rows = Array.from({ length: reach }, (_, i) => {
        const y = shifted(top, i - padding[0]);
        const start = plane.add(y).mul(planeWidth);
        return rowOf(s, form.isWide, { left, inside: inside.and(y.lt(planeHeight)), start }, padding[1], reach + size * (unit - 1));
      });
      return Array.from({ length: unit }, (_, k) => sandwiched(matrix, rows.map((values) => values.slice(size * k, size * k + reach)))); // prettier-ignore
    });
    for (let i = 0; i < points ** 2; i++) u.storesInside(total.mul(i).add(s.thread).mul(width), tiles.map((tile) => tile[i]!)); // prettier-ignore
  });
}

const nameOf = ({ size, element, width, isRow }: TilesForm): string[] => [
  `${size}x${size} by ${width}`,
  isRow ? "adjacent" : "",
  element === "f16" ? "halves" : "",
];

/** @internal As convolutionKernel has it. */
export function planesKernel(form: PlanesForm) {
  const { of, padding, isWide, element } = form;
  return {
    name: ["winograd", of, ...nameOf(form), `padded ${padding.join("x")}`, isWide ? "wide" : ""].filter(Boolean).join(" "),
    inputs: { x: element },
    outputs: { u: "f32" as const },
    params: TILES_PARAMS,
    threads: THREADS,
    groups: groupsOf,
    body: (s: S): void => transformedPlanes(s, form),
  };
}

/** x [N, C, planeHeight, planeWidth]: u [16 or 36, splits, C, perRow * width], of which each split has the next tiles. Behind the last tile are zeros. */
export function winogradPlanes(form: PlanesForm): Kernel {
  const { name, groups, body, ...spec } = planesKernel(form);
  return kernel(name, { ...spec, groups: ({ params }) => groups(params), isOneOfMany: true, casts: castBuffers(form) }, (s) =>
    body(s as unknown as S),
  );
}

export interface ResultForm extends TilesForm, EpilogueForm {
  /** Whether rows and columns of the result are multiples of a tile's. */
  readonly fits: { readonly rows: boolean; readonly columns: boolean };
  /** Products are parts of sums. */
  readonly isSplit: boolean;
}

const RESULT_PARAMS = { ...TILES_PARAMS, splits: "u32" } as const;

type R = Scope<{ readonly [name: string]: ConvolutionElement }, typeof RESULT_PARAMS>;

function transformedResult(s: R, form: ResultForm): void {
  const { m, y } = s.buffers as { readonly m: Numbers; readonly y: Numbers };
  const { total, perRow, channels, planeHeight, planeWidth, splits } = s.params;
  const { size, width, fits, isSplit } = form;
  const { points, result } = TRANSFORMS[size];
  s.if(s.thread.lt(total), () => {
    const channel = s.thread.div(perRow);
    const epilogue = epilogueOf(s, form)(() => channel);
    const part = (matrix: Uint | number): Float[] => m.loadsInside(total.mul(matrix).add(s.thread).mul(width), width);
    let products: Float[][];
    if (isSplit) {
      const sums = Array.from({ length: points ** 2 }, () => Array.from({ length: width }, () => s.variable(s.f32(0))));
      s.for(
        0,
        splits,
        (split) => {
          const parts = sums.map((_, i) => part(splits.mul(i).add(split)));
          sums.forEach((own, i) => own.forEach((sum, q) => (sum.value = sum.value.add(parts[i]![q]!))));
        },
        { unroll: false },
      );
      products = sums.map((own) => own.map(({ value }) => value));
    } else products = Array.from({ length: points ** 2 }, (_, i) => part(i));
    const { unit, positions } = positionsOf(s as unknown as S, form, s.thread.mod(perRow));
    positions.forEach(({ inside, image, top, left }, index) => {
      const tiles = Array.from({ length: unit }, (_, k) => {
        const own = products.map((values) => values[index * unit + k]!);
        return inRows(sandwiched(result, inRows(own, points)), size);
      });
      const first = image.mul(channels).add(channel).mul(planeHeight).add(top).mul(planeWidth).add(left); // prettier-ignore
      const write = (i: number): void => {
        const start = i === 0 ? first : first.add(planeWidth.mul(i));
        const values = tiles.flatMap((rows) => rows[i]!);
        const store = (from: number, count: number): void => {
          const at = from === 0 ? start : start.add(from);
          y.storesInside(at, epilogue(values.slice(from, from + count), at));
        };
        if (fits.columns) for (let from = 0; from < values.length; from += 4) store(from, Math.min(4, values.length));
        else
          for (let from = 0; from < values.length; from++)
            if (from === 0) store(0, 1);
            else s.if(left.add(from).lt(planeWidth), () => store(from, 1));
      };
      s.if(inside, () => {
        for (let i = 0; i < size; i++)
          if (i === 0 || fits.rows) write(i);
          else s.if(top.add(i).lt(planeHeight), () => write(i));
      });
    });
  });
}

/** @internal As convolutionKernel has it. */
export function resultKernel(form: ResultForm) {
  const { element, fits, isSplit } = form;
  const inputs: { readonly [name: string]: ConvolutionElement } = {
    m: "f32",
    ...Object.fromEntries(epilogueBuffers(form).map((name) => [name, element])),
  };
  const flags = [fits.rows ? "" : "rows", fits.columns ? "" : "columns", isSplit ? "split" : "", ...epilogueName(form)];
  return {
    name: ["winograd result", ...nameOf(form), ...flags].filter(Boolean).join(" "),
    inputs,
    outputs: { y: element },
    params: RESULT_PARAMS,
    threads: THREADS,
    groups: groupsOf,
    body: (s: R): void => transformedResult(s, form),
  };
}

/** m [16 or 36, splits, C, perRow * width]: y [N, C, planeHeight, planeWidth]. Four adjacent tiles are inside the plane. */
export function winogradResult(form: ResultForm): Kernel {
  const { name, groups, body, ...spec } = resultKernel(form);
  return kernel(name, { ...spec, groups: ({ params }) => groups(params), isOneOfMany: true, casts: castBuffers(form) }, (s) =>
    body(s as unknown as R),
  );
}
