/** Arithmetic beyond the four operations, bits of floats, closeness. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { method, type Entry } from "./entry.ts";

/** PyTorch's signatures that take a tensor only. */
const TENSORS = new Set(["atan2", "fmax", "fmin", "gcd", "lcm"]);
const other = (c: Call): dx.Tensor | number | bigint | boolean => (TENSORS.has(c.case.op) ? c.tensor(c.positional[1] ?? c.get("other")) : c.operand("other"));

/** f(input, other) and its in-place method, where the first operand must be a tensor. */
function pair(name: string, f: (a: dx.Tensor, b: never) => dx.Tensor): Entry {
  const inPlace = `${name}_` in dx.Tensor.prototype;
  return { run: (c) => f(c.x, other(c) as never), inPlace: inPlace ? (c: Call) => method(c, `${name}_`, other(c)) : undefined };
}
const close = (c: Call): dx.CloseOptions => ({ rtol: c.number("rtol", 1e-5), atol: c.number("atol", 1e-8), equalNan: c.bool("equal_nan") });

export const arithmetic: Readonly<Record<string, Entry>> = {
  __rmod__: { run: (c) => dx.remainder(c.positional[1] as dx.Tensor, c.positional[0] as number) },
  gcd: pair("gcd", dx.gcd), lcm: pair("lcm", dx.lcm), atan2: pair("atan2", dx.atan2),
  fmax: pair("fmax", dx.fmax), fmin: pair("fmin", dx.fmin),
  copysign: pair("copysign", dx.copysign),
  frexp: { run: (c) => { const { mantissa, exponent } = dx.frexp(c.x); return [mantissa, exponent]; } },
  allclose: { run: (c) => dx.allcloseSync(c.x, c.tensor(c.get("other")), close(c)) },
  equal: { run: (c) => dx.equalSync(c.x, c.tensor(c.get("other"))) },
};
