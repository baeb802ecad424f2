/** One operation over lists of tensors. @namespace foreach */
import { ShapeError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import * as binary from "./binary.ts";
import type { Arithmetic } from "./binary.ts";
import * as arithmetic from "./arithmetic.ts";
import * as statistics from "../reduce/statistics.ts";
import * as unary from "./unary.ts";

type TensorList = readonly Tensor[];
/** One for each tensor, or one for all. */
type Others = readonly Arithmetic[] | Arithmetic;

function each(operation: string, list: TensorList, others: Others, run: (x: Tensor, other: Arithmetic, i: number) => Tensor): Tensor[] {
  const isList = Array.isArray(others);
  if (isList && others.length !== list.length)
    throw new ShapeError(operation, "others", `${list.length}, one for each tensor`, `${others.length}`);
  return list.map((x, i) => run(x, isList ? (others as readonly Arithmetic[])[i]! : (others as Arithmetic), i));
}

/** Each tensor plus one of a list, or plus one for all. Reference: torch._foreach_add. */
export const add = (list: TensorList, others: Others): Tensor[] => each("foreach.add", list, others, binary.add);
/** Each tensor minus one of a list, or minus one for all. Reference: torch._foreach_sub. */
export const sub = (list: TensorList, others: Others): Tensor[] => each("foreach.sub", list, others, (a, b) => binary.sub(a, b));
/** Each tensor times one of a list, or times one for all. Reference: torch._foreach_mul. */
export const mul = (list: TensorList, others: Others): Tensor[] => each("foreach.mul", list, others, binary.mul);
/** Each tensor over one of a list, or over one for all. Reference: torch._foreach_div. */
export const div = (list: TensorList, others: Others): Tensor[] => each("foreach.div", list, others, binary.div);
/** The roots of each tensor. Reference: torch._foreach_sqrt. */
export const sqrt = (list: TensorList): Tensor[] => list.map((x) => unary.sqrt(x));
/** The norm of each tensor. Reference: torch._foreach_norm. */
export const norm = (list: TensorList, p = 2): Tensor[] => list.map((x) => statistics.norm(x, p));
/** Each tensor moved towards one of another list by a weight. Reference: torch._foreach_lerp. */
export const lerp = (list: TensorList, ends: TensorList, weight: number): Tensor[] =>
  each("foreach.lerp", list, ends, (x, end) => arithmetic.lerp(x, end as Tensor, weight));
/** x + value a b for each tensor and two more lists. Reference: torch._foreach_addcmul. */
export const addcmul = (list: TensorList, a: TensorList, b: TensorList, value = 1): Tensor[] =>
  each("foreach.addcmul", list, a, (x, y, i) => arithmetic.addcmul(x, y as Tensor, b[i]!, { value }));
/** x + value a / b for each tensor and two more lists. Reference: torch._foreach_addcdiv. */
export const addcdiv = (list: TensorList, a: TensorList, b: TensorList, value = 1): Tensor[] =>
  each("foreach.addcdiv", list, a, (x, y, i) => arithmetic.addcdiv(x, y as Tensor, b[i]!, { value }));
