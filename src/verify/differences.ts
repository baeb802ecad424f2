/** Compares the elements of two results. */
import type { TensorDescription } from "../native/binding.ts";
import { eachOffset, elementsOf } from "./values/layouts.ts";
import type { Tolerance } from "./values/tolerances.ts";
import { bitsOf, readElement, typeOf, type DataType, type Element } from "./values/types.ts";

/** An element that differs. */
export interface Differing {
  readonly type: DataType;
  readonly index: number;
  readonly got: Element;
  readonly want: Element;
}

/** What differs between two tensors. */
export interface Difference {
  /** The elements that differ, the first so many of them. */
  readonly differing: readonly Differing[];
  readonly count: number;
  readonly elements: number;
  /** Row-major index of the first element that differs, its values and bits on both devices. */
  readonly first: number;
  readonly got: string;
  readonly want: string;
  readonly maxAbsolute: number;
  readonly maxRelative: number;
  readonly maxUlps: number;
}

const mantissaBits = (type: DataType): number => (type.name === "f32" ? 23 : type.name === "f16" ? 10 : 52);
const minExponent = (type: DataType): number => (type.name === "f32" ? -126 : type.name === "f16" ? -14 : -1022);

/** One ULP of a number in a format. */
function unit(type: DataType, value: number): number {
  const exponent = value === 0 ? minExponent(type) : Math.max(Math.floor(Math.log2(Math.abs(value))), minExponent(type));
  return 2 ** (exponent - mantissaBits(type));
}

/** Direct3D lets float32 arithmetic flush denormals to zero, so anything below the smallest normal number may be 0. */
const flushed = (type: DataType): number => (type.name === "f32" ? 2 ** -126 : 0);

interface Distance {
  readonly same: boolean;
  readonly absolute: number;
  readonly ulps: number;
}

function distance(type: DataType, got: Element, want: Element, tolerance: Tolerance, largest: number): Distance {
  if (type.kind !== "float") {
    const absolute = Math.abs(Number(BigInt(got) - BigInt(want)));
    return { same: got === want, absolute, ulps: absolute };
  }
  const a = got as number;
  const b = want as number;
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return { same: true, absolute: 0, ulps: 0 };
  if (!Number.isFinite(a) || !Number.isFinite(b)) return { same: false, absolute: Infinity, ulps: Infinity };
  const absolute = Math.abs(a - b);
  const ulps = absolute / unit(type, Math.max(Math.abs(a), Math.abs(b)));
  const same = ulps <= tolerance.ulps || absolute <= tolerance.absolute + tolerance.relative * largest || absolute < flushed(type);
  return { same, absolute, ulps };
}

/** Of the finite elements. */
function largestOf(view: DataView, type: DataType, t: TensorDescription): number {
  let largest = 0;
  if (type.kind !== "float") return largest;
  eachOffset(t, (offset) => {
    const value = Math.abs(readElement(view, type, offset) as number);
    if (Number.isFinite(value) && value > largest) largest = value;
  });
  return largest;
}

const formatElement = (view: DataView, type: DataType, offset: number): string => {
  return `${String(readElement(view, type, offset))} (0x${bitsOf(view, type, offset)})`;
};

const MAX_KEPT = 4096;

/** Null when every element agrees. limit: only so many elements, in row-major order, have a meaning. */
export function compare(
  t: TensorDescription,
  got: ArrayBuffer,
  want: ArrayBuffer,
  tolerance: Tolerance,
  limit = Infinity,
): Difference | null {
  const type = typeOf(t.dataType)!;
  const a = new DataView(got);
  const b = new DataView(want);
  const largest = tolerance.relative === 0 ? 0 : largestOf(b, type, t);
  let count = 0;
  let first = -1;
  let firstOffset = 0;
  let maxAbsolute = 0;
  let maxRelative = 0;
  let maxUlps = 0;
  const differing: Differing[] = [];
  eachOffset(t, (offset, index) => {
    if (index >= limit) return;
    const got = readElement(a, type, offset);
    const want = readElement(b, type, offset);
    const d = distance(type, got, want, tolerance, largest);
    if (d.same) return;
    count++;
    if (differing.length < MAX_KEPT) differing.push({ type, index, got, want });
    if (first < 0) {
      first = index;
      firstOffset = offset;
    }
    maxAbsolute = Math.max(maxAbsolute, d.absolute);
    maxRelative = Math.max(maxRelative, d.absolute / Math.abs(Number(want)));
    maxUlps = Math.max(maxUlps, d.ulps);
  });
  if (count === 0) return null;
  return {
    differing,
    count,
    elements: Math.min(elementsOf(t.sizes), limit),
    first,
    got: formatElement(a, type, firstOffset),
    want: formatElement(b, type, firstOffset),
    maxAbsolute,
    maxRelative,
    maxUlps,
  };
}

const short = (n: number): string => (Number.isFinite(n) ? n.toPrecision(3) : String(n));

export const differenceText = (d: Difference): string =>
  `${d.count} of ${d.elements} elements differ, first at ${d.first}: ${d.got} instead of ${d.want}; ` +
  `largest error ${short(d.maxAbsolute)}, relative ${short(d.maxRelative)}, ${short(d.maxUlps)} ulp`;
