/** com.microsoft: weights of a few bits, each block of which has a scale and a zero point. */
import { isFloat } from "../../core/dtype.ts";
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import { packedLinear, type PackedWeight } from "../../ops/quantized/packed-weights.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** The input of a MatMulNBits that holds its minima, which the importer makes of zero points; ONNX Runtime's has none of this number. */
export const MINIMA = 6;

/** Numbers of 2, 4 or 8 bits out of bytes, the low bits first: the last axis grows. As int32. */
export function unpacked(bytes: Tensor, bits: number): Tensor {
  const whole = ops.to(bytes, "int32");
  if (bits === 8) return whole;
  const parts = Array.from({ length: 8 / bits }, (_, i) =>
    ops.bitwiseAnd(i === 0 ? whole : ops.bitwiseRightShift(whole, bits * i), (1 << bits) - 1),
  );
  return ops.reshape(ops.stack(parts, -1), [...bytes.shape.slice(0, -1), (bytes.shape.at(-1)! * 8) / bits]);
}

/** Throws unless bits is 2, 4 or 8. */
export function bitsOf(c: Call, bits: number, name = "bits"): number {
  if (bits !== 2 && bits !== 4 && bits !== 8) throw c.unsupported(`attribute ${name} ${bits}`);
  return bits;
}

export interface Blocks {
  readonly bits: number;
  /** Elements of a block along the last axis. */
  readonly size: number;
  /** Elements of the last axis. */
  readonly width: number;
}

/**
 * (q - zero) * scale for weights [..., bytes]: scales [..., blocks]; zeros packed as the weights are, or of the scales' dtype, or null for the middle.
 * Result: [..., width] in the scales' dtype.
 */
export function dequantizedBlocks(packed: Tensor, scales: Tensor, zeros: Tensor | null, { bits, size, width }: Blocks): Tensor {
  const blocks = Math.ceil(width / size);
  const lead = packed.shape.slice(0, -1);
  const q = ops.to(unpacked(packed, bits), scales.dtype);
  const whole = q.shape.at(-1)!;
  // A width that is no multiple of the block has its last block in part, or filled.
  const filled = whole === blocks * size ? q : ops.pad(q, [0, blocks * size - whole]);
  const parts = ops.reshape(filled, [...lead, blocks, size]);
  const middle = 2 ** (bits - 1);
  const moved =
    zeros === null ? ops.sub(parts, middle) : ops.sub(parts, ops.unsqueeze(zerosOf(zeros, scales, bits, [...lead, blocks]), -1));
  const real = ops.reshape(ops.mul(moved, ops.unsqueeze(ops.reshape(scales, [...lead, blocks]), -1)), [...lead, blocks * size]);
  return blocks * size === width ? real : ops.narrow(real, -1, 0, width);
}

function zerosOf(zeros: Tensor, scales: Tensor, bits: number, shape: readonly number[]): Tensor {
  if (zeros.dtype !== "uint8") return ops.reshape(zeros, shape);
  const blocks = shape.at(-1)!;
  const bytes = ops.reshape(zeros, [...shape.slice(0, -1), Math.ceil((blocks * bits) / 8)]);
  return ops.to(ops.narrow(unpacked(bytes, bits), -1, 0, blocks), scales.dtype);
}

/** x times the transposed weights [N, K]. */
function matMulNBits(c: Call): Tensor {
  const x = c.x;
  const bits = bitsOf(c, c.int("bits", 4));
  const [n, width, size] = [
    c.size(c.int("N", 0), "attribute N"),
    c.size(c.int("K", 0), "attribute K"),
    c.size(c.int("block_size", 0), "attribute block_size", 1),
  ];
  if (c.int("weight_prepacked", 0) !== 0) throw c.unsupported("attribute weight_prepacked");
  const packed = c.tensor(1);
  const bias = c.optional(5);
  if (packed.size === 0) {
    const none = ops.zeros([...x.shape.slice(0, -1), n], { dtype: x.dtype, device: x.device });
    return bias === null ? none : ops.add(none, bias);
  }
  const blocks = Math.ceil(width / size);
  const bytes = ops.reshape(packed, [n, (blocks * size * bits) / 8]);
  const weight = packedOf(c, bytes, { bits, size, width });
  if (weight !== null) return packedLinear(c.name, x, weight, bias);
  const values = c.has(4)
    ? grouped(c, bytes, { bits, size, width })
    : dequantizedBlocks(bytes, ops.reshape(c.tensor(2), [n, blocks]), c.optional(3), { bits, size, width });
  return ops.linear(x, values, bias);
}

/** Weights that the library's product takes as they are: of 4 or 8 bits, in blocks without a rest. Null for others, and for those with gradients. */
function packedOf(c: Call, codes: Tensor, { bits, size, width }: Blocks): PackedWeight | null {
  const blocks = width / size;
  if (bits === 2 || c.has(4) || !Number.isInteger(blocks) || codes.dtype !== "uint8") return null;
  const n = codes.shape[0]!;
  const scales = ops.reshape(c.tensor(2), [n, blocks]);
  const zeros = c.optional(3);
  if (!isFloat(scales.dtype) || scales.requiresGrad || zeros?.requiresGrad === true) return null;
  let minima = c.optional(MINIMA);
  // In float16 a minimum would be rounded more than the weights that it moves.
  if (zeros !== null && scales.dtype !== "float32") return null;
  if (zeros !== null) minima = ops.mul(ops.sub(2 ** (bits - 1), zerosOf(zeros, scales, bits, [n, blocks])), scales);
  return { codes, scales, minima, bits: bits === 4 ? 4 : 8 };
}

/** Each column's scale and zero point are those of the group that input g_idx names. */
function grouped(c: Call, bytes: Tensor, { bits, size, width }: Blocks): Tensor {
  const rows = bytes.shape[0]!;
  const blocks = Math.ceil(width / size);
  const scales = ops.reshape(c.tensor(2), [rows, blocks]);
  const group = ops.narrow(ops.to(c.tensor(4), "int32"), 0, 0, width);
  const of = (t: Tensor): Tensor => ops.indexSelect(t, 1, group);
  const q = ops.narrow(ops.to(unpacked(bytes, bits), scales.dtype), 1, 0, width);
  const zeros = c.optional(3);
  const moved = zeros === null ? ops.sub(q, 2 ** (bits - 1)) : ops.sub(q, of(zerosOf(zeros, scales, bits, [rows, blocks])));
  return ops.mul(moved, of(scales));
}

/** What codes of 4 bits stand for, in units of a block's largest magnitude. */
const TABLES: readonly (readonly number[])[] = [
  [
    0, 0.00520833333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, 0, -0.00520833333, -0.66666667, -1, -0.33333333, -0.5, -0.16666667,
    -0.25,
  ],
  [
    -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
    0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
    0.7229568362236023, 1,
  ],
];

/** x times weights whose codes are those of bitsandbytes: FP4 or NF4, the high bits first. */
function matMulBnb4(c: Call): Tensor {
  const x = c.x;
  const [n, width, size] = [c.int("N", 0), c.int("K", 0), c.size(c.int("block_size", 0), "attribute block_size", 1)];
  const table = TABLES[c.int("quant_type", 0)];
  if (table === undefined) throw c.unsupported(`attribute quant_type ${c.int("quant_type", 0)}`);
  if (c.flag("training_mode")) throw c.unsupported("attribute training_mode");
  const bytes = ops.to(ops.reshape(c.tensor(1), [-1]), "int32");
  const codes = ops.narrow(ops.reshape(ops.stack([ops.bitwiseRightShift(bytes, 4), ops.bitwiseAnd(bytes, 15)], -1), [-1]), 0, 0, n * width);
  const values = ops.indexSelect(c.make(table, x.dtype), 0, codes);
  const scales = ops.narrow(ops.repeatInterleave(ops.reshape(c.tensor(2), [-1]), size, 0), 0, 0, n * width);
  const weight = ops.reshape(ops.mul(values, ops.to(scales, x.dtype)), [n, width]);
  return c.flag("transB", true) ? ops.linear(x, weight) : ops.matmul(x, weight);
}

/** Rows of a quantized table; an index out of range gives zeros. */
function gatherBlocks(c: Call): Tensor {
  const [data, index, scales, zeros] = [c.tensor(0), c.tensor(1), c.tensor(2), c.optional(3)];
  const isPacked = data.dtype === "uint8" && c.narrow(0) === null;
  const bits = isPacked ? bitsOf(c, c.int("bits", 4)) : 8;
  const axis = c.axis(c.int("gather_axis", 0), data.rank);
  const along = c.axis(c.int("quantize_axis", 1), data.rank);
  const size = c.size(c.int("block_size", 128), "attribute block_size", 1);
  if (isPacked && axis !== 0) throw c.invalid("attribute gather_axis", "0 for packed data", axis);
  const length = data.shape[axis]!;
  const whole = ops.to(index, "int32");
  const from = ops.reshape(ops.where(ops.lt(whole, 0), ops.add(whole, length), whole), [-1]);
  const isThere = ops.logicalAnd(ops.ge(from, 0), ops.lt(from, length));
  const safe = ops.clamp(from, 0, length - 1);
  const rows = (t: Tensor): Tensor => ops.indexSelect(t, axis, safe);
  const wide = unpackedOf(rows(data), bits, isPacked);
  const spread = (t: Tensor): Tensor => ops.narrow(ops.repeatInterleave(t, size, along), along, 0, wide.shape[along]!);
  const q = ops.to(wide, scales.dtype);
  const zero = zeros === null ? null : ops.to(spread(zerosAlong(rows(zeros), rows(scales), bits, isPacked)), scales.dtype);
  const middle = isPacked ? 2 ** (bits - 1) : 0;
  const moved = zero === null ? (middle === 0 ? q : ops.sub(q, middle)) : ops.sub(q, zero);
  const real = ops.mul(moved, spread(rows(scales)));
  const seen = ops.reshape(isThere, real.shape.map((d, i) => (i === axis ? d : 1))); // prettier-ignore
  const kept = ops.where(seen, real, ops.zerosLike(real));
  return ops.reshape(kept, [...real.shape.slice(0, axis), ...index.shape, ...real.shape.slice(axis + 1)]);
}

const unpackedOf = (t: Tensor, bits: number, isPacked: boolean): Tensor => (isPacked ? unpacked(t, bits) : t);

/** Zero points are packed along the last axis as the data are. */
function zerosAlong(zeros: Tensor, scales: Tensor, bits: number, isPacked: boolean): Tensor {
  if (!isPacked) return zeros;
  return ops.narrow(unpacked(zeros, bits), -1, 0, scales.shape.at(-1)!);
}

export const blockQuantized = family({ GatherBlockQuantized: gatherBlocks, MatMulBnb4: matMulBnb4, MatMulNBits: matMulNBits });
