/** Maxima of windows and their gradient as shader code. NaN is never the largest; of equals the first one is. */
import type { DType } from "../../core/dtype.ts";
import type { OperatorName } from "../../dml/operators.generated.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { isNaNByBits, type Attributes, type Constants, type Indexed, type Reading } from "./code.ts";

const FLOATS: ReadonlySet<DType> = new Set(["float32", "float16"]);
/** Taps of a window, and of all windows that one element is in: each is written out. */
const MAX_TAPS = 36;

/** An axis along which windows lie. */
interface Axis {
  readonly size: number;
  /** Windows. */
  readonly count: number;
  /** Taps of a window. */
  readonly taps: number;
  readonly step: number;
  readonly dilation: number;
  readonly padding: number;
  /** Windows that one element can be in. */
  readonly covering: number;
}

/** input: what the windows lie in; output: of one element for each. */
function axesOf({ attributes }: Attributes, input: readonly number[], output: readonly number[]): Axis[] {
  const of = (name: string): readonly number[] => attributes[name] as readonly number[];
  const lead = input.length - of("windowSize").length;
  return of("windowSize").map((taps, i) => {
    const [step, dilation] = [of("strides")[i]!, of("dilations")[i]!];
    return {
      size: input[lead + i]!,
      count: output[lead + i]!,
      taps,
      step,
      dilation,
      padding: of("startPadding")[i]!,
      covering: Math.ceil(((taps - 1) * dilation + 1) / step),
    };
  });
}

const product = (list: readonly number[]): number => list.reduce((a, b) => a * b, 1);

/** All combinations of indices below so many, in row-major order. */
const indicesBelow = (counts: readonly number[]): number[][] =>
  counts.reduce<number[][]>((all, n) => all.flatMap((list) => Array.from({ length: n }, (_, i) => [...list, i])), [[]]);

/** Coordinates of an index: that of all leading axes as one, and those of the others. */
function coordinatesIn(s: Constants, index: Uint, sizes: readonly number[]): { readonly lead: Uint; readonly at: Uint[] } {
  const at: Uint[] = [];
  let rest = index;
  for (const size of sizes.toReversed()) {
    at.unshift(size === 1 ? s.u32(0) : rest.mod(size));
    if (size !== 1) rest = rest.div(size);
  }
  return { lead: rest, at };
}

/** The offset of an element: of its leading axes, of which `lead` is the index in packed order, and of its coordinates along the others. */
function offsetIn(s: Constants, sizes: readonly number[], strides: readonly number[], lead: Uint, at: readonly Uint[]): Uint {
  const first = sizes.length - at.length;
  let [rest, sum] = [lead, at.reduce((total, x, i) => total.add(x.mul(strides[first + i]! >>> 0)), s.u32(0))];
  for (let i = first - 1; i >= 0; i--) {
    sum = sum.add((i === 0 ? rest : rest.mod(sizes[i]!)).mul(strides[i]! >>> 0));
    if (i > 0) rest = rest.div(sizes[i]!);
  }
  return sum;
}

const all = (conditions: readonly (Bool | null)[]): Bool | null =>
  conditions.reduce((a, b) => (a === null ? b : b === null ? a : a.and(b)), null);

interface Tap {
  /** Null: surely in the tensor. */
  readonly inside: Bool | null;
  readonly at: readonly Uint[];
}

/** Taps of the window at `window` along each axis, in order. An index before the tensor is a large one. */
function tapsOf(axes: readonly Axis[], window: readonly Uint[]): Tap[] {
  return indicesBelow(axes.map((a) => a.taps)).map((tap) => {
    const at = axes.map((a, i) => window[i]!.mul(a.step).add((tap[i]! * a.dilation - a.padding) >>> 0));
    const inside = axes.map((a, i) => {
      const isLow = tap[i]! * a.dilation >= a.padding;
      const isHigh = (a.count - 1) * a.step + tap[i]! * a.dilation - a.padding < a.size;
      return isLow && isHigh ? null : at[i]!.lt(a.size);
    });
    return { inside: all(inside), at };
  });
}

/** Whether x is larger than the largest so far, which is no NaN. */
const isLarger = (x: Float, best: Float, inside: Bool | null): Bool => all([x.gt(best).and(isNaNByBits(x).not()), inside])!;

function largest(s: Constants, { index, load }: Indexed, node: Attributes): Float {
  const [x, y] = [node.inputs[0]!, node.outputs[0]!];
  const axes = axesOf(node, x.sizes, y.sizes);
  const { lead, at } = coordinatesIn(s, index, axes.map((a) => a.count)); // prettier-ignore
  return tapsOf(axes, at).reduce((best, { inside, at: tap }) => {
    const offset = offsetIn(s, x.sizes, x.strides, lead, tap);
    const value = load(0, inside === null ? offset : inside.select(offset, 0)) as Float;
    return isLarger(value, best, inside).select(value, best);
  }, s.f32(-Infinity));
}

/** Whether `at` is where the largest element of a window is: of a window without numbers above minus infinity that is its first tap. */
function isLargestAt(s: Constants, taps: readonly Tap[], at: readonly Uint[], load: (tap: Tap) => Float): Bool {
  let [best, found] = [s.f32(-Infinity), s.u32(0)];
  /** Whether a tap was in the tensor; null: surely not; "surely": it was. */
  let before: Bool | "surely" | null = null;
  for (const tap of taps) {
    const { inside } = tap;
    const value = load(tap);
    const isHere = tap.at.map((x, i) => x.eq(at[i]!)).reduce((a, b) => a.and(b)); // prettier-ignore
    const larger = isLarger(value, best, inside);
    const isFirst: Bool | null = before === null ? inside : before === "surely" ? null : (all([inside, before.not()]) ?? null);
    const takes = isFirst === null ? larger : larger.or(isFirst);
    found = before === null && inside === null ? isHere.toUint() : takes.select(isHere.toUint(), found);
    best = larger.select(value, best);
    before = before === "surely" || inside === null ? "surely" : before === null ? inside : before.or(inside);
  }
  return found.ne(0);
}

/** The sum of the gradients of the windows whose largest element it is. */
function gradientOfLargest(s: Constants, { index, load }: Indexed, node: Attributes): Float {
  const [x, dy] = [node.inputs[0]!, node.inputs[1]!];
  const axes = axesOf(node, x.sizes, dy.sizes);
  const { lead, at } = coordinatesIn(s, index, axes.map((a) => a.size)); // prettier-ignore
  const element = ({ inside, at: tap }: Tap): Float => {
    const offset = offsetIn(s, x.sizes, x.strides, lead, tap);
    return load(0, inside === null ? offset : inside.select(offset, 0)) as Float;
  };
  // From the first window that reaches the element to the last one.
  return indicesBelow(axes.map((a) => a.covering)).toReversed().reduce((sum, back) => {
    const window = axes.map((a, i) => at[i]!.add(a.padding).div(a.step).sub(back[i]!));
    const isWindow = all(axes.map((a, i) => (a.covering === 1 && (a.size - 1 + a.padding) / a.step < a.count ? null : window[i]!.lt(a.count)))); // prettier-ignore
    const own = isWindow === null ? window : window.map((w) => isWindow.select(w, 0));
    const isTaken = all([isLargestAt(s, tapsOf(axes, own), at, element), isWindow])!;
    const taken = load(1, offsetIn(s, dy.sizes, dy.strides, lead, own)) as Float;
    return sum.add(isTaken.select(taken, 0));
  }, s.f32(0)); // prettier-ignore
}

const isPlain = ({ inputs, outputs }: Attributes): boolean =>
  inputs.every((x) => x!.sizes.length === outputs[0]!.sizes.length) && outputs.slice(1).every((x) => x === null);
const tapsIn = (axes: readonly Axis[]): number => product(axes.map((a) => a.taps));
const windowsOver = (axes: readonly Axis[]): number => product(axes.map((a) => a.covering));
const forwardAxes = (node: Attributes): Axis[] => axesOf(node, node.inputs[0]!.sizes, node.outputs[0]!.sizes);
const backwardAxes = (node: Attributes): Axis[] => axesOf(node, node.inputs[0]!.sizes, node.inputs[1]!.sizes);

export const WINDOWS: { readonly [K in OperatorName]?: Reading } = {
  MAX_POOLING2: {
    dtypes: FLOATS,
    code: { indexed: largest },
    reads: (node) => [tapsIn(forwardAxes(node))],
    accepts: (node) => isPlain(node) && tapsIn(forwardAxes(node)) <= MAX_TAPS,
  },
  MAX_POOLING_GRAD: {
    dtypes: FLOATS,
    code: { indexed: gradientOfLargest },
    reads: (node) => [tapsIn(backwardAxes(node)) * windowsOver(backwardAxes(node)), windowsOver(backwardAxes(node))],
    accepts: (node) => isPlain(node) && tapsIn(backwardAxes(node)) * windowsOver(backwardAxes(node)) <= MAX_TAPS,
  },
};
