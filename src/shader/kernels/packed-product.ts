/**
 * Skinny GEMM with packed weights: y = x Wᵀ + bias in float32, of few rows of x. Weights are read once, four words a thread, and become numbers in registers only. So
 * many threads (`lanes`) share rows of W, each of which they sum in parts. x is in shared memory, or each thread reads its part of it.
 *
 * A code becomes a number without a shift or a conversion: its bits, where they are in the word, are the lowest ones of the float 2^23 + code 2^at, of which
 * 2^23 + middle 2^at is taken. x is scaled by 2^-at instead, once for all rows; both are exact.
 */
import type { Activation } from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import { activationCode } from "../operations/activations.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import { MAX_BUFFERS } from "../dxbc/emit.ts";
import type { BufferElements, Scope, SharedElements, Var } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { kernel, type Kernel } from "./kernel.ts";

/** What makes one shader unlike another. */
export interface PackedProductForm {
  /** Of a code. */
  readonly bits: 4 | 8;
  /** Whether codes are int8, with 0 in their middle. */
  readonly isSigned: boolean;
  /** Elements of a row of W: a multiple of codesAtOnce(bits). */
  readonly width: number;
  /** Elements that share a scale: a divisor of the width; a multiple of the codes of a word. */
  readonly block: number;
  readonly scales: "f32" | "f16";
  readonly hasMinima: boolean;
  readonly hasBias: boolean;
  /** Rows of x that a group computes. */
  readonly count: number;
  /** What is done to x when it is loaded. Default: nothing. */
  readonly prologue?: PackedPrologue | null;
  /** Whether a tensor of y's shape is added. Default: none. Of launches with one weight. */
  readonly hasAddend?: boolean;
  /** Buffers that are float16. Default: none; sums are float32. */
  readonly halves?: readonly PackedHalf[];
  /** Of these, the ones that are in memory as float32: they are rounded when they are loaded, or stored. Default: none. */
  readonly cast?: readonly PackedHalf[];
}

/** Buffers that may be float16; each weight has its own but for x. */
export type PackedHalf = "x" | "bias" | "y";

/**
 * What a group does to x when it loads it. rms: it divides each row by the root of its mean square plus epsilon, and multiplies it by `gain` [K], or by nothing.
 * activated: it takes the activation of x, and multiplies it by `factor` [M, K], or by nothing.
 */
export type PackedPrologue =
  | { readonly kind: "rms"; readonly epsilon: number; readonly hasGain: boolean }
  | { readonly kind: "activated"; readonly activation: Activation; readonly hasFactor: boolean };

/** How a group works. */
export interface PackedProductTile {
  readonly threads: number;
  /** Threads that share rows of W: a divisor of the threads, a multiple of 4. */
  readonly lanes: number;
  /** Rows of W that a thread has a part of. */
  readonly rows: number;
  /** Default: "shared". */
  readonly way?: PackedProductWay;
}

/**
 * shared: x is in shared memory. ahead: so it is, and a thread's next codes and scales are on their way while it multiplies the ones before; the first ones
 * already while x is read. direct: codes as ahead; threads read x themselves, which is in the device's cache, and wait for no others.
 * runs: as direct, but each thread reads four neighbouring texels of codes and their scales at once.
 */
export type PackedProductWay = "shared" | "ahead" | "direct" | "runs";

/** Whether threads read x themselves. */
const readsX = ({ way }: PackedProductTile): boolean => way === "direct" || way === "runs";
/** Texels of a run. */
const RUN = 4;

/** Codes that a thread reads at once: four words. */
export const codesAtOnce = (bits: 4 | 8): number => 128 / bits;
export const rowsOfGroup = ({ threads, lanes, rows }: PackedProductTile): number => (threads / lanes) * rows;

/** Words of shared memory for x, of 32 KiB in all. */
const MAX_SHARED = 7168;
/** 2^23, as bits and as a number: the lowest bit of such floats counts 1. */
const [MAGIC, TWO_23] = [0x4b000000, 2 ** 23];
/** By the code's position in its word: bits below it that stay where they are, and bits by which the word is moved before. */
const POSITIONS = {
  4: [0, 4, 8, 12, 16, 8, 12, 16].map((at, i) => ({ at, shift: i < 5 ? 0 : 12 })),
  8: [0, 8, 0, 8].map((at, i) => ({ at, shift: i < 2 ? 0 : 16 })),
} as const;

type Buffers = { readonly [name: string]: "f32" | "f16" | "u32" };

/** Whether the kernel takes such weights. */
export function takesPacked({ bits, width, block }: Pick<PackedProductForm, "bits" | "width" | "block">): boolean {
  const once = codesAtOnce(bits);
  return width % once === 0 && width % block === 0 && (block % once === 0 || (once % block === 0 && block % (32 / bits) === 0));
}

/** Texels of a row that are in shared memory at a time: all, or a multiple of the lanes. */
function texelsAtOnce({ bits, width, count }: PackedProductForm, tile: PackedProductTile): number {
  const once = codesAtOnce(bits);
  const { lanes, way } = tile;
  if (way === "runs" && (width / once) % RUN !== 0) return 0;
  if (readsX(tile)) return width / once;
  const [texels, max] = [width / once, Math.floor(MAX_SHARED / (count * (once + 4)))];
  return texels <= max ? texels : Math.floor(max / lanes) * lanes;
}

/** Whether x's rows are in shared memory, in parts of at least as much as the lanes take at once, or threads can read them themselves. @package */
export const fitsTile = (form: PackedProductForm, tile: PackedProductTile): boolean => texelsAtOnce(form, tile) > 0;

/** Whether all of x's rows are in shared memory at once. @package */
export const holdsRows = (form: PackedProductForm, tile: PackedProductTile): boolean =>
  texelsAtOnce(form, tile) === form.width / codesAtOnce(form.bits);

/** Threads that add what each thread has of the sum of squares of a row. */
const ADDERS = 16;
/** Words of shared memory for these sums. */
const MAX_SQUARES = 1024;
/** Rows of x of a launch with a prologue, at most: each has code of its own. */
const MAX_PROLOGUE_ROWS = 4;

/** Whether a group can apply the prologue: it loads all of x into shared memory, once. @package */
export function fitsPrologue(form: PackedProductForm, tile: PackedProductTile): boolean {
  if (form.prologue == null) return true;
  // What the prologue gives would be rounded before it is multiplied.
  if (form.halves?.includes("x") === true) return false;
  const fitsSquares = form.prologue.kind !== "rms" || (tile.threads % ADDERS === 0 && form.count * (tile.threads + ADDERS) <= MAX_SQUARES);
  return fitsSquares && form.count <= MAX_PROLOGUE_ROWS && !readsX(tile) && holdsRows(form, tile);
}

/** The tensor that a prologue reads besides x. */
function prologueBuffer(prologue: PackedPrologue | null | undefined): "gain" | "factor" | null {
  if (prologue == null) return null;
  if (prologue.kind === "rms") return prologue.hasGain ? "gain" : null;
  return prologue.hasFactor ? "factor" : null;
}

/** Inputs that all weights of a launch share: x, and what a prologue reads. @package */
export const sharedInputs = ({ prologue }: PackedProductForm): number => (prologueBuffer(prologue) === null ? 1 : 2);

/** Buffers of a launch for so many weights. */
export const packedBuffers = (form: PackedProductForm, weights: number): number =>
  sharedInputs(form) + weights * (3 + Number(form.hasMinima) + Number(form.hasBias)) + Number(form.hasAddend === true);

function prologueName(prologue: PackedPrologue | null | undefined): string {
  if (prologue == null) return "";
  if (prologue.kind === "rms") return ` rms ${prologue.epsilon}${prologue.hasGain ? " gain" : ""}`;
  return ` of ${keyOf([prologue.activation.operator, prologue.activation.attributes])}${prologue.hasFactor ? " factor" : ""}`;
}

/** The inputs of one product. @package */
export const packedInputs = (form: PackedProductForm): readonly string[] => {
  const ofPrologue = prologueBuffer(form.prologue);
  return [
    "x",
    ...(ofPrologue === null ? [] : [ofPrologue]),
    "codes",
    "scales",
    ...(form.hasMinima ? ["minima"] : []),
    ...(form.hasBias ? ["bias"] : []),
    ...(form.hasAddend === true ? ["addend"] : []),
  ];
};

/** The name of a buffer of one of the weights. @package */
export const nameOf = (name: string, weight: number): string => (weight === 0 ? name : `${name}${weight}`);

/**
 * x: [M, K]; codes: [N, words]; scales and minima: [N, blocks]; bias: [N]; y: [M, N]. Several weights, which may differ in N: their groups follow each other,
 * and so do their buffers, codes1, scales1 and so on. gain, factor: as the prologue has them; addend: [M, N].
 */
export function packedProduct(form: PackedProductForm, tile: PackedProductTile, weights = 1): Kernel {
  const { bits, isSigned, width, block, scales, hasMinima, hasBias, count, prologue, hasAddend = false, halves = [], cast = [] } = form;
  const { threads, lanes, rows } = tile;
  const ofPrologue = prologueBuffer(prologue);
  const key = `packed product ${bits}${isSigned ? " signed" : ""} ${width}/${block} ${scales}${hasMinima ? " minima" : ""}${hasBias ? " bias" : ""}${hasAddend ? " addend" : ""}${halves.length === 0 ? "" : ` halves ${halves.join(" ")}`}${prologueName(prologue)} ${count} ${threads}/${lanes}x${rows} ${tile.way ?? "shared"}${weights === 1 ? "" : ` of ${weights}`}`; // prettier-ignore
  const all = Array.from({ length: weights }, (_, w) => w);
  const elementOf = (name: PackedHalf): "f32" | "f16" => (halves.includes(name) ? "f16" : "f32");
  const casts = cast.flatMap((name) => (name === "x" ? [name] : all.map((w) => nameOf(name, w))));
  const ofOne: Buffers = {
    codes: "u32",
    scales,
    ...(hasMinima ? { minima: scales } : {}),
    ...(hasBias ? { bias: elementOf("bias") } : {}),
  };
  const inputs: Buffers = {
    x: elementOf("x"),
    ...(ofPrologue === null ? {} : { [ofPrologue]: "f32" as const }),
    ...Object.fromEntries(all.flatMap((w) => Object.entries(ofOne).map(([name, element]) => [nameOf(name, w), element]))),
    ...(hasAddend ? { addend: "f32" as const } : {}),
  };
  const outputs: Buffers = Object.fromEntries(all.map((w) => [nameOf("y", w), elementOf("y")]));
  const groups = ({ shapes }: LaunchFacts): number =>
    all.reduce((sum, w) => sum + Math.ceil(shapes[nameOf("y", w)]![1]! / rowsOfGroup(tile)), 0) * Math.ceil(shapes["y"]![0]! / count);
  const maxBuffers = Math.max(MAX_BUFFERS, packedBuffers(form, weights));
  return kernel(key, { inputs, outputs, threads, groups, isOneOfMany: true, maxBuffers, casts }, (s) =>
    weights === 1 ? packedBody(s as unknown as S, form, tile) : joinedBody(s as unknown as S, form, tile, weights),
  );
}

/** Each group has rows of one of the weights. */
function joinedBody(s: S, form: PackedProductForm, tile: PackedProductTile, weights: number): void {
  const shared = s.shared("f32", sharedWords(form, tile));
  const parts = s.buffers["y"]!.dim(0).add(form.count - 1).div(form.count); // prettier-ignore
  const compute = (weight: number, group: Uint): void => {
    if (weight === weights - 1) {
      packedBody(s, form, tile, { weight, group, shared });
      return;
    }
    const groups = s.buffers[nameOf("y", weight)]!.dim(1).add(rowsOfGroup(tile) - 1).div(rowsOfGroup(tile)).mul(parts); // prettier-ignore
    s.if(
      group.lt(groups),
      () => packedBody(s, form, tile, { weight, group, shared }),
      () => compute(weight + 1, group.sub(groups)),
    );
  };
  compute(0, s.group);
}

/** One of the weights of a launch, the group among its own, and the memory that all share. */
interface PartOfLaunch {
  readonly weight: number;
  readonly group: Uint;
  readonly shared: SharedElements<"f32">;
}

/** What a group sums at the end, as many at once as there is memory for. */
const sumsAtOnceOf = ({ count }: PackedProductForm, { threads, lanes, rows }: PackedProductTile): number =>
  Math.max(1, Math.min(count * rows, Math.floor(MAX_SHARED / ((threads / lanes) * (lanes + 4)))));

/** Words of shared memory for x and later the sums. */
function sumWords(form: PackedProductForm, tile: PackedProductTile): number {
  const { threads, lanes } = tile;
  const ofX = readsX(tile) ? 0 : texelsAtOnce(form, tile) * (codesAtOnce(form.bits) + 4) * form.count;
  return Math.max(ofX, sumsAtOnceOf(form, tile) * (threads / lanes) * (lanes + 4));
}

/** Words of shared memory. Behind those of x are the sums of squares: of each row what each thread has, then what ADDERS threads have. */
function sharedWords(form: PackedProductForm, tile: PackedProductTile): number {
  return sumWords(form, tile) + (form.prologue?.kind === "rms" ? form.count * (tile.threads + ADDERS) : 0);
}

type S = Scope<Buffers, Record<string, never>>;

/** What the kernel does. @package */
export function packedBody(s: S, form: PackedProductForm, tile: PackedProductTile, of?: PartOfLaunch): void {
  const { bits, isSigned, width, block, count, prologue = null } = form;
  const { threads, lanes, rows, way = "shared" } = tile;
  const [isNormed, curve] = [prologue?.kind === "rms", prologue?.kind === "activated" ? activationCode(prologue.activation)! : null];
  const squaresAt = sumWords(form, tile);
  const buffers = s.buffers as unknown as Record<string, BufferElements<"f32">>;
  const { x } = buffers;
  const { gain, factor, addend } = buffers;
  const [scales, minima, bias, y] = ["scales", "minima", "bias", "y"].map((name) => buffers[nameOf(name, of?.weight ?? 0)]);
  const codes = s.buffers[nameOf("codes", of?.weight ?? 0)] as unknown as BufferElements<"u32">;
  const group = of?.group ?? s.group;
  const once = codesAtOnce(bits);
  const texels = width / once;
  const blocks = width / block;
  /** Scales of a thread's codes. */
  const ownBlocks = Math.max(1, once / block);
  const [stride, slices] = [once + 4, threads / lanes];
  const perWord = 32 / bits;
  const part = texelsAtOnce(form, tile);
  const [m, n] = [y!.dim(0), y!.dim(1)];
  const parts = m.add(count - 1).div(count);
  // Neighbouring groups read the same weights.
  const [firstX, firstRow] = [group.mod(parts).mul(count), group.div(parts).mul(slices * rows)];
  const [lane, slice] = [s.local.mod(lanes), s.local.div(lanes)];
  const sumsAtOnce = sumsAtOnceOf(form, tile);
  const shared = of?.shared ?? s.shared("f32", sharedWords(form, tile));
  const row = (i: number): Uint => firstRow.add(slice.mul(rows)).add(i);
  const own = Array.from({ length: rows }, (_, i) => row(i).min(n.sub(1)));
  const sums: Var<"f32">[][] = own.map(() => Array.from({ length: count }, () => s.variable(s.f32(0))));

  /** x's numbers of `length` texels from one on, each scaled for its code's position. All are on their way before the first is written. */
  const fill = (from: Uint, length: number, isLast: boolean): void => {
    const items = (length * once) / 4;
    for (let c = 0; c < count; c++) {
      const at = firstX.add(c).min(m.sub(1)).mul(width).add(from.mul(once));
      const found = Array.from({ length: Math.ceil(items / threads) }, (_, i) => {
        const item = s.local.add(i * threads);
        const bounds: Bool[] = [];
        if ((i + 1) * threads > items) bounds.push(item.lt(items));
        if (isLast) bounds.push(from.mul(once / 4).add(item).lt(width / 4)); // prettier-ignore
        const inside = bounds.length === 0 ? null : bounds.reduce((a, b) => a.and(b));
        const index = at.add(item.mul(4));
        const read = (from: BufferElements<"f32">, first: Uint): Float[] =>
          from.loadsInside(inside === null ? first : inside.select(first, 0), 4);
        const ofX = read(x!, index);
        const factors = factor !== undefined ? read(factor, index) : gain !== undefined ? read(gain, item.mul(4)) : null;
        return { item, inside, ofX, factors };
      });
      let squares: Float | null = null;
      for (const { item, inside, ofX, factors } of found) {
        if (isNormed)
          for (const v of ofX) {
            const own = inside === null ? v : inside.select(v, 0);
            squares = squares === null ? own.mul(own) : own.fma(own, squares);
          }
        const values = ofX.map((v, q) => {
          const made = curve === null ? v : curve(v, s);
          return factors === null ? made : made.mul(factors[q]!);
        });
        // Positions repeat after a word, which has one or two fours of codes.
        const scaled = values.map((v, q) => {
          const [even, odd] = [0, 4].map((first) => 2 ** -POSITIONS[bits][(first + q) % perWord]!.at) as [number, number];
          return v.mul(even === odd ? even : item.and(1).eq(0).select(s.f32(even), odd));
        });
        const put = (): void => shared.storesInside(item.div(once / 4).mul(stride).add(item.mod(once / 4).mul(4)).add(c * part * stride), scaled); // prettier-ignore
        if (inside === null) put();
        else s.if(inside, put);
      }
      if (squares !== null) shared.storesInside(s.local.add(squaresAt + c * threads), [squares]);
    }
  };

  /** A texel of codes of each row, and the numbers of its blocks. */
  interface Loaded {
    readonly words: readonly (readonly Uint[])[];
    readonly scale: readonly (readonly Float[])[];
    readonly minimum: readonly (readonly Float[])[] | null;
  }
  const wordsOf = (at: Uint): Uint[][] => own.map((r) => codes.loadsInside(r.mul(texels).add(at).mul(4), 4));
  const load = (at: Uint): Loaded => {
    const words = wordsOf(at);
    const blockOf = (r: Uint, j: number): Uint => {
      if (blocks === 1) return r;
      return block >= once ? r.mul(blocks).add(at.div(block / once)) : r.mul(blocks).add(at.mul(ownBlocks)).add(j);
    };
    const of = (values: BufferElements<"f32">): Float[][] =>
      own.map((r) => Array.from({ length: ownBlocks }, (_, j) => values.loadsInside(blockOf(r, j), 1)[0]!));
    return { words, scale: of(scales!), minimum: minima === undefined ? null : of(minima) };
  };

  /** Four neighbours of row c of x in texel `at`, each scaled for its code's position. */
  const xOf = (at: Uint, inside: Uint, c: number, first: number): Float[] => {
    if (!readsX(tile)) return shared.loadsInside(inside.mul(stride).add(c * part * stride + first), 4);
    const start = firstX.add(c).min(m.sub(1)).mul(width).add(at.mul(once)).add(first);
    return x!.loadsInside(start, 4).map((v, k) => v.mul(2 ** -POSITIONS[bits][(first + k) % perWord]!.at));
  };

  /** Adds the products with texel `at` of each row, whose x is at `inside` of shared memory. */
  const add = (at: Uint, inside: Uint, { words, scale, minimum }: Loaded): void => {
    const wordsOfBlock = 4 / ownBlocks;
    for (let j = 0; j < ownBlocks; j++) {
      const totals: (Float | null)[][] = own.map(() => new Array<null>(count).fill(null));
      const ofX: (Float | null)[] = new Array<null>(count).fill(null);
      for (let q = j * wordsOfBlock; q < (j + 1) * wordsOfBlock; q++) {
        const sources = words.map((each) => (isSigned ? each[q]!.xor(0x80808080) : each[q]!));
        const numbers = sources.map((word) =>
          POSITIONS[bits].map(({ at: bit, shift }) =>
            word.shiftRight(shift).and((2 ** bits - 1) * 2 ** bit).or(MAGIC).asFloat().sub(TWO_23 + 2 ** (bits - 1 + bit)),
          ),
        ); // prettier-ignore
        for (let c = 0; c < count; c++)
          for (let e = 0; e < perWord; e += 4) {
            const values = xOf(at, inside, c, q * perWord + e);
            values.forEach((v, k) => {
              for (let i = 0; i < rows; i++) {
                const w = numbers[i]![e + k]!;
                totals[i]![c] = totals[i]![c] === null ? v.mul(w) : v.fma(w, totals[i]![c]!);
              }
              if (minimum === null) return;
              const factor = 2 ** POSITIONS[bits][e + k]!.at;
              ofX[c] = ofX[c] === null ? v.mul(factor) : v.fma(factor, ofX[c]!);
            });
          }
      }
      sums.forEach((row, i) =>
        row.forEach((sum, c) => {
          const product = totals[i]![c]!.fma(scale[i]![j]!, sum.value);
          sum.value = minimum === null ? product : ofX[c]!.fma(minimum[i]![j]!, product);
        }),
      );
    }
  };

  const steps = (from: Uint, length: number): void => {
    if (length <= lanes) {
      const at = from.add(lane);
      const run = (): void => add(at, lane, load(at));
      if (length === lanes && texels % part === 0) run();
      else s.if(lane.lt(length).and(at.lt(texels)), run);
      return;
    }
    s.for(
      0,
      length,
      (step) => {
        const inside = step.add(lane);
        const at = from.add(inside);
        const run = (): void => add(at, inside, load(at));
        if (length % lanes === 0 && texels % part === 0) run();
        else s.if(inside.lt(length).and(from.add(inside).lt(texels)), run);
      },
      { step: lanes, unroll: false },
    );
  };
  /** All texels, each step's codes on their way during the one before. */
  const stepsAhead = (fillX: () => void): void => {
    const first = load(lanes <= texels ? lane : lane.min(texels - 1));
    const next = {
      words: first.words.map((list) => list.map((v) => s.variable(v))),
      scale: first.scale.map((list) => list.map((v) => s.variable(v))),
      minimum: first.minimum?.map((list) => list.map((v) => s.variable(v))) ?? null,
    };
    const valuesOf = <E extends "u32" | "f32", V>(lists: readonly (readonly Var<E>[])[]): V[][] =>
      lists.map((list) => list.map((v) => v.value as V));
    fillX();
    s.for(
      0,
      texels,
      (step) => {
        const inside = step.add(lane);
        const now: Loaded = {
          words: valuesOf(next.words),
          scale: valuesOf(next.scale),
          minimum: next.minimum === null ? null : valuesOf(next.minimum),
        };
        const then = load(inside.add(lanes).min(texels - 1));
        next.words.forEach((list, i) => list.forEach((v, q) => (v.value = then.words[i]![q]!)));
        next.scale.forEach((list, i) => list.forEach((v, j) => (v.value = then.scale[i]![j]!)));
        next.minimum?.forEach((list, i) => list.forEach((v, j) => (v.value = then.minimum![i]![j]!)));
        const run = (): void => add(inside, inside, now);
        if (texels % lanes === 0) run();
        else s.if(inside.lt(texels), run);
      },
      { step: lanes, unroll: false },
    );
  };
  /** Four neighbouring texels of each row, all of which are on their way before the first is multiplied. */
  const stepsByRuns = (): void => {
    const isWide = block === once && blocks % RUN === 0;
    const four = (values: BufferElements<"f32">, at: Uint): Float[][] => own.map((r) => values.loadsInside(r.mul(blocks).add(at), RUN));
    s.for(
      0,
      texels / RUN,
      (step) => {
        const run = step.add(lane);
        const multiply = (): void => {
          const at = run.mul(RUN);
          const wide = isWide ? { scale: four(scales!, at), minimum: minima === undefined ? null : four(minima, at) } : null;
          const loaded = Array.from({ length: RUN }, (_, t): Loaded => {
            if (wide === null) return load(at.add(t));
            return { words: wordsOf(at.add(t)), scale: wide.scale.map((v) => [v[t]!]), minimum: wide.minimum?.map((v) => [v[t]!]) ?? null };
          });
          loaded.forEach((each, t) => add(at.add(t), at.add(t), each));
        };
        if ((texels / RUN) % lanes === 0) multiply();
        else s.if(run.lt(texels / RUN), multiply);
      },
      { step: lanes, unroll: false },
    );
  };
  if (way === "runs") stepsByRuns();
  else if (way !== "shared" && part === texels)
    stepsAhead(() => {
      if (way === "direct") return;
      fill(s.u32(0), texels, false);
      s.barrier();
    });
  else if (part === texels) {
    fill(s.u32(0), texels, false);
    s.barrier();
    steps(s.u32(0), texels);
  } else
    s.for(
      0,
      texels,
      (from) => {
        s.barrier();
        fill(from, part, texels % part !== 0);
        s.barrier();
        steps(from, part);
      },
      { step: part, unroll: false },
    );

  const addedAt = squaresAt + count * threads;
  if (isNormed)
    s.if(s.local.lt(ADDERS), () => {
      for (let c = 0; c < count; c++) {
        const own = Array.from({ length: threads / ADDERS }, (_, k) => shared.loadsInside(s.local.add(squaresAt + c * threads + k * ADDERS), 1)[0]!); // prettier-ignore
        shared.storesInside(s.local.add(addedAt + c * ADDERS), [own.reduce((a, b) => a.add(b))]);
      }
    });
  /** By which the sums of row c of x are multiplied. The barriers before the sums are read are behind these squares too. */
  const scaleOf = (c: Uint): Float | null => {
    if (prologue?.kind !== "rms") return null;
    const four = Array.from({ length: ADDERS / 4 }, (_, k) => shared.loadsInside(c.mul(ADDERS).add(addedAt + 4 * k), 4)).flat();
    return four.reduce((a, b) => a.add(b)).div(width).add(prologue.epsilon).rsqrt(); // prettier-ignore
  };

  // The parts of a row are summed in an order that does not depend on timing.
  const all = sums.flatMap((row, i) => row.map((sum, c) => ({ i, c, sum })));
  for (let first = 0; first < all.length; first += sumsAtOnce) {
    const now = all.slice(first, first + sumsAtOnce);
    s.barrier();
    now.forEach(({ sum }, k) => shared.storesInside(slice.mul(now.length).add(k).mul(lanes + 4).add(lane), [sum.value])); // prettier-ignore
    s.barrier();
    for (let i = 0; i * threads < slices * now.length; i++) {
      const item = s.local.add(i * threads);
      const entry = item.mod(now.length).add(first);
      const [ofRow, ofX] = [entry.div(count), entry.mod(count)];
      const to = firstRow.add(item.div(now.length).mul(rows)).add(ofRow);
      const from = firstX.add(ofX);
      s.if(
        item
          .lt(slices * now.length)
          .and(to.lt(n))
          .and(from.lt(m)),
        () => {
          const four = Array.from({ length: lanes / 4 }, (_, k) => shared.loadsInside(item.mul(lanes + 4).add(4 * k), 4)).reduce((a, b) =>
            a.map((v, k) => v.add(b[k]!)),
          );
          const total = four[0]!.add(four[1]!).add(four[2]!.add(four[3]!));
          const scale = scaleOf(ofX);
          const product = scale === null ? total : total.mul(scale);
          const sum = bias === undefined ? product : product.add(bias.loadsInside(to, 1)[0]!);
          const at = from.mul(n).add(to);
          y!.storesInside(at, [addend === undefined ? sum : sum.add(addend.loadsInside(at, 1)[0]!)]);
        },
      );
    }
  }
}
