/** float32 to float16, to the nearest and ties to even, whatever the device's own conversion does. */
import type { Builder } from "./builder.ts";
import { constantOf, type Value } from "./ir.ts";
import { floatOfHalf, halfOfFloat } from "./operations.ts";

const SIGN = 0x80000000;
/** Bits of 2^-14, the least normal float16; of 65536; of infinity. */
const [NORMAL, LARGE, INFINITE] = [0x38800000, 0x47800000, 0x7f800000];
/** Exponents of float32 above which the last bit of a sum is that of a float16; the difference of the biases of both. */
const [APART, BIASES] = [13 << 23, 113 << 10];

/**
 * The 16 bits of a value: added to 2^(e + 13), for its exponent e, it is rounded where a float16 of this exponent ends, or, below 2^-14, where all
 * small ones do; the sum's last bits are the float16's.
 */
export function roundedHalf(b: Builder, x: Value): Value {
  if (isHalf(b, x)) return b.operate("f32.to.half", x);
  const u = (n: number): Value => b.constant("u32", n);
  const bits = b.operate("f32.as.u32", x);
  const magnitude = b.operate("and.u32", bits, u(0x7fffffff));
  const capped = b.operate("min.u32", magnitude, u(LARGE));
  const exponent = b.operate("max.u32", b.operate("and.u32", capped, u(INFINITE)), u(NORMAL));
  const large = b.operate("add.u32", exponent, u(APART));
  const sum = b.operate("f32.as.u32", b.operate("add.f32", b.operate("u32.as.f32", capped), b.operate("u32.as.f32", large)));
  const power = b.operate("sub.u32", b.operate("shr.u32", exponent, u(13)), u(BIASES));
  const half = b.operate("add.u32", b.operate("sub.u32", sum, large), power);
  const result = b.operate("select.u32", b.operate("lt.u32", u(INFINITE), magnitude), u(0x7e00), half);
  return b.operate("or.u32", result, b.operate("shr.u32", b.operate("and.u32", bits, u(SIGN)), u(16)));
}

/** Whether a value is surely one that a float16 holds: it was read as one, or chosen among such. */
function isHalf(b: Builder, x: Value): boolean {
  const n = constantOf(x);
  if (n !== null) return Object.is(floatOfHalf(halfOfFloat(n)), n);
  const made = b.madeBy(x);
  if (made === undefined) return false;
  switch (made.name) {
    case "half.to.f32":
      return true;
    case "select.f32":
      return isHalf(b, made.args[1]!) && isHalf(b, made.args[2]!);
    case "neg.f32":
    case "abs.f32":
    case "min.f32":
    case "max.f32":
      return made.args.every((a) => isHalf(b, a));
    default:
      return false;
  }
}
