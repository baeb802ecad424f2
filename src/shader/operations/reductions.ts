/** DirectML's reductions as shader code: how two elements become one. */
import type { DType } from "../../core/dtype.ts";
import type { DML_REDUCE_FUNCTION } from "../../dml/operators.generated.ts";
import type { GraphNode } from "../../graph/graph.ts";
import type { Float, Int, Uint } from "../numbers.ts";
import { FLOATS, isNaNByBits, NUMBERS, type Constants } from "./code.ts";

/** What is reduced: numbers, no truth values. */
export type Number = Float | Int | Uint;

/** What two elements become, as numbers: one, or for positions the element and its position. */
export interface Fold {
  /** What changes nothing. */
  readonly none: (s: Constants) => readonly Number[];
  /** An element before it is combined. at: its position in the row. */
  readonly element: (s: Constants, x: Number, at: Uint) => readonly Number[];
  readonly combine: (a: readonly Number[], b: readonly Number[]) => readonly Number[];
  /** The result of so many elements. */
  readonly finish: (x: readonly Number[], count: number) => Number;
  readonly dtypes: readonly DType[];
}

/** Of one number. */
interface Single {
  readonly dtypes: ReadonlySet<DType>;
  readonly none: (s: Constants, dtype: DType) => Number;
  readonly element: (x: Number) => Number;
  readonly combine: (a: Number, b: Number) => Number;
  readonly finish: (x: Number, count: number) => Number;
}

const constantLike = (s: Constants, dtype: DType, float: number, int: number, uint: number): Number => {
  if (FLOATS.has(dtype)) return s.f32(float);
  return dtype === "int32" ? s.i32(int) : s.u32(uint);
};
const same = (x: Number): Number => x;
const plus = (a: Number, b: Number): Number => (a as Float).add(b as Float);
const zero = (s: Constants, dtype: DType): Number => constantLike(s, dtype, 0, 0, 0);

const SUM: Single = { dtypes: NUMBERS, none: zero, element: same, combine: plus, finish: same };

/** As DirectML: the greater of a number and NaN is the number. */
const FOLDS: { readonly [K in DML_REDUCE_FUNCTION]?: Single } = {
  SUM,
  AVERAGE: { ...SUM, dtypes: FLOATS, finish: (x, count) => (x as Float).div(count) },
  SUM_SQUARE: { ...SUM, dtypes: FLOATS, element: (x) => (x as Float).square() },
  L1: { ...SUM, dtypes: FLOATS, element: (x) => (x as Float).abs() },
  L2: { ...SUM, dtypes: FLOATS, element: (x) => (x as Float).square(), finish: (x) => (x as Float).sqrt() },
  MULTIPLY: {
    ...SUM,
    dtypes: FLOATS,
    none: (s) => s.f32(1),
    combine: (a, b) => (a as Float).mul(b as Float),
  },
  MAX: {
    ...SUM,
    none: (s, dtype) => constantLike(s, dtype, -Infinity, -(2 ** 31), 0),
    combine: (a, b) => (a as Float).max(b as Float),
  },
  MIN: {
    ...SUM,
    none: (s, dtype) => constantLike(s, dtype, Infinity, 2 ** 31 - 1, 2 ** 32 - 1),
    combine: (a, b) => (a as Float).min(b as Float),
  },
};

const single = ({ none, element, combine, finish }: Single, dtype: DType): Fold => ({
  none: (s) => [none(s, dtype)],
  element: (_, x) => [element(x)],
  combine: ([a], [b]) => [combine(a!, b!)],
  finish: ([x], count) => finish(x!, count),
  dtypes: [dtype],
});

/** No position. */
const NOWHERE = 0xffffffff;

/** The first position of the extreme. As DirectML: NaN is it at the first position, and else never. */
function positionOf(isLargest: boolean, dtype: DType, output: DType): Fold {
  const none = (s: Constants): Number => FOLDS[isLargest ? "MAX" : "MIN"]!.none(s, dtype);
  return {
    none: (s) => [none(s), s.u32(NOWHERE)],
    element: (s, x, at) => {
      if (!FLOATS.has(dtype)) return [x, at];
      const isNaN = isNaNByBits(x as Float);
      const extreme = at.eq(0).select(s.f32(isLargest ? Infinity : -Infinity), none(s) as Float);
      return [isNaN.select(extreme, x as Float), isNaN.and(at.ne(0)).select(NOWHERE, at)];
    },
    combine: ([a, i], [b, k]) => {
      const [x, y] = [a as Float, b as Float];
      const isBetter = isLargest ? y.gt(x) : y.lt(x);
      const takes = isBetter.or(y.eq(x).and((k as Uint).lt(i as Uint)));
      return [takes.select(y, x), takes.select(k as Uint, i as Uint)];
    },
    finish: ([, i]) => (output === "int32" ? (i as Uint).toInt() : i!),
    dtypes: [dtype, "uint32"],
  };
}

/** The function of a node that reduces along axes; null: it does not. */
function functionOf({ operator, attributes }: GraphNode): string | null {
  if (operator === "REDUCE") return attributes["function"] as string;
  if (operator !== "ARGMAX" && operator !== "ARGMIN") return null;
  return attributes["axisDirection"] === "INCREASING" ? operator : null;
}

/** Of a node that reduces along axes; null: it does not, or there is no code of it. */
export function foldOf(node: GraphNode): Fold | null {
  const name = functionOf(node);
  if (name === null) return null;
  const [x, y] = [node.inputs[0]!.dtype, node.outputs[0]!.dtype];
  if (name === "ARGMAX" || name === "ARGMIN")
    return NUMBERS.has(x) && (y === "int32" || y === "uint32") ? positionOf(name === "ARGMAX", x, y) : null;
  const fold = FOLDS[name as DML_REDUCE_FUNCTION];
  return fold !== undefined && fold.dtypes.has(x) && x === y ? single(fold, x) : null;
}
