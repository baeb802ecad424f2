/** Closeness and equality: isclose, allclose, equal, isin. */
import { DTypeError, ValueError } from "../../core/errors.ts";
import { isFloat } from "../../core/dtype.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { sameShape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, mul, operands, sub, type Arithmetic } from "./binary.ts";
import { eq, isfinite, isnan, le, logicalAnd, logicalNot, logicalOr } from "./compare.ts";
import { asFloat, item, itemSync } from "../data/conversion.ts";
import { narrow, reshape, unsqueeze } from "../shape/movement.ts";
import { all, any } from "../reduce/reduce.ts";
import { abs } from "./unary.ts";

/** Options of isclose() and allclose(). Reference: torch.isclose. */
export interface CloseOptions {
  /** Allowed difference as a share of |b|. Default: 1e-5. */
  readonly rtol?: number | undefined;
  /** Allowed difference. Default: 1e-8. */
  readonly atol?: number | undefined;
  /** Whether NaN is close to NaN. Default: false. */
  readonly equalNan?: boolean | undefined;
}

/** |a - b| <= atol + rtol |b|, element by element; equal infinities are close. One dtype. Reference: torch.isclose. */
export function isclose(a: Tensor, b: Tensor, { rtol = 1e-5, atol = 1e-8, equalNan = false }: CloseOptions = {}): Tensor {
  requireSameDevice("isclose", [a, b]);
  if (a.dtype !== b.dtype) throw new DTypeError("isclose", "b", `of a's dtype ${a.dtype}`, b.describe());
  if (!(rtol >= 0)) throw new ValueError("isclose", "rtol", "at least 0", rtol);
  if (!(atol >= 0)) throw new ValueError("isclose", "atol", "at least 0", atol);
  let close = eq(a, b);
  if (equalNan && isFloat(a.dtype)) close = logicalOr(close, logicalAnd(isnan(a), isnan(b)));
  if (rtol === 0 && atol === 0) return close;
  const [x, y] = [asFloat(a), asFloat(b)];
  const distance = abs(sub(x, y));
  return logicalOr(close, logicalAnd(isfinite(distance), le(distance, add(mul(abs(y), rtol), atol))));
}

/** Whether all elements are close: reads one number back. Reference: torch.allclose. */
export const allclose = async (a: Tensor, b: Tensor, options: CloseOptions = {}): Promise<boolean> =>
  Boolean(await item(all(isclose(a, b, options))));
/** allclose that blocks until the device is done. */
export const allcloseSync = (a: Tensor, b: Tensor, options: CloseOptions = {}): boolean => Boolean(itemSync(all(isclose(a, b, options))));

/** Whether all elements are equal, or null where the shapes differ. */
function sameElements(a: Tensor, b: Tensor): Tensor | null {
  requireSameDevice("equal", [a, b]);
  if (a.dtype !== b.dtype) throw new DTypeError("equal", "b", `of a's dtype ${a.dtype}`, b.describe());
  return sameShape(a.shape, b.shape) ? all(eq(a, b)) : null;
}
/** Whether both have one shape and equal elements: reads one number back. Reference: torch.equal. */
export async function equal(a: Tensor, b: Tensor): Promise<boolean> {
  const test = sameElements(a, b);
  return test !== null && Boolean(await item(test));
}
/** equal that blocks until the device is done. */
export function equalSync(a: Tensor, b: Tensor): boolean {
  const test = sameElements(a, b);
  return test !== null && Boolean(itemSync(test));
}

/** Pairs compared at a time: bounds the memory that isin takes. */
const PAIRS = 1 << 24;

/** Whether each element of x is one of `values`; with invert, is none of them. Reference: torch.isin. DirectML: LOGICAL_EQUALS, REDUCE MAX. */
export function isin(
  x: Arithmetic,
  values: Arithmetic,
  {
    invert = false,
  }: {
    /** Whether the result is negated. Default: false. */
    readonly invert?: boolean | undefined;
  } = {},
): Tensor {
  const anchor = x instanceof Tensor ? x : values instanceof Tensor ? values : null;
  if (anchor === null) throw new DTypeError("isin", "x or values", "a tensor", typeof x);
  const made = (v: Arithmetic): Tensor => (v instanceof Tensor ? v : operands("isin", anchor, v)[1]);
  const [a, list] = [made(x), made(values)];
  if (a.dtype === "bool" || list.dtype === "bool")
    throw new DTypeError("isin", "x and values", "numbers", `${a.describe()}, ${list.describe()}`);
  const flat = reshape(list, [list.size]);
  const step = Math.max(1, Math.floor(PAIRS / Math.max(1, a.size)));
  let found: Tensor | null = null;
  for (let start = 0; start < flat.size || found === null; start += step) {
    const part = narrow(flat, 0, start, Math.min(step, flat.size - start));
    const here = any(eq(unsqueeze(a, -1), part), -1);
    found = found === null ? here : logicalOr(found, here);
  }
  return invert ? logicalNot(found) : found;
}

export const methods = { isclose, allclose, allcloseSync, equal, equalSync, isin };
