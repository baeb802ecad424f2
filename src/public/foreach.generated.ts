// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $opsElementwiseForeach from "../ops/elementwise/foreach.ts";
/** Each tensor plus one of a list, or plus one for all. Reference: torch._foreach_add. */
export const add = checked($opsElementwiseForeach.add, "foreach.add", "list:tensors others:listOfOperandOrOperand");
/** Each tensor minus one of a list, or minus one for all. Reference: torch._foreach_sub. */
export const sub = checked($opsElementwiseForeach.sub, "foreach.sub", "list:tensors others:listOfOperandOrOperand");
/** Each tensor times one of a list, or times one for all. Reference: torch._foreach_mul. */
export const mul = checked($opsElementwiseForeach.mul, "foreach.mul", "list:tensors others:listOfOperandOrOperand");
/** Each tensor over one of a list, or over one for all. Reference: torch._foreach_div. */
export const div = checked($opsElementwiseForeach.div, "foreach.div", "list:tensors others:listOfOperandOrOperand");
/** The roots of each tensor. Reference: torch._foreach_sqrt. */
export const sqrt = checked($opsElementwiseForeach.sqrt, "foreach.sqrt", "list:tensors");
/** The norm of each tensor. Reference: torch._foreach_norm. */
export const norm = checked($opsElementwiseForeach.norm, "foreach.norm", "list:tensors p:number?");
/** Each tensor moved towards one of another list by a weight. Reference: torch._foreach_lerp. */
export const lerp = checked($opsElementwiseForeach.lerp, "foreach.lerp", "list:tensors ends:tensors weight:number");
/** x + value a b for each tensor and two more lists. Reference: torch._foreach_addcmul. */
export const addcmul = checked($opsElementwiseForeach.addcmul, "foreach.addcmul", "list:tensors a:tensors b:tensors value:number?");
/** x + value a / b for each tensor and two more lists. Reference: torch._foreach_addcdiv. */
export const addcdiv = checked($opsElementwiseForeach.addcdiv, "foreach.addcdiv", "list:tensors a:tensors b:tensors value:number?");
