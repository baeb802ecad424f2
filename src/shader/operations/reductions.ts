/** DirectML's reductions as shader code: how two elements become one. */
import type { DType } from "../../core/dtype.ts";
import type { DML_REDUCE_FUNCTION } from "../../dml/operators.generated.ts";
import { isOperator, type GraphNode } from "../../graph/graph.ts";
import type { Float, Int, Uint } from "../numbers.ts";
import { FLOATS, NUMBERS, type Constants } from "./code.ts";

/** What is reduced: numbers, no truth values. */
export type Number = Float | Int | Uint;

export interface Fold {
  readonly dtypes: ReadonlySet<DType>;
  /** What changes nothing, by the dtype. */
  readonly none: (s: Constants, dtype: DType) => Number;
  /** An element before it is combined. */
  readonly element: (x: Number) => Number;
  readonly combine: (a: Number, b: Number) => Number;
  /** The result of so many elements. */
  readonly finish: (x: Number, count: number) => Number;
}

const constantLike = (s: Constants, dtype: DType, float: number, int: number, uint: number): Number => {
  if (FLOATS.has(dtype)) return s.f32(float);
  return dtype === "int32" ? s.i32(int) : s.u32(uint);
};
const same = (x: Number): Number => x;
const plus = (a: Number, b: Number): Number => (a as Float).add(b as Float);
const zero = (s: Constants, dtype: DType): Number => constantLike(s, dtype, 0, 0, 0);

const SUM: Fold = { dtypes: NUMBERS, none: zero, element: same, combine: plus, finish: same };

/** As DirectML: the greater of a number and NaN is the number. */
const FOLDS: { readonly [K in DML_REDUCE_FUNCTION]?: Fold } = {
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

/** Of a node that reduces along axes; null: it does not, or there is no code of it. */
export function foldOf(node: GraphNode): Fold | null {
  if (!isOperator(node.operator) || node.operator !== "REDUCE") return null;
  const fold = FOLDS[node.attributes["function"] as DML_REDUCE_FUNCTION];
  const [x, y] = [node.inputs[0]!, node.outputs[0]!];
  return fold !== undefined && fold.dtypes.has(x.dtype) && x.dtype === y.dtype ? fold : null;
}
