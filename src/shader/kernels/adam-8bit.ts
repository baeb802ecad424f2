/** One step of Adam whose averages are 8-bit codes: see optim/adam-8bit.ts, whose formulas these are, and optim/blockwise.ts for the code books. */
import { sizeOf } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Float, Uint } from "../numbers.ts";
import { kernel, type Kernel } from "./kernel.ts";

/** Elements that share a scale. */
const BLOCK = 256;
/** Codes in a word. */
const CODES = 4;
/** A group has a block. */
const THREADS = BLOCK / CODES;
const INFINITY_BITS = 0x7f800000;

/** A decade of a code book: `count` equal parts of [top / 10, top], as optim/blockwise.ts has it. */
export interface Decade {
  readonly count: number;
  readonly top: number;
}

/** A code book as the shader needs it. */
export interface Book {
  readonly decades: readonly Decade[];
  /** The code of 0 where there are codes of both signs; null: all numbers are at least 0. */
  readonly zero: number | null;
}

export const blocksOfCodes = (size: number): number => Math.ceil(size / BLOCK);

/** Words that the codes of so many elements take: those of the squares begin at a multiple of 16 bytes. */
export const wordsOfCodes = (size: number): number => 4 * Math.ceil(size / (4 * CODES));

/** The share of a block's largest that a code stands for. */
function shareOf(code: Uint, { decades, zero }: Book, none: Float): Float {
  const counted = zero === null ? code.toFloat().add(1) : code.toFloat().sub(zero).abs();
  const ends = 2 * decades.at(-1)!.count;
  const inside = decades.reduce<Float>(
    (share, { count, top }) => counted.ge(count).select(counted.mul((0.9 * top) / count).add(top * (0.1 - 0.9 + 0.45 / count)), share),
    none,
  );
  const share = counted.ge(ends).select(1, inside);
  return zero === null ? share : code.lt(zero).select(share.neg(), share);
}

/** The nearest code of x, a share of its block's largest absolute value. */
function codeOf(x: Float, share: Float, { decades, zero }: Book, none: Float): Uint {
  const [first, last] = [decades[0]!, decades.at(-1)!];
  let counted = none.add(first.count - 1);
  let border = (first.top * (0.1 + 0.45 / first.count)) / 2;
  for (const { count, top } of decades) {
    const position = share.mul(count / (0.9 * top)).add(count - count / 9);
    counted = share.gt(border).select(position.floor().min(2 * count - 1).max(count), counted); // prettier-ignore
    border = top * (1 + 0.9 / count);
  }
  counted = share.gt(1 - 0.225 / last.count).select(2 * last.count, counted);
  // NaN has the code of 0.
  counted = share.isNaN().select(first.count - 1, counted);
  if (zero === null) return counted.sub(1).toUint();
  return x.lt(0).select(counted.neg().max(-zero), counted).add(zero).toUint();
}

/**
 * Parameters p, gradients g, codes of the averages of g and of its square, four in a word; `small` holds the averages' scales by block, those of the
 * squares', and [learning rate, beta1, 1 - beta1, 1 - beta1^t, 1 - beta2^t]. Gives the parameters, and of both averages the codes and the scales, those
 * of the squares behind those of the gradients.
 */
export const adam8bit = (signed: Book, unsigned: Book): Kernel =>
  kernel(
    "adam8bit",
    {
      inputs: { p: "f32", g: "f32", first: "u32", second: "u32", small: "f32" },
      outputs: { pNext: "f32", codes: "u32", scales: "f32" },
      params: { sign: "f32", beta2: "f32", rest2: "f32", eps: "f32", decay: "f32", shrinking: "f32" },
      threads: THREADS,
      groups: ({ shapes }: LaunchFacts) => Math.ceil(sizeOf(shapes["p"]!) / BLOCK),
      inPlace: true,
    },
    (s) => {
      const { p, g, first, second, small, pNext, codes, scales } = s.buffers;
      const n = s.params;
      const none = s.f32(0);
      const blocks = p.size.add(BLOCK - 1).div(BLOCK);
      // A large grid has a few groups too many.
      const isThere = s.group.lt(blocks);
      const word = s.group.mul(THREADS).add(s.local);
      const behind = p.size.add(4 * CODES - 1).div(4 * CODES).mul(4); // prettier-ignore
      const [rate, beta1, rest1, corrected1, corrected2] = Array.from({ length: 5 }, (_, i) => small.load(blocks.mul(2).add(i))) as [
        Float,
        Float,
        Float,
        Float,
        Float,
      ];
      const root = corrected2.sqrt();
      const step = rate.mul(root).div(corrected1);
      const [ofFirst, ofSecond] = [first.load(word), second.load(word)];
      const [scale, scaleOfSquares] = [small.load(s.group), small.load(blocks.add(s.group))];
      const largest = s.shared("u32", 2);
      s.if(s.local.lt(2), () => largest.store(s.local, 0));
      s.barrier();
      const found = Array.from({ length: CODES }, (_, k) => {
        const at = word.mul(CODES).add(k);
        const code = (of: Uint): Uint => of.shiftRight(8 * k).and(0xff);
        const own = p.load(at);
        const gradient = own.fma(n.decay, g.load(at).mul(n.sign));
        const m = shareOf(code(ofFirst), signed, none).mul(scale).mul(beta1).add(gradient.mul(rest1));
        const v = shareOf(code(ofSecond), unsigned, none).mul(scaleOfSquares).mul(n.beta2).add(gradient.square().mul(n.rest2));
        const kept = own.mul(rate.mul(n.shrinking).neg().add(1));
        const moved = kept.sub(m.div(v.sqrt().add(root.mul(n.eps))).mul(step));
        return { at, m, v, moved, inside: at.lt(p.size) };
      });
      for (const { at, moved, inside } of found) s.if(inside, () => pNext.store(at, moved));
      // The bits of numbers of at least 0 are in their order, and those of NaN come last. NaN has no part in the scale; a driver may take it
      // that a comparison of numbers meets none.
      const bits = (x: Float, inside: (typeof found)[number]["inside"]): Uint => {
        const magnitude = x.abs().bits();
        return inside.and(magnitude.le(INFINITY_BITS)).select(magnitude, 0);
      };
      const maximum = (of: (each: (typeof found)[number]) => Uint): Uint => found.map(of).reduce((a, b) => a.max(b));
      largest.atomicMax(0, maximum(({ m, inside }) => bits(m, inside))); // prettier-ignore
      largest.atomicMax(1, maximum(({ v, inside }) => bits(v, inside))); // prettier-ignore
      s.barrier();
      const next = [0, 1].map((i) => largest.load(i).asFloat());
      // A block of zeros stays one.
      const shares = (x: Float, i: number): Float => x.abs().div(next[i]!.eq(0).select(1, next[i]!));
      const packed = (codeAt: (each: (typeof found)[number]) => Uint): Uint =>
        found.map((each, k) => codeAt(each).shiftLeft(8 * k)).reduce((a, b) => a.or(b));
      s.if(isThere.and(word.mul(CODES).lt(p.size)), () => {
        codes.store(word, packed(({ m }) => codeOf(m, shares(m, 0), signed, none))); // prettier-ignore
        codes.store(behind.add(word), packed(({ v }) => codeOf(v, shares(v, 1), unsigned, none))); // prettier-ignore
      });
      s.if(isThere.and(s.local.eq(0)), () => {
        scales.store(s.group, next[0]!);
        scales.store(blocks.add(s.group), next[1]!);
      });
    },
  );
