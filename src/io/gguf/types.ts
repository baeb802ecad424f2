/** The element types of GGUF files: how many elements a block has, and in how many bytes. Reference: ggml.h and ggml-common.h of llama.cpp. */
import type { DType } from "../../core/dtype.ts";

/** The name of an element type, as llama.cpp spells it. */
export type GgufType =
  | "F32" | "F16" | "BF16" | "F64" | "I8" | "I16" | "I32" | "I64"
  | "Q4_0" | "Q4_1" | "Q5_0" | "Q5_1" | "Q8_0" | "Q8_1"
  | "Q2_K" | "Q3_K" | "Q4_K" | "Q5_K" | "Q6_K" | "Q8_K"
  | "IQ1_S" | "IQ1_M" | "IQ2_XXS" | "IQ2_XS" | "IQ2_S" | "IQ3_XXS" | "IQ3_S" | "IQ4_NL" | "IQ4_XS"
  | "TQ1_0" | "TQ2_0" | "MXFP4" | "NVFP4"; // prettier-ignore

export interface TypeInfo {
  readonly name: GgufType;
  /** Its number in files. */
  readonly id: number;
  /** Elements of a block. */
  readonly blockSize: number;
  readonly blockBytes: number;
  /** Of what is stored as it is; null for packed blocks. */
  readonly dtype: DType | null;
  /** The 16-bit words of a block, as [first, end) in bytes, which have the file's byte order; null where llama.cpp defines none. */
  readonly words: readonly (readonly [start: number, end: number])[] | null;
}

const plain = (name: GgufType, id: number, dtype: DType, bytes: number): TypeInfo => ({
  name,
  id,
  blockSize: 1,
  blockBytes: bytes,
  dtype,
  words: [],
});

const packed = (name: GgufType, id: number, blockSize: number, blockBytes: number, words: TypeInfo["words"]): TypeInfo => ({
  name,
  id,
  blockSize,
  blockBytes,
  dtype: null,
  words,
});

const first: TypeInfo["words"] = [[0, 2]];
const two: TypeInfo["words"] = [[0, 4]];

export const TYPES: readonly TypeInfo[] = [
  plain("F32", 0, "float32", 4),
  plain("F16", 1, "float16", 2),
  packed("Q4_0", 2, 32, 18, first),
  packed("Q4_1", 3, 32, 20, two),
  packed("Q5_0", 6, 32, 22, null),
  packed("Q5_1", 7, 32, 24, null),
  packed("Q8_0", 8, 32, 34, first),
  packed("Q8_1", 9, 32, 36, two),
  packed("Q2_K", 10, 256, 84, [[80, 84]]),
  packed("Q3_K", 11, 256, 110, [[108, 110]]),
  packed("Q4_K", 12, 256, 144, two),
  packed("Q5_K", 13, 256, 176, two),
  packed("Q6_K", 14, 256, 210, [[208, 210]]),
  packed("Q8_K", 15, 256, 292, null),
  packed("IQ2_XXS", 16, 256, 66, null),
  packed("IQ2_XS", 17, 256, 74, [[0, 66]]),
  packed("IQ3_XXS", 18, 256, 98, null),
  packed("IQ1_S", 19, 256, 50, [[0, 2], [34, 50]]), // prettier-ignore
  packed("IQ4_NL", 20, 32, 18, first),
  packed("IQ3_S", 21, 256, 110, first),
  packed("IQ2_S", 22, 256, 82, first),
  packed("IQ4_XS", 23, 256, 136, two),
  plain("I8", 24, "int8", 1),
  plain("I16", 25, "int16", 2),
  plain("I32", 26, "int32", 4),
  plain("I64", 27, "int64", 8),
  plain("F64", 28, "float64", 8),
  packed("IQ1_M", 29, 256, 56, null),
  plain("BF16", 30, "bfloat16", 2),
  packed("TQ1_0", 34, 256, 54, [[52, 54]]),
  packed("TQ2_0", 35, 256, 66, [[64, 66]]),
  packed("MXFP4", 39, 32, 17, []),
  packed("NVFP4", 40, 64, 36, []),
];

export const typeById: ReadonlyMap<number, TypeInfo> = new Map(TYPES.map((type) => [type.id, type]));
export const typeByName: ReadonlyMap<string, TypeInfo> = new Map(TYPES.map((type) => [type.name, type]));

/** Numbers that llama.cpp has removed, or added since. */
const others: Readonly<Record<number, string>> = {
  4: "Q4_2",
  5: "Q4_3",
  31: "Q4_0_4_4",
  32: "Q4_0_4_8",
  33: "Q4_0_8_8",
  36: "IQ4_NL_4_4",
  37: "IQ4_NL_4_8",
  38: "IQ4_NL_8_8",
  41: "Q1_0",
};

/** An unknown type for an error: "Q4_2 (4)", "99". */
export const otherType = (id: number): string => (others[id] === undefined ? String(id) : `${others[id]} (${id})`);

/** In bytes; NaN where rows are no multiple of the type's blocks. Beyond 2^53 it is not exact. */
export function bytesOfType({ blockSize, blockBytes }: TypeInfo, shape: readonly number[]): number {
  const row = shape.at(-1) ?? 1;
  return row % blockSize === 0 ? (shape.reduce((n, d) => n * d, 1) / blockSize) * blockBytes : NaN;
}

/** Brings the 16-bit words of a big-endian file's blocks into this machine's order, in place. */
export function swapWords({ words, blockBytes }: TypeInfo, bytes: Uint8Array): void {
  for (let block = 0; block < bytes.length; block += blockBytes)
    for (const [start, end] of words ?? [])
      for (let at = block + start; at < block + end; at += 2) [bytes[at], bytes[at + 1]] = [bytes[at + 1]!, bytes[at]!];
}
