/** Rows folded into rows by index, with atomics: the gradient of an embedding, sums of integers, extremes. */
import { sizeOf } from "../../core/shape.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Float, Int, Uint } from "../numbers.ts";
import type { BufferElements, Scope } from "../language.ts";
import { eachOfRow, SUMMED_WIDTH } from "../operations/summed-rows.ts";
import { kernel, type Kernel } from "./kernel.ts";

const THREADS = 256;
/** Fewer, since there are few groups. */
const SUMMED_THREADS = 64;

/** What a scatter moves: words of 32 bits, or elements of 8 or 16 bits. */
export type MovedBits = 8 | 16 | 32;

/**
 * y[o, indices[j], :] = updates[o, j, :], of x [outer, n, inner] as which y begins. inner counts moved numbers. isShared: indices are [k]; else there is one
 * for each `width` numbers of the updates. Indices out of range are skipped.
 */
export const scatterRows = (bits: MovedBits, isShared: boolean, isOrdered: boolean): Kernel =>
  kernel(
    `scatterRows ${bits} ${isShared} ${isOrdered}`,
    {
      inputs: { x: "u32", indices: "u32", updates: "u32" },
      outputs: { y: "u32" },
      params: { count: "u32", n: "u32", k: "u32", inner: "u32", width: "u32" },
      threads: THREADS,
      groups: ({ params }: LaunchFacts) => Math.ceil(params["count"]! / THREADS),
      updates: true,
    },
    (s) => {
      const { indices, updates, y } = s.buffers;
      const { count, n, k, inner, width } = s.params;
      const at = s.thread;
      s.if(at.lt(count), () => {
        const row = at.div(inner);
        const outer = row.div(k);
        const j = row.mod(k);
        const column = at.mod(inner);
        const indexAt = (i: Uint): Uint => indices.load(isShared ? i : outer.mul(k).add(i).mul(inner).add(column).div(width));
        const index = indexAt(j);
        const isLast = s.variable(index.lt(n));
        if (isOrdered)
          s.for(j.add(1), k, (i) => {
            s.if(indexAt(i).eq(index), () => {
              isLast.value = s.bool(false);
            });
          });
        s.if(isLast.value, () => {
          const to = outer.mul(n).add(index).mul(inner).add(column);
          if (bits === 32) y.store(to, updates.load(at));
          else storeBits(s, y, to, bitsAt(updates, at, bits), bits);
        });
      });
    },
  );

const bitPosition = (at: Uint, bits: 8 | 16): { word: Uint; shift: Uint } => {
  const each = 32 / bits;
  return { word: at.div(each), shift: at.mod(each).mul(bits) };
};

function bitsAt(from: BufferElements<"u32">, at: Uint, bits: 8 | 16): Uint {
  const { word, shift } = bitPosition(at, bits);
  return from
    .load(word)
    .shiftRight(shift)
    .and(2 ** bits - 1);
}

/** Writes a part of a word, whose other parts other threads may write at the same time. */
function storeBits(
  s: Pick<Scope<never, never>, "u32" | "variable" | "while">,
  y: BufferElements<"u32">,
  at: Uint,
  value: Uint,
  bits: 8 | 16,
): void {
  const { word, shift } = bitPosition(at, bits);
  const rest = s
    .u32(2 ** bits - 1)
    .shiftLeft(shift)
    .not();
  // A guess, which the first exchange corrects.
  const old = s.variable(s.u32(0));
  const again = s.variable(word.lt(y.size));
  s.while(
    () => again.value,
    () => {
      const expected = old.value;
      const seen = y.atomicCompareExchange(word, expected, expected.and(rest).or(value.shiftLeft(shift)));
      again.value = seen.ne(expected);
      old.value = seen;
    },
  );
}

/** dweight[index[i], :] += dy[i, :]; indices that are no row are left out. dweight begins as zeros. */
export const embeddingBackward = (): Kernel =>
  kernel(
    "embeddingBackward",
    {
      inputs: { dy: "f32", index: "i32" },
      outputs: { dweight: "f32" },
      threads: THREADS,
      groups: ({ shapes }: LaunchFacts) => Math.ceil(sizeOf(shapes["dy"]!) / THREADS),
    },
    (s) => {
      const { dy, index, dweight } = s.buffers;
      s.if(s.thread.lt(dy.size), () => {
        const columns = dweight.dim(-1);
        const row = index.load(s.thread.div(columns)).bits();
        const column = s.thread.mod(columns);
        s.if(row.lt(dweight.dim(0)), () => {
          dweight.atomicAdd(row.mul(columns).add(column), dy.load(s.thread));
        });
      });
    },
  );

/** dweight[r, :] = the sum of dy[i, :] where index[i] is r, in the order of i. */
export function summedRows(columns: number): Kernel {
  const width = columns % SUMMED_WIDTH === 0 ? SUMMED_WIDTH : 1;
  return kernel(
    `summedRows ${columns === 1 ? "single" : width}`,
    {
      inputs: { dy: "f32", index: "u32" },
      outputs: { dweight: "f32" },
      threads: SUMMED_THREADS,
      groups: ({ shapes }: LaunchFacts) => Math.ceil(sizeOf(shapes["dweight"]!) / (width * SUMMED_THREADS)),
    },
    (s) => {
      const { dy, index, dweight } = s.buffers;
      const first = s.thread.mul(width);
      s.if(first.lt(dweight.size), () => {
        const count = dweight.dim(-1);
        const [row, column] = columns === 1 ? [first, s.u32(0)] : [first.div(count), first.mod(count)];
        const sums = Array.from({ length: width }, () => s.variable(s.f32(0)));
        eachOfRow(s, { k: index.size, indexAt: (i) => index.load(i), row }, (i) => {
          const values = dy.loads(i.mul(count).add(column), width);
          sums.forEach((sum, j) => (sum.value = sum.value.add(values[j]!)));
        });
        dweight.stores(first, sums.map((sum) => sum.value)); // prettier-ignore
      });
    },
  );
}

export type Extreme = "max" | "min";
export type FoldElement = "f32" | "i32" | "u32";

const SIGN = 0x80000000;
const ALL = 0xffffffff;

/** An unsigned number that is the greater, the further x is that way; NaN is the greatest of all, no float has 0. */
function keyOf(x: Float | Int | Uint, which: Extreme): Uint {
  if (x.type === "u32") return which === "max" ? x : x.not();
  if (x.type === "i32") return x.bits().xor(which === "max" ? SIGN : ~SIGN >>> 0);
  const bits = x.bits();
  const key = bits.xor(bits.toInt().shiftRight(31).bits().or(SIGN));
  return x.isNaN().select(ALL, which === "max" ? key : key.not());
}

/** The bits of what has that key. */
function bitsOf(key: Uint, which: Extreme, element: FoldElement): Uint {
  const k = which === "max" ? key : key.not();
  if (element === "u32") return k;
  if (element === "i32") return k.xor(SIGN);
  const bits = k.xor(k.toInt().shiftRight(31).not().bits().or(SIGN));
  return key.eq(0).select(which === "max" ? 0xff800000 : 0x7f800000, key.eq(ALL).select(0x7fc00000, bits));
}

/** Columns that one thread takes: adjacent in a row. */
const widthOf = (columns: number): number => (columns % 4 === 0 ? 4 : 1);

const groupsOf =
  (width: number) =>
  ({ shapes }: LaunchFacts): number =>
    Math.ceil(sizeOf(shapes["values"]!) / (THREADS * width));

/** y[indices[i], :] = the greatest key of values[i, :], where there is one; y begins as zeros. Indices out of range are skipped. */
export function foldRows(element: FoldElement, fold: Extreme | "sum", columns: number): Kernel {
  const width = widthOf(columns);
  const isSingle = columns === 1;
  return kernel(
    `foldRows ${element} ${fold} ${isSingle ? "single" : width}`,
    { inputs: { values: element, indices: "u32" }, outputs: { y: "u32" }, threads: THREADS, groups: groupsOf(width) },
    (s) => {
      const { values, indices, y } = s.buffers;
      const first = s.thread.mul(width);
      s.if(first.lt(values.size), () => {
        const row = isSingle ? first : first.div(y.dim(-1));
        const index = indices.load(row);
        s.if(index.lt(y.dim(0)), () => {
          const at = isSingle ? index : index.sub(row).mul(y.dim(-1)).add(first);
          values.loads(first, width).forEach((x, i) => {
            if (fold === "sum") y.atomicAdd(at.add(i), x.type === "u32" ? x : x.bits());
            else y.atomicMax(at.add(i), keyOf(x, fold));
          });
        });
      });
    },
  );
}

/** What foldRows found, as numbers: of no value, the one that any other one would win against. */
export const foldedRows = (element: FoldElement, which: Extreme): Kernel =>
  kernel(
    `foldedRows ${element} ${which}`,
    { inputs: { keys: "u32" }, outputs: { y: "u32" }, threads: THREADS, groups: ({ shapes }) => Math.ceil(sizeOf(shapes["keys"]!) / THREADS), inPlace: true }, // prettier-ignore
    (s) => {
      const { keys, y } = s.buffers;
      s.if(s.thread.lt(keys.size), () => y.store(s.thread, bitsOf(keys.load(s.thread), which, element)));
    },
  );

/** Which part of numbers of 64 bits a launch folds. The lower word of extremes: of those alone whose higher one is the greatest. */
export type LongPart = "sum" | "high" | "low";

/** The same of numbers of 64 bits, as two words, the lower one first; of extremes each part has an output of its own. */
export const foldLongRows = (isSigned: boolean, which: Extreme, part: LongPart, columns: number): Kernel =>
  kernel(
    `foldLongRows ${isSigned} ${which} ${part} ${columns === 1}`,
    {
      inputs: { values: "u32", indices: "u32", ...(part === "low" ? { high: "u32" as const } : {}) },
      outputs: { y: "u32" },
      threads: THREADS,
      groups: ({ shapes }) => Math.ceil(sizeOf(shapes["values"]!) / (2 * THREADS)),
    },
    (s) => {
      const { values, indices, y } = s.buffers;
      const count = s.buffers.values.size.shiftRight(1);
      s.if(s.thread.lt(count), () => {
        const width = y.dim(1);
        const row = columns === 1 ? s.thread : s.thread.div(width);
        const index = indices.load(row);
        s.if(index.lt(y.dim(0)), () => {
          const at = columns === 1 ? index : index.sub(row).mul(width).add(s.thread);
          const [low, high] = values.loads(s.thread.mul(2), 2) as [Uint, Uint];
          if (part === "sum") {
            const before = y.atomicAdd(at.mul(2), low);
            y.atomicAdd(at.mul(2).add(1), high.add(before.add(low).lt(low).toUint()));
            return;
          }
          const highKey = isSigned ? keyOf(high.toInt(), which) : keyOf(high, which);
          if (part === "high") return void y.atomicMax(at, highKey);
          s.if(s.buffers["high" as "values"].load(at).eq(highKey), () => void y.atomicMax(at, keyOf(low, which)));
        });
      });
    },
  );

/** The words of the numbers that such launches found. */
export const foldedLongRows = (isSigned: boolean, which: Extreme): Kernel =>
  kernel(
    `foldedLongRows ${isSigned} ${which}`,
    { inputs: { high: "u32", low: "u32" }, outputs: { y: "u32" }, threads: THREADS, groups: ({ shapes }) => Math.ceil(sizeOf(shapes["high"]!) / THREADS) }, // prettier-ignore
    (s) => {
      const { high, low, y } = s.buffers;
      s.if(s.thread.lt(high.size), () => {
        const words = [bitsOf(low.load(s.thread), which, "u32"), bitsOf(high.load(s.thread), which, isSigned ? "i32" : "u32")];
        y.stores(s.thread.mul(2), words);
      });
    },
  );
