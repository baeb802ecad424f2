/** Philox 4x32-10 in shaders: the words that RANDOM_GENERATOR makes (J. Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, 2011). */
import type { Var } from "./language.ts";
import type { Uint } from "./numbers.ts";

/** The 128 bits of a counter, least significant first, and the 64 bits of a key. */
export interface PhiloxState {
  readonly counter: readonly [Uint, Uint, Uint, Uint];
  readonly key: readonly [Uint, Uint];
}

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
const KEY_STEPS = [0x9e3779b9, 0xbb67ae85] as const;
const ROUNDS = 10;

/** Bits 32 to 63 of a product. */
function highOfProduct(x: Uint, by: number): Uint {
  const [low, high] = [x.and(0xffff), x.shiftRight(16)];
  const [byLow, byHigh] = [by & 0xffff, by >>> 16];
  const middle = high.mul(byLow).add(low.mul(byLow).shiftRight(16));
  const other = low.mul(byHigh).add(middle.and(0xffff));
  return high.mul(byHigh).add(middle.shiftRight(16)).add(other.shiftRight(16));
}

/** The counter so many blocks on. */
export function advanced([a, b, c, d]: PhiloxState["counter"], blocks: Uint): PhiloxState["counter"] {
  const first = a.add(blocks);
  const carry = first.lt(blocks).toUint();
  const second = b.add(carry);
  const isOver = second.lt(carry).toUint();
  const third = c.add(isOver);
  return [first, second, third, d.add(third.lt(isOver).toUint())];
}

/** What building the rounds takes of a shader. */
interface Rounds {
  variable(initial: Uint): Var<"u32">;
  for(start: number, end: number, body: () => void, options: { readonly unroll: boolean }): void;
}

/** The four words of a counter. */
export function philox(s: Rounds, { counter, key }: PhiloxState): readonly [Uint, Uint, Uint, Uint] {
  const words = counter.map((x) => s.variable(x)) as [Var<"u32">, Var<"u32">, Var<"u32">, Var<"u32">];
  const keys = key.map((x) => s.variable(x)) as [Var<"u32">, Var<"u32">];
  s.for(
    0,
    ROUNDS,
    () => {
      const [a, b, c, d] = words.map(({ value }) => value) as [Uint, Uint, Uint, Uint];
      const [first, second] = keys.map(({ value }) => value) as [Uint, Uint];
      words[0].value = highOfProduct(c, MULTIPLIERS[1]).xor(b).xor(first);
      words[1].value = c.mul(MULTIPLIERS[1]);
      words[2].value = highOfProduct(a, MULTIPLIERS[0]).xor(d).xor(second);
      words[3].value = a.mul(MULTIPLIERS[0]);
      keys[0].value = first.add(KEY_STEPS[0]);
      keys[1].value = second.add(KEY_STEPS[1]);
    },
    { unroll: false },
  );
  return words.map(({ value }) => value) as [Uint, Uint, Uint, Uint];
}
