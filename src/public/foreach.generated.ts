// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $opsForeach from "../ops/foreach.ts";
/** Each tensor plus one of a list, or plus one for all. Reference: torch._foreach_add. */
export const add = checked($opsForeach.add, "foreach.add", "list:55 others:57");
/** Each tensor minus one of a list, or minus one for all. Reference: torch._foreach_sub. */
export const sub = checked($opsForeach.sub, "foreach.sub", "list:55 others:57");
/** Each tensor times one of a list, or times one for all. Reference: torch._foreach_mul. */
export const mul = checked($opsForeach.mul, "foreach.mul", "list:55 others:57");
/** Each tensor over one of a list, or over one for all. Reference: torch._foreach_div. */
export const div = checked($opsForeach.div, "foreach.div", "list:55 others:57");
/** The roots of each tensor. Reference: torch._foreach_sqrt. */
export const sqrt = checked($opsForeach.sqrt, "foreach.sqrt", "list:55");
/** The norm of each tensor. Reference: torch._foreach_norm. */
export const norm = checked($opsForeach.norm, "foreach.norm", "list:55 p:1");
/** Each tensor moved towards one of another list by a weight. Reference: torch._foreach_lerp. */
export const lerp = checked($opsForeach.lerp, "foreach.lerp", "list:55 ends:55 weight:5");
/** x + value a b for each tensor and two more lists. Reference: torch._foreach_addcmul. */
export const addcmul = checked($opsForeach.addcmul, "foreach.addcmul", "list:55 a:55 b:55 value:1");
/** x + value a / b for each tensor and two more lists. Reference: torch._foreach_addcdiv. */
export const addcdiv = checked($opsForeach.addcdiv, "foreach.addcdiv", "list:55 a:55 b:55 value:1");
