/** Arithmetic beyond the four operations, bits of floats, closeness. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { method, type Entry } from "./entry.ts";

type Operand = dx.Tensor | number | bigint | boolean;
/** PyTorch's signatures that take a tensor only. */
const TENSORS = new Set(["atan2", "fmax", "fmin", "gcd", "lcm", "hypot", "heaviside", "nextafter", "logaddexp", "logaddexp2"]);
const other = (c: Call): Operand => {
  const v = c.positional.length > 1 ? c.positional[1]! : c.get("other", "values", "exponent")!;
  if (typeof v === "object" && !(v instanceof dx.Tensor)) throw new dx.DTypeError("golden", "other", "a tensor or a number", v);
  return TENSORS.has(c.case.op) ? c.tensor(v) : (v as Operand);
};
/** Operations that take a number at the first place, as PyTorch does. */
const NUMBER_FIRST = new Set(["div", "floor_divide", "remainder", "float_power", "xlogy", "special.xlog1py", "isin"]);
const first = (c: Call): dx.Tensor => (NUMBER_FIRST.has(c.case.op) ? (c.positional[0] as unknown as dx.Tensor) : c.x);

/** f(input, other) and its in-place method. */
function pair(name: string, f: (a: dx.Tensor, b: never) => dx.Tensor, rest: (c: Call) => readonly unknown[] = () => []): Entry {
  const run = f as (a: unknown, ...b: unknown[]) => dx.Tensor;
  const inPlace = `${name}_` in dx.Tensor.prototype;
  return { run: (c) => run(first(c), other(c), ...rest(c)), ...(inPlace ? { inPlace: (c: Call) => method(c, `${name}_`, other(c), ...rest(c)) } : {}) };
}
function unary(name: string, f: (x: dx.Tensor) => dx.Tensor): Entry {
  const inPlace = `${name}_` in dx.Tensor.prototype;
  return { run: (c) => f(c.x), ...(inPlace ? { inPlace: (c: Call) => method(c, `${name}_`) } : {}) };
}
const rounding = (c: Call): readonly unknown[] => [{ roundingMode: (c.get("rounding_mode") ?? null) as "floor" | "trunc" | null }];
const scaled = (name: "addcmul" | "addcdiv"): Entry => ({
  run: (c) => dx[name](c.x, c.tensor(c.get("tensor1")), c.tensor(c.get("tensor2")), { value: c.number("value", 1) }),
  inPlace: (c) => method(c, `${name}_`, c.get("tensor1"), c.get("tensor2"), { value: c.number("value", 1) }),
});
const close = (c: Call): dx.CloseOptions => ({ rtol: c.number("rtol", 1e-5), atol: c.number("atol", 1e-8), equalNan: c.bool("equal_nan") });

export const arithmetic: Readonly<Record<string, Entry>> = {
  div: pair("div", dx.div as never, rounding),
  floor_divide: pair("floorDivide", dx.floorDivide), remainder: pair("remainder", dx.remainder), fmod: pair("fmod", dx.fmod),
  __rmod__: { run: (c) => dx.remainder(c.positional[1] as dx.Tensor, c.positional[0] as number) },
  gcd: pair("gcd", dx.gcd), lcm: pair("lcm", dx.lcm), atan2: pair("atan2", dx.atan2), hypot: pair("hypot", dx.hypot),
  logaddexp: pair("logaddexp", dx.logaddexp), logaddexp2: pair("logaddexp2", dx.logaddexp2), xlogy: pair("xlogy", dx.xlogy), "special.xlog1py": pair("xlog1py", dx.xlog1py),
  heaviside: pair("heaviside", dx.heaviside), fmax: pair("fmax", dx.fmax), fmin: pair("fmin", dx.fmin), float_power: pair("floatPower", dx.floatPower),
  copysign: pair("copysign", dx.copysign), nextafter: pair("nextafter", dx.nextafter),
  frexp: { run: (c) => { const { mantissa, exponent } = dx.frexp(c.x); return [mantissa, exponent]; } },
  lerp: { run: (c) => dx.lerp(c.x, c.tensor(c.get("end")), c.operand("weight") as dx.Tensor), inPlace: (c) => method(c, "lerp_", c.get("end"), c.operand("weight")) },
  addcmul: scaled("addcmul"), addcdiv: scaled("addcdiv"),
  deg2rad: unary("deg2rad", dx.deg2rad), rad2deg: unary("rad2deg", dx.rad2deg), sinc: unary("sinc", dx.sinc), sgn: unary("sgn", dx.sgn), positive: unary("positive", dx.positive),
  signbit: unary("signbit", dx.signbit), angle: unary("angle", dx.angle), isreal: unary("isreal", dx.isreal),
  logit: { run: (c) => dx.logit(c.x, { epsilon: c.get("eps") as number | null }), inPlace: (c) => method(c, "logit_", { epsilon: c.get("eps") as number | null }) },
  isclose: { run: (c) => dx.isclose(c.x, c.tensor(c.get("other")), close(c)) }, allclose: { run: (c) => dx.allcloseSync(c.x, c.tensor(c.get("other")), close(c)) },
  equal: { run: (c) => dx.equalSync(c.x, c.tensor(c.get("other"))) },
  isin: { run: (c) => dx.isin(first(c), (c.positional[1] ?? c.get("test_elements", "test_element")) as dx.Tensor, { invert: c.bool("invert") }) },
};
