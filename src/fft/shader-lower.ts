/** A planned transform as launches of the library's shader. */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import { fft, type FftForm, type FftLaunch } from "../shader/kernels/fft.ts";
import { callOf } from "../shader/kernels/kernel.ts";
import type { DftAttributes } from "./dft.ts";
import { radicesOf, type ShaderPlan } from "./shader-plan.ts";

/** What of spectra only the first half is there: an element that stands for its conjugate too counts twice. */
export type Half = "none" | "input" | "output";

/** @package */
export interface PairTransform extends DftAttributes {
  readonly half: Half;
}

/** Groups that keep a device busy. */
const MANY_GROUPS = 256;
/** Elements of a group of short rows. */
const USUAL = 1024;
/** Neighbouring rows that fill an access of memory. */
const NEIGHBOURS = 8;
/** Elements of a group: two groups' shared memory fits a device's. */
const MAX_GROUP = 2048;

const powerBelow = (x: number): number => 2 ** Math.floor(Math.log2(Math.max(1, x)));

function rowsOf(length: number, count: number, isAcross: boolean): number {
  const max = powerBelow(MAX_GROUP / length);
  const usual = Math.min(powerBelow(USUAL / length), powerBelow(count / MANY_GROUPS));
  const needed = 2 ** Math.ceil(Math.log2(count));
  return Math.max(1, Math.min(max, needed, Math.max(usual, isAcross ? NEIGHBOURS : 1)));
}

/** Whether neighbouring elements of memory are of neighbouring rows. */
interface Across {
  readonly reads: boolean;
  readonly writes: boolean;
}

type FormOptions = Pick<FftForm, "from" | "to" | "hasFactors" | "isChirp" | "half">;

function formOf(length: number, count: number, { reads, writes }: Across, options: FormOptions): FftForm {
  const rows = rowsOf(length, count, reads || writes);
  return { length, radices: radicesOf(length)!, rows, readsAcross: reads && rows > 1, writesAcross: writes && rows > 1, ...options };
}

function emit(g: GraphBuilder, form: FftForm, launch: FftLaunch, inputs: Readonly<Record<string, Expr>>, sizes: readonly number[]): Expr {
  const kernel = fft(form);
  const shapes = Object.fromEntries([...Object.entries(inputs).map(([name, x]) => [name, x.sizes] as const), ["y", sizes] as const]);
  const call = callOf(g.capabilities, kernel, { shapes, params: launch as unknown as Readonly<Record<string, number>> });
  return g.shader(call, Object.values(inputs), [{ dtype: "float32", sizes }])[0]!;
}

/** x [P, inputs, Q] of real numbers or [P, inputs, Q, 2] of pairs to [P, outputs, Q], likewise. */
export function emitShaders(g: GraphBuilder, plan: ShaderPlan, x: Expr, tables: readonly Expr[], asked: PairTransform): Expr {
  const [p, , q] = x.sizes as [number, number, number];
  const { n, inputs, outputs, sign, scale, from, to, half } = asked;
  const sizes = [p, outputs, q, ...(to === "complex" ? [2] : [])];
  const across = { reads: q > 1, writes: q > 1 };
  const whole = {
    rowCount: p * q,
    inner: q,
    neighbours: q,
    inputStep: 0,
    inputBlock: inputs * q,
    inputStride: q,
    inputEnd: inputs * q,
    outputBlock: outputs * q,
    outputStride: q,
    outputEnd: outputs * q,
    n,
    scale,
    sign,
    spacing: q,
  };
  switch (plan.kind) {
    case "once":
      return emit(
        g,
        formOf(n, p * q, across, { from, to, hasFactors: false, isChirp: false, half }),
        whole,
        { x, twiddle: tables[0]! },
        sizes,
      );
    case "chirp": {
      const form = formOf(plan.length, p * q, across, { from, to, hasFactors: false, isChirp: true, half });
      const [twiddle, chirp, filter] = tables as [Expr, Expr, Expr];
      return emit(g, form, { ...whole, scale: scale / plan.length }, { x, twiddle, chirp, filter }, sizes);
    }
    case "twice": {
      const { first, second } = plan;
      const [ofFirst, factors, ofSecond] = tables as [Expr, Expr, Expr];
      const [row, inner] = [second * q, first * q];
      const firstForm = formOf(
        first,
        p * row,
        { reads: true, writes: true },
        { from, to: "complex", hasFactors: true, isChirp: false, half: half === "input" ? "input" : "none" },
      );
      const mixed = emit(
        g,
        firstForm,
        {
          ...whole,
          rowCount: p * row,
          inner: row,
          neighbours: row,
          inputStride: row,
          outputStride: row,
          outputBlock: n * q,
          outputEnd: n * q,
          scale: 1,
        },
        { x, twiddle: ofFirst, factors },
        [p, n, q, 2],
      );
      const secondForm = formOf(
        second,
        p * inner,
        { reads: q > 1, writes: true },
        { from: "complex", to, hasFactors: false, isChirp: false, half: half === "output" ? "output" : "none" },
      );
      const launch = {
        ...whole,
        rowCount: p * inner,
        inner,
        neighbours: q,
        inputStep: row,
        inputBlock: n * q,
        inputStride: q,
        inputEnd: row,
        outputStride: inner,
      };
      return emit(g, secondForm, launch, { x: mixed, twiddle: ofSecond }, sizes);
    }
    default:
      return plan satisfies never;
  }
}
