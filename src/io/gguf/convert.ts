/** A tensor's bytes in a file as elements of a dtype, in small steps. */
import type { DType } from "../../core/dtype.ts";
import { BLOCKS, type Block } from "./dequantize.ts";
import { GRID_BLOCKS } from "./grids.ts";
import { fromBfloat16s, fromHalves, roundTo } from "./halves.ts";
import type { TypeInfo } from "./types.ts";

/** Elements of a step, a multiple of every block: its float32 stay in the cache. */
const STEP = 2 ** 16;
/** A step of all calls, none of which waits in between. */
let values: Float32Array | null = null;
let rounded16: Uint16Array | null = null;

type Write = (offset: number, bytes: Uint8Array) => void;

/** Gives the bytes from an offset on, converted, to `write`, whose bytes are reused after it. */
export type Convert = (offset: number, bytes: Uint8Array, write: Write) => void;

/** Writes the float32 of whole blocks. */
type ToFloat = (bytes: Uint8Array, out: Float32Array) => void;

const words = (bytes: Uint8Array): Uint16Array => new Uint16Array(bytes.slice().buffer);

const PLAIN: { readonly [type: string]: ToFloat | undefined } = {
  F32: (bytes, out) => new Uint8Array(out.buffer).set(bytes),
  F16: (bytes, out) => fromHalves(words(bytes), out),
  BF16: (bytes, out) => fromBfloat16s(words(bytes), out),
  F64: (bytes, out) => out.set(new Float64Array(bytes.slice().buffer)),
};

const ofBlocks =
  (block: Block, { blockBytes, blockSize }: TypeInfo): ToFloat =>
  (bytes, out) => {
    for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += blockSize) block(bytes, at, out, to);
  };

function toFloat(info: TypeInfo): ToFloat {
  const plain = PLAIN[info.name];
  if (plain !== undefined) return plain;
  const block = BLOCKS[info.name] ?? GRID_BLOCKS[info.name]!;
  return ofBlocks(block, info);
}

/** What makes elements of a dtype of a type's blocks; null where they are the same. */
export function converter(info: TypeInfo, dtype: DType): Convert | null {
  if (info.dtype === dtype) return null;
  const convert = toFloat(info);
  const { blockBytes, blockSize } = info;
  const stepBytes = (STEP / blockSize) * blockBytes;
  return (offset, bytes, write) => {
    values ??= new Float32Array(STEP);
    const rounded = dtype === "float32" ? null : (rounded16 ??= new Uint16Array(STEP));
    const elementBytes = dtype === "float32" ? 4 : 2;
    for (let at = 0; at < bytes.length; at += stepBytes) {
      const part = bytes.subarray(at, at + stepBytes);
      const count = (part.length / blockBytes) * blockSize;
      const to = ((offset + at) / blockBytes) * blockSize * elementBytes;
      convert(part, values);
      if (rounded !== null) roundTo(dtype as "float16" | "bfloat16", values.subarray(0, count), rounded);
      write(to, new Uint8Array((rounded ?? values).buffer, 0, count * elementBytes));
    }
  };
}
