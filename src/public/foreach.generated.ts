// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $opsElementwiseForeach from "../ops/elementwise/foreach.ts";
/** Each tensor plus one of a list, or plus one for all. Reference: torch._foreach_add. */
export const add = checked($opsElementwiseForeach.add, "foreach.add", "list:55 others:57");
/** Each tensor minus one of a list, or minus one for all. Reference: torch._foreach_sub. */
export const sub = checked($opsElementwiseForeach.sub, "foreach.sub", "list:55 others:57");
/** Each tensor times one of a list, or times one for all. Reference: torch._foreach_mul. */
export const mul = checked($opsElementwiseForeach.mul, "foreach.mul", "list:55 others:57");
/** Each tensor over one of a list, or over one for all. Reference: torch._foreach_div. */
export const div = checked($opsElementwiseForeach.div, "foreach.div", "list:55 others:57");
/** The roots of each tensor. Reference: torch._foreach_sqrt. */
export const sqrt = checked($opsElementwiseForeach.sqrt, "foreach.sqrt", "list:55");
/** The norm of each tensor. Reference: torch._foreach_norm. */
export const norm = checked($opsElementwiseForeach.norm, "foreach.norm", "list:55 p:1");
/** Each tensor moved towards one of another list by a weight. Reference: torch._foreach_lerp. */
export const lerp = checked($opsElementwiseForeach.lerp, "foreach.lerp", "list:55 ends:55 weight:5");
/** x + value a b for each tensor and two more lists. Reference: torch._foreach_addcmul. */
export const addcmul = checked($opsElementwiseForeach.addcmul, "foreach.addcmul", "list:55 a:55 b:55 value:1");
/** x + value a / b for each tensor and two more lists. Reference: torch._foreach_addcdiv. */
export const addcdiv = checked($opsElementwiseForeach.addcdiv, "foreach.addcdiv", "list:55 a:55 b:55 value:1");
