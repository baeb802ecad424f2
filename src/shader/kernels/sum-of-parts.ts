/** Adds parts of sums in order. */
import type { Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import type { Constants } from "../operations/code.ts";
import type { Numbers } from "./kernel.ts";

/** Parts that are read at once: the loads wait together. */
const TOGETHER = 8;

interface Loops extends Constants {
  variable(x: Float): Var<"f32">;
  for(from: number, to: Uint, body: (i: Uint) => void, options: { readonly step: number; readonly unroll: boolean }): void;
}

/** `width` neighbours from `first` on of the first of `count` parts, plus those that lie `stride` elements further each time. */
export function sumOfParts(
  s: Loops,
  parts: Numbers,
  { count, first, stride, width }: { readonly count: Uint; readonly first: Uint; readonly stride: Uint; readonly width: number },
): Float[] {
  const sums = Array.from({ length: width }, () => s.variable(s.f32(0)));
  s.for(
    0,
    count,
    (from) => {
      const loaded = Array.from({ length: TOGETHER }, (_, i): Float[] => {
        const part = from.add(i);
        const inside = part.lt(count);
        const values = parts.loadsInside(inside.select(part, 0).mul(stride).add(first), width);
        return i === 0 ? values : values.map((v) => inside.select(v, 0));
      });
      for (const values of loaded) values.forEach((v, q) => (sums[q]!.value = sums[q]!.value.add(v)));
    },
    { step: TOGETHER, unroll: false },
  );
  return sums.map(({ value }) => value);
}
