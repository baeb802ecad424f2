/**
 * Stockham transforms along rows of complex numbers: a group takes some rows into its shared memory, a thread some elements of a row into its registers in
 * each pass. All is computed with exp(-2πi jk / n); with the other sign, of the conjugates.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements, SharedElements } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { kernel, type Kernel } from "./kernel.ts";
import { conjugate, smallTransform, times, type ComplexFloat } from "./small-transform.ts";

/** What makes one shader unlike another. */
export interface FftForm {
  /** Length of a row in shared memory, the product of radices; of a chirp that of its convolution. */
  readonly length: number;
  readonly radices: readonly number[];
  /** Rows of a group. */
  readonly rows: number;
  /** Where the input is read, neighbouring threads have neighbouring rows, not neighbouring elements of one. */
  readonly readsAcross: boolean;
  /** The same where the output is written. */
  readonly writesAcross: boolean;
  readonly from: "real" | "complex";
  readonly to: "real" | "complex";
  /** Multiplied by an element of a table of the size of a result's block: twiddle factors between two steps. */
  readonly hasFactors: boolean;
  /** A convolution with a chirp (Bluestein). */
  readonly isChirp: boolean;
  /** Whether elements between the first one and that of index n / 2 count twice. */
  readonly half: "none" | "input" | "output";
}

/** Numbers of a launch. A row has an outer and an inner index: row = outer * inner + i. */
export interface FftLaunch {
  readonly rowCount: number;
  /** Rows that lie in one block of the input, and of the output. */
  readonly inner: number;
  /** Of the inner index, how many are neighbours in the input; behind them, inputStep elements lie between the first ones. */
  readonly neighbours: number;
  readonly inputStep: number;
  readonly inputBlock: number;
  readonly inputStride: number;
  /** Elements of a block that are there; behind them are zeros. */
  readonly inputEnd: number;
  readonly outputBlock: number;
  readonly outputStride: number;
  /** Elements of a block that are written. */
  readonly outputEnd: number;
  /** Length of the transform: of the tables of a chirp. */
  readonly n: number;
  readonly scale: number;
  /** -1: exp(-2πi jk / n); 1: its conjugate. */
  readonly sign: number;
  /** Between two elements of the axis in a block. */
  readonly spacing: number;
}

const PARAMS = {
  rowCount: "u32",
  inner: "u32",
  neighbours: "u32",
  inputStep: "u32",
  inputBlock: "u32",
  inputStride: "u32",
  inputEnd: "u32",
  outputBlock: "u32",
  outputStride: "u32",
  outputEnd: "u32",
  n: "u32",
  scale: "f32",
  sign: "f32",
  spacing: "u32",
} as const;

const MAX_THREADS = 256;
const MAX_SHARED = 32768;

/** Complex numbers that shared memory holds. */
export const MAX_SHARED_ELEMENTS = MAX_SHARED / 8;

/** Butterflies of a pass. */
const workOf = ({ length, rows }: FftForm, radix: number): number => (rows * length) / radix;

const threadsOf = (form: FftForm): number => {
  const max = Math.max(...form.radices.map((radix) => workOf(form, radix)));
  return Math.min(MAX_THREADS, 32 * Math.ceil(max / 32));
};

const nameOf = (f: FftForm): string =>
  [
    `fft ${f.radices.join("x")} ${f.rows} ${f.from} to ${f.to}`,
    ...(f.readsAcross ? ["reads across"] : []),
    ...(f.writesAcross ? ["writes across"] : []),
    ...(f.hasFactors ? ["factors"] : []),
    ...(f.isChirp ? ["chirp"] : []),
    ...(f.half === "none" ? [] : [`half ${f.half}`]),
  ].join(", ");

/** What is read or written for a row's element. */
type ReadAt = (row: Uint, index: Uint) => ComplexFloat;
type WriteAt = (row: Uint, index: Uint, value: ComplexFloat) => void;

/**
 * x: pairs or real numbers; twiddle: of each pass but the first, cos and sin of 2π t q / (stride * radix) for t < stride and q < radix; factors: pairs of a block of results; chirp: cos and sin of π t² / n, t < n;
 * filter: pairs of the transform of the chirp's conjugate, over length. y: pairs, or real parts.
 */
export function fft(form: FftForm): Kernel {
  const { length, radices, rows, readsAcross, writesAcross, from, to, hasFactors, isChirp, half } = form;
  const threads = threadsOf(form);
  const inputs = {
    x: "f32",
    twiddle: "f32",
    ...(hasFactors ? { factors: "f32" } : {}),
    ...(isChirp ? { chirp: "f32", filter: "f32" } : {}),
  } as const;
  const groups = ({ params }: LaunchFacts): number => Math.ceil(params["rowCount"]! / rows);
  const spec = {
    inputs: inputs as { readonly x: "f32" },
    outputs: { y: "f32" },
    params: PARAMS,
    threads,
    groups,
    isOneOfMany: true,
  } as const;
  return kernel(nameOf(form), spec, (s) => {
    const buffers = s.buffers as unknown as { readonly [name: string]: BufferElements<"f32"> };
    const p = s.params;
    const pairOf = (name: string, at: Uint): ComplexFloat => {
      const [re, im] = buffers[name]!.loads(at.mul(2), 2);
      return { re: re!, im: im! };
    };
    const zero = s.f32(0);
    // Rows that are read one way and written the other begin at banks of their own.
    const rowStride = readsAcross === writesAcross ? length : length + 4;
    const isAcross = readsAcross && writesAcross;
    const elements = rows * rowStride;
    const isPadded = 8 * (elements + Math.floor(elements / 16)) <= MAX_SHARED;
    const size = isPadded ? elements + Math.floor(elements / 16) : elements;
    const usesShared = radices.length > 1 || isChirp;
    const shared: readonly SharedElements<"f32">[] = usesShared ? [s.shared("f32", size), s.shared("f32", size)] : [];
    const slotOf = (row: Uint, index: Uint): Uint => {
      const at = isAcross ? index.mul(rows).add(row) : row.mul(rowStride).add(index);
      return isPadded ? at.add(at.div(16)) : at;
    };
    const readShared: ReadAt = (row, index) => {
      const at = slotOf(row, index);
      return { re: shared[0]!.load(at), im: shared[1]!.load(at) };
    };
    const writeShared: WriteAt = (row, index, { re, im }) => {
      const at = slotOf(row, index);
      shared[0]!.store(at, re);
      shared[1]!.store(at, im);
    };
    const indexOf = (row: Uint): { readonly outer: Uint; readonly i: Uint; readonly isThere: Bool } => {
      const index = s.group.mul(rows).add(row);
      return { outer: index.div(p.inner), i: index.mod(p.inner), isThere: index.lt(p.rowCount) };
    };
    /** Of an element of half a spectrum that stands for its conjugate too: 2. */
    const weight = (within: Uint): Float => {
      const index = within.div(p.spacing);
      return index.eq(0).or(index.mul(2).eq(p.n)).select(s.f32(1), 2);
    };

    const readInput: ReadAt = (row, index) => {
      const { outer, i, isThere } = indexOf(row);
      const within = index.mul(p.inputStride);
      const isInside = isThere.and(within.add(i.mod(p.neighbours)).lt(p.inputEnd)).and(isChirp ? index.lt(p.n) : s.bool(true));
      const at = outer.mul(p.inputBlock).add(i.div(p.neighbours).mul(p.inputStep)).add(i.mod(p.neighbours)).add(within);
      const safe = isInside.select(at, 0);
      const read = from === "real" ? { re: buffers["x"]!.load(safe), im: zero } : pairOf("x", safe);
      const factor = half === "input" ? weight(within.add(i.mod(p.neighbours))) : s.f32(1);
      const re = isInside.select(read.re.mul(factor), 0);
      if (from === "real") return { re, im: zero };
      return { re, im: isInside.select(read.im.mul(factor.mul(p.sign.neg())), 0) };
    };
    const writeOutput: WriteAt = (row, index, value) => {
      const { outer, i, isThere } = indexOf(row);
      const within = index.mul(p.outputStride).add(i);
      s.if(isThere.and(within.lt(p.outputEnd)), () => {
        const rotated = hasFactors ? times(value, conjugate(pairOf("factors", within))) : value;
        const scale = half === "output" ? p.scale.mul(weight(within)) : p.scale;
        const at = outer.mul(p.outputBlock).add(within);
        const re = rotated.re.mul(scale);
        const y = buffers["y"]!;
        if (to === "real") y.store(at, re);
        else y.stores(at.mul(2), [re, rotated.im.mul(scale).mul(p.sign.neg())]);
      });
    };

    /** Where the factors of the pass behind `stride` elements begin. */
    const firstOf = (stride: number): number => {
      let [before, first] = [1, 0];
      for (const [k, radix] of radices.entries()) {
        if (before === stride && k > 0) return first;
        if (k > 0) first += before * radix;
        before *= radix;
      }
      return first;
    };
    /** The factors of a butterfly; none in the first pass. Two in one access where their number is even. */
    const twiddles = (radix: number, stride: number, j: Uint): ComplexFloat[] => {
      if (stride === 1) return [];
      const [at, width] = [j.mod(stride).mul(radix).add(firstOf(stride)).mul(2), radix % 2 === 0 && firstOf(stride) % 2 === 0 ? 4 : 2];
      return Array.from({ length: (2 * radix) / width }, (_, i) => buffers["twiddle"]!.loads(at.add(i * width), width)).flatMap(
        ([re, im, ...next]) => [{ re: re!, im: im! }, ...(next.length === 0 ? [] : [{ re: next[0]!, im: next[1]! }])],
      );
    };

    /** One pass over the group's rows: butterflies of the radix over what earlier passes made of `stride` elements. */
    const pass = (radix: number, stride: number, read: ReadAt, write: WriteAt, isFromShared: boolean, isToShared: boolean): void => {
      const goesAcross = isFromShared ? (isToShared ? isAcross : writesAcross) : isToShared ? readsAcross : writesAcross;
      const work = workOf(form, radix);
      const each = length / radix;
      const made = Array.from({ length: Math.ceil(work / threads) }, (_, round) => {
        const item = s.local.add(round * threads);
        const isThere = (round + 1) * threads > work ? item.lt(work) : null;
        const own = isThere === null ? item : isThere.select(item, 0);
        const [row, j] = goesAcross ? [own.mod(rows), own.div(rows)] : [own.div(each), own.mod(each)];
        const factorOf = twiddles(radix, stride, j);
        const values = Array.from({ length: radix }, (_, q) => {
          const value = read(row, j.add(q * each));
          return q === 0 || stride === 1 ? value : times(value, conjugate(factorOf[q]!));
        });
        return { isThere, row, first: j.div(stride).mul(stride * radix).add(j.mod(stride)), values: smallTransform(values) }; // prettier-ignore
      });
      if (isFromShared && isToShared) s.barrier();
      for (const { isThere, row, first, values } of made) {
        const writeAll = (): void => values.forEach((v, q) => write(row, first.add(q * stride), v));
        if (isThere === null) writeAll();
        else s.if(isThere, writeAll);
      }
      if (isToShared) s.barrier();
    };
    const all = (read: ReadAt, write: WriteAt, isFromShared: boolean, isToShared: boolean): void => {
      let stride = 1;
      radices.forEach((radix, k) => {
        const [isFirst, isLast] = [k === 0, k === radices.length - 1];
        const [source, target] = [isFirst ? read : readShared, isLast ? write : writeShared];
        pass(radix, stride, source, target, !isFirst || isFromShared, !isLast || isToShared);
        stride *= radix;
      });
    };
    if (!isChirp) {
      all(readInput, writeOutput, false, false);
      return;
    }
    /** Of an element behind the chirp's end the input is 0, and the output is not written. */
    const wave = (index: Uint): ComplexFloat => conjugate(pairOf("chirp", index.min(p.n.sub(1))));
    all(
      (row, index) => times(readInput(row, index), wave(index)),
      (row, index, value) => writeShared(row, index, conjugate(times(value, pairOf("filter", index)))),
      false,
      true,
    );
    all(
      readShared,
      (row, index, value) => s.if(index.lt(p.n), () => writeOutput(row, index, times(conjugate(value), wave(index)))),
      true,
      false,
    );
  });
}
