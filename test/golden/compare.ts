/** Compares results with recorded ones. */
import * as dx from "../../src/index.ts";
import { values } from "../../src/ops/data/conversion.ts";
import { near, TOLERANCE, type Tolerance } from "../tolerance.ts";
import type { Call } from "./call.ts";
import {
  Missing,
  anyDtypeOf,
  elementsOf,
  isComplexName,
  isNumbers,
  tensorsOf,
  type Case,
  type GoldenTensor,
  type Numbers,
} from "./cases.ts";
import { looser, contractions } from "./scope.ts";
import type { Entry, Result } from "./table/index.ts";

export type Output = Numbers | number | boolean | string;
export const flatten = (r: Result): Output[] => (Array.isArray(r) ? (r as readonly Result[]).flatMap(flatten) : [r as Output]);

type Elements = readonly (number | bigint | boolean)[];
const elements = (t: Numbers): Elements => values(t instanceof dx.Tensor ? t.dtype : t.real.dtype, t.dataSync());
/** The tolerance of a dtype, complex numbers' as their parts'. */
const toleranceOf = (dtype: dx.DType | dx.ComplexDType): Tolerance | undefined =>
  TOLERANCE[dtype === "complex64" ? "float32" : dtype === "complex32" ? "float16" : dtype];

/** What differs between a tensor and the expected one, or null. */
export function difference(got: Numbers, want: GoldenTensor, compare: string, bound: Tolerance, counts = false): string | null {
  const dtype = anyDtypeOf(want.t);
  const fits = got.dtype === dtype || (counts && dtype === "int64" && got.dtype === "int32");
  if (!fits || got.shape.join() !== want.shape.join()) return `${got.describe()} instead of ${dtype}[${want.shape.join(", ")}]`;
  if (compare === "meta" || compare === "gauge" || compare === "index") return null;
  if (isComplexName(want.t) && compare === "close") return pairsDiffer(elements(got) as number[], elementsOf(want) as number[], bound);
  return elementsDiffer(elements(got), elementsOf(want), compare === "close" ? bound : null);
}

/** Complex numbers are near by their distance; what is not finite by its parts. */
function pairsDiffer(found: readonly number[], wanted: readonly number[], bound: Tolerance): string | null {
  for (let i = 0; i < wanted.length; i += 2) {
    const [a, b, c, d] = [found[i]!, found[i + 1]!, wanted[i]!, wanted[i + 1]!];
    const isNear = [a, b, c, d].every(Number.isFinite)
      ? Math.hypot(a - c, b - d) <= bound.atol + bound.rtol * Math.hypot(c, d)
      : near(a, c, bound) && near(b, d, bound);
    if (!isNear) return `element ${i / 2} is ${a}, ${b} instead of ${c}, ${d}`;
  }
  return null;
}

/** bound: null for equal elements. */
export function elementsDiffer(found: Elements, wanted: Elements, bound: Tolerance | null): string | null {
  const at = wanted.findIndex((w, i) => {
    const g = found[i]!;
    if (typeof w === "bigint") return BigInt(g) !== w;
    return bound !== null
      ? !near(Number(g), Number(w), bound)
      : Number(g) !== Number(w) && !(Number.isNaN(Number(g)) && Number.isNaN(Number(w)));
  });
  return at < 0 ? null : `element ${at} is ${String(found[at])} instead of ${String(wanted[at])}`;
}

/** The wider of what was recorded and what the dtype allows. */
export function boundOf(c: Case, want: GoldenTensor, recorded: Tolerance | undefined, isMicrosoft: boolean): Tolerance {
  let own = toleranceOf(anyDtypeOf(want.t));
  if (isMicrosoft && looser[c.op] !== undefined) own = looser[c.op];
  else if ((want.t === "f32" || want.t === "c64") && contractions.test(c.op)) {
    const largest = Math.max(
      ...elementsOf(want)
        .map((v) => Math.abs(Number(v)))
        .filter(Number.isFinite),
      0,
    );
    own = { rtol: 1e-5, atol: Math.max(1e-5, 4 * 2 ** -24 * largest) };
  }
  return { rtol: Math.max(recorded?.rtol ?? 0, own?.rtol ?? 0), atol: Math.max(recorded?.atol ?? 0, own?.atol ?? 0) };
}

/** Indices into an input with ties: each must select the value that the recorded index selects. */
function indicesDiffer(call: Call, got: dx.Tensor, want: GoldenTensor): string | null {
  const dims = call.axes("dim", "axis");
  const x = call.x;
  const all = elements(x);
  const found = elements(got).map(Number);
  const wanted = elementsOf(want).map(Number);
  const axis = typeof dims === "number" && x.rank > 0 ? (dims < 0 ? dims + x.rank : dims) : call.has("k") ? x.rank - 1 : null;
  const strides = x.shape.map((_, i) => x.shape.slice(i + 1).reduce((p, q) => p * q, 1));
  const kept =
    axis !== null && want.shape.length === x.rank ? want.shape : axis === null ? null : x.shape.map((d, i) => (i === axis ? 1 : d));
  const valueAt = (flat: number, index: number): number => {
    if (kept === null || axis === null) return Number(all[index]);
    let rest = flat;
    let at = index * strides[axis]!;
    for (let i = kept.length - 1; i >= 0; i--) {
      const here = rest % kept[i]!;
      rest = Math.floor(rest / kept[i]!);
      if (i !== axis) at += here * strides[i]!;
    }
    return Number(all[at]);
  };
  const wrong = wanted.findIndex(
    (w, i) => w !== found[i] && !Object.is(valueAt(i, w), valueAt(i, found[i]!)) && valueAt(i, w) !== valueAt(i, found[i]!),
  );
  return wrong < 0 ? null : `index ${wrong} is ${found[wrong]} instead of ${wanted[wrong]}`;
}

/** What is wrong with the results of a call, or null. */
export function checkOutputs(c: Case, call: Call, outputs: readonly Output[], entry: Entry, isMicrosoft: boolean): string | null {
  const out = c.out!;
  const wanted = tensorsOf(out);
  if (wanted.length === 0) {
    if (Array.isArray(out) || (typeof out === "object" && out !== null && "k" in out && out.k === "tuple"))
      return outputs.length === 0 ? null : "results instead of none";
    const want =
      typeof out === "object" && out !== null && "k" in out ? ("v" in out ? (out.k === "dtype" ? anyDtypeOf(out.v) : out.v) : null) : out;
    const first = outputs[0];
    const got = first instanceof dx.Tensor && first.rank === 0 ? elements(first)[0] : first;
    const same = typeof want === "number" && typeof got === "number" ? near(got, want, { rtol: 1e-5, atol: 1e-6 }) : got === want;
    return same ? null : `${String(got)} instead of ${JSON.stringify(out)}`;
  }
  if (wanted.length !== outputs.length) return `${outputs.length} results instead of ${wanted.length}`;
  for (const [i, want] of wanted.entries()) {
    const got = outputs[i]!;
    if (!isNumbers(got)) return `${String(got)} instead of a tensor`;
    const compare = c.compare?.[i] ?? "exact";
    const bound = boundOf(c, want, c.tol, isMicrosoft);
    const problem =
      difference(got, want, compare, bound, entry.counts) ?? (compare === "index" ? indicesDiffer(call, got as dx.Tensor, want) : null);
    if (problem !== null) return wanted.length === 1 ? problem : `result ${i}: ${problem}`;
  }
  if (c.compare?.includes("gauge") !== true) return null;
  // Shapes alone would be compared: such a case could not fail.
  if (entry.gauge === undefined) throw new Missing("no gauge tells whether factors fit");
  return entry.gauge(outputs as dx.Tensor[], call);
}

/** Whether a recorded gradient fits. */
export function checkGradient(c: Case, got: Numbers, want: GoldenTensor, isMicrosoft: boolean): string | null {
  return difference(got, want, "close", boundOf(c, want, c.gradTol, isMicrosoft));
}

/** The results of two runs of the same call. */
export function outputsDiffer(a: readonly Output[], b: readonly Output[], shapesOnly = false): string | null {
  if (a.length !== b.length) return `${a.length} results instead of ${b.length}`;
  for (const [i, x] of a.entries()) {
    const y = b[i]!;
    if (!isNumbers(x) || !isNumbers(y)) continue;
    if (x.describe() !== y.describe()) return `${x.describe()} instead of ${y.describe()}`;
    if (shapesOnly) continue;
    const bound = toleranceOf(x.dtype) ?? null;
    const problem = elementsDiffer(elements(x), elements(y), bound);
    if (problem !== null) return `result ${i}: ${problem}`;
  }
  return null;
}
