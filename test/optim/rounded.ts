/** Parameters in half precision, and the float32 that they are rounded from. */
import { expect } from "vitest";
import * as dx from "../../src/index.ts";
import { numbers } from "../device.ts";
import { isExact } from "../compile/as-eager.ts";

/** Whether the default device casts float32 to float16 toward zero, as Direct3D's rules for conversions ask, and not to the nearest. */
export const truncatesHalf = (): boolean => dx.scope(() => numbers(dx.tensor([1.0007]).to("float16"))[0] === 1);

/** Fails unless each element is the exact one, rounded as the device casts. Fused programs may round to nearest where DirectML's cast does not. */
export function expectRounded(p: dx.Tensor, exact: dx.Tensor): void {
  const [got, cast] = [numbers(p), numbers(exact.to(p.dtype))];
  if (isExact()) expect(got).toEqual(cast);
  // On the host to nearest.
  const nearest = numbers(dx.tensor(numbers(exact), { dtype: p.dtype, device: "cpu" }));
  got.forEach((v, i) => expect([cast[i], nearest[i]]).toContain(v));
}
