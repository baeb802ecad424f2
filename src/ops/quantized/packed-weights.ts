/**
 * Weights of few bits, in blocks along K: w = (code - middle) * scale + minimum. They stay packed: no operation but packedValues() makes floats of them.
 * @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { leading, matmulAxes } from "../../core/padded-axes.ts";
import { define } from "../../core/definition.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { sameShape, showShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { packedProductShader, packedValuesShader } from "../../shader/kernels/select-packed.ts";
import { onesLike, zeros } from "../creation/creation.ts";
import { contiguous, toDType } from "../data/conversion.ts";
import { cast, requireFloat, sumTo } from "../declare/support.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, gt } from "../elementwise/compare.ts";
import { neg, round } from "../elementwise/unary.ts";
import { clamp, maximum, where } from "../elementwise/where.ts";
import { indexSelect } from "../index/gather.ts";
import { emitGemm, matmul } from "../matmul/matmul.ts";
import { amax, amin } from "../reduce/extrema.ts";
import { reshape, select } from "../shape/movement.ts";

/** A packed weight [N, K]. @package */
export interface PackedWeight {
  /** [N, K] int8 (middle 0) or uint8 (middle 128), or [N, K / 2] uint8 of two codes each (middle 8), the low half first. */
  readonly codes: Tensor;
  /** [N, K / block], floating. */
  readonly scales: Tensor;
  /** [N, K / block], what a code of the middle stands for; null for 0. */
  readonly minima: Tensor | null;
  /** Of a code. */
  readonly bits: 4 | 8;
}

interface Packing {
  readonly bits: 4 | 8;
}

/** The value of the code that stands for 0. @package */
export const middleOf = (bits: number, dtype: DType): number => (dtype === "int8" ? 0 : 2 ** (bits - 1));

const constantOf = (g: GraphBuilder, value: number, sizes: readonly number[]): Expr =>
  g.expand(
    g.fillValueConstant({ output: { sizes: [1], dtype: "float32" }, valueDataType: "FLOAT32", value: { dtype: "float32", value } }),
    sizes,
  );

/** (code - middle) * scale, [N, K]. Devices below level 6.3 compute it of floats, which hold codes exactly. */
function emitValues(g: GraphBuilder, codes: Expr, scales: Expr, bits: 4 | 8, dtype: DType): Expr {
  const [rows, blocks] = scales.sizes as [number, number];
  const width = codes.sizes[1]! * (8 / bits);
  const block = width / blocks;
  if (g.supportsCodes(bits))
    return g.dequantizeCodes(g.packed(codes), cast(g, scales, dtype), { bits, output: { sizes: [rows, width], dtype } });
  const bytes = g.cast(g.packed(codes), { output: { dtype: "float32" } });
  let values = bytes;
  if (bits === 4) {
    const high = g.elementWiseFloor(bytes, { scaleBias: [1 / 16, 0] });
    const low = g.elementWiseSubtract(bytes, g.elementWiseIdentity(high, { scaleBias: [16, 0] }));
    const column = (x: Expr): Expr => g.reshape(x, [rows, width / 2, 1]);
    values = g.join([column(low), column(high)], { output: { sizes: [rows, width / 2, 2] }, axis: 2 });
  }
  const middle = middleOf(bits, codes.dtype);
  const wide = g.reshape(values, [rows, blocks, block]);
  const moved = middle === 0 ? wide : g.elementWiseSubtract(wide, constantOf(g, middle, wide.sizes));
  const real = g.elementWiseMultiply(moved, g.expand(g.reshape(cast(g, scales, "float32"), [rows, blocks, 1]), wide.sizes));
  return g.reshape(cast(g, real, dtype), [rows, width]);
}

/** Inputs codes, scales, then minima where there are any. */
const packedValuesOp = define<Packing & { readonly dtype: DType }>({
  name: "packedValues",
  infer: ([codes], { bits, dtype }) => [{ shape: [codes!.shape[0]!, codes!.shape[1]! * (8 / bits)], dtype }],
  lower: (g, [codes, scales, minima = null], { bits, dtype }) => {
    const made = packedValuesShader(g, { codes: codes!, scales: scales!, minima, bits }, dtype);
    if (made !== null) return [made];
    const values = emitValues(g, codes!, scales!, bits, dtype);
    if (minima === null) return [values];
    const [rows, blocks] = scales!.sizes as [number, number];
    const apart = g.reshape(values, [rows, blocks, values.sizes[1]! / blocks]);
    const moved = g.elementWiseAdd(apart, g.expand(g.reshape(cast(g, minima, dtype), [rows, blocks, 1]), apart.sizes));
    return [g.reshape(moved, values.sizes)];
  },
  grad: null,
  padded: leading(1, 3),
});

/** Sums of the blocks of x [rows, K]: [rows, blocks]. */
const blockSums = (g: GraphBuilder, x: Expr, blocks: number): Expr => {
  const [rows, width] = x.sizes as [number, number];
  const sizes = [rows, blocks, width / blocks];
  return g.reshape(g.reduce(g.reshape(x, sizes), { function: "SUM", axes: [2], output: { sizes: [rows, blocks, 1], dtype: x.dtype } }), [
    rows,
    blocks,
  ]);
};

/** Inputs x [..., K], codes, scales, then minima and bias where there are any. */
const packedLinearOp = define<Packing & { readonly hasMinima: boolean; readonly hasBias: boolean }>({
  name: "packedLinear",
  infer: ([x, codes]) => [{ shape: [...x!.shape.slice(0, -1), codes!.shape[0]!], dtype: x!.dtype }],
  lower: (g, [x, codes, scales, ...rest], { bits, hasMinima }, [out]) => {
    const { dtype } = x!;
    const width = x!.sizes.at(-1)!;
    const flat = g.reshape(x!, [sizeOf(x!.sizes) / width, width]);
    const bias = rest[hasMinima ? 1 : 0];
    const sizes = out!.shape.length === 0 ? [1] : out!.shape;
    const weight = { codes: codes!, scales: scales!, minima: hasMinima ? rest[0]! : null, bits };
    const product = packedProductShader(g, flat, weight, bias ?? null);
    if (product !== null) return [g.reinterpret(product, { sizes })];
    let c = bias === undefined ? null : cast(g, bias, dtype);
    const unpacked = packedValuesShader(g, weight, dtype);
    if (unpacked === null && hasMinima) {
      const minima = cast(g, rest[0]!, dtype);
      c = emitGemm(g, blockSums(g, flat, minima.sizes[1]!), g.transpose(minima, [1, 0]), c, [], { alpha: 1, beta: 1 });
    }
    const values = unpacked ?? emitValues(g, codes!, scales!, bits, dtype);
    const y = emitGemm(g, flat, g.transpose(values, [1, 0]), c, [], { alpha: 1, beta: 1 });
    return [g.reinterpret(y, { sizes })];
  },
  grad: (dy, { inputs: [, codes, scales, minima], specs, needs, attrs }) => {
    const { bits, hasMinima, hasBias } = attrs;
    const weight = (): PackedWeight => ({ codes: codes!, scales: scales!, minima: hasMinima ? minima! : null, bits });
    const x = needs[0] ? matmul(dy, packedValues(weight(), dy.dtype)) : null;
    const bias = hasBias && needs.at(-1)! ? sumTo(reshape(dy, [-1, dy.shape.at(-1)!]), specs.at(-1)!) : null;
    return specs.map((_, i) => (i === 0 ? x : hasBias && i === specs.length - 1 ? bias : null));
  },
  saves: { inputs: ([x]) => (x ? [1, 2, 3] : []), outputs: false },
  padded: matmulAxes(0, 1, (rank) => rank - 1),
  multiplyAdds: ([x], _, [y]) => sizeOf(y!.shape) * x!.shape.at(-1)!,
});

/** Throws ShapeError, DTypeError and DeviceError for tensors that are no packed weight. @package */
export function requirePacked(operation: string, { codes, scales, minima, bits }: PackedWeight): void {
  if (codes.dtype !== "uint8" && (codes.dtype !== "int8" || bits === 4))
    throw new DTypeError(operation, "codes", bits === 4 ? "uint8" : "int8 or uint8", codes.describe());
  if (codes.rank !== 2 || codes.size === 0) throw new ShapeError(operation, "codes", "[N, bytes of K codes]", codes.describe());
  const width = codes.shape[1]! * (8 / bits);
  if (!isFloat(scales.dtype)) throw new DTypeError(operation, "scales", "floating", scales.describe());
  if (scales.rank !== 2 || scales.shape[0] !== codes.shape[0] || scales.size === 0 || width % scales.shape[1]! !== 0)
    throw new ShapeError(operation, "scales", `[${codes.shape[0]}, a divisor of ${width}]`, scales.describe());
  if (minima !== null && !isFloat(minima.dtype)) throw new DTypeError(operation, "minima", "floating", minima.describe());
  if (minima !== null && !sameShape(minima.shape, scales.shape))
    throw new ShapeError(operation, "minima", `of scales' shape ${showShape(scales.shape)}`, minima.describe());
  requireSameDevice(operation, minima === null ? [codes, scales] : [codes, scales, minima]);
}

/** The weight [N, K] in a dtype. Has no gradient. DirectML: DEQUANTIZE, below level 6.3 CAST and arithmetic. @package */
export function packedValues({ codes, scales, minima, bits }: PackedWeight, dtype: DType): Tensor {
  if (minima === null || dtype === "bfloat16") return withMinima(call(packedValuesOp, [codes, scales], { bits, dtype }), minima);
  return call(packedValuesOp, [codes, scales, minima], { bits, dtype });
}

function withMinima(values: Tensor, minima: Tensor | null): Tensor {
  if (minima === null) return values;
  const [rows, blocks] = minima.shape as [number, number];
  const apart = reshape(values, [rows, blocks, values.shape[1]! / blocks]);
  return reshape(add(apart, reshape(toDType(minima, values.dtype), [rows, blocks, 1])), values.shape);
}

/** Rows of the weight by their numbers: [...] to [..., K]. DirectML: GATHER, DEQUANTIZE. @package */
export function packedRows(indices: Tensor, { codes, scales, minima, bits }: PackedWeight, dtype: DType): Tensor {
  const flat = reshape(indices, [indices.size]);
  const rows = (table: Tensor): Tensor => indexSelect(table, 0, flat);
  const values = packedValues({ codes: rows(codes), scales: rows(scales), minima: minima === null ? null : rows(minima), bits }, dtype);
  return reshape(values, [...indices.shape, values.shape[1]!]);
}

/**
 * x W^T + bias for a packed W [N, K]. x: [..., K] floating. Result: [..., N] of x's dtype. Gradients flow to x and bias.
 * DirectML: DEQUANTIZE and GEMM, the minima's part as its C; below level 6.3 CAST and arithmetic instead of DEQUANTIZE. Where shaders are chosen, a skinny GEMM
 * (few rows of x) is one shader that reads the codes; for more rows a shader makes numbers of the codes, and GEMM follows. @package
 */
export function packedLinear(operation: string, x: Tensor, weight: PackedWeight, bias: Tensor | null): Tensor {
  const { codes, scales, minima, bits } = weight;
  requireFloat(operation, x);
  const width = codes.shape[1]! * (8 / bits);
  if (x.rank === 0 || x.shape.at(-1) !== width) throw new ShapeError(operation, "x", `[..., ${width}]`, x.describe());
  requireSameDevice(operation, bias === null ? [x, codes] : [x, codes, bias]);
  if (x.size === 0) return zeros([...x.shape.slice(0, -1), codes.shape[0]!], { dtype: x.dtype, device: x.device });
  const inputs = [x, codes, scales, ...(minima === null ? [] : [minima]), ...(bias === null ? [] : [bias])];
  return call(packedLinearOp, inputs, { bits, hasMinima: minima !== null, hasBias: bias !== null });
}

/** How a weight is packed. @package */
export interface PackingScheme {
  readonly bits: 4 | 8;
  /** Elements of a block; a divisor of K. */
  readonly block: number;
  /** Whether 0 stands for 0: no minima. */
  readonly isSymmetric: boolean;
}

/** Packs weight [N, K], floating: codes are rounded to the nearest, ties to even. @package */
export function packWeight(weight: Tensor, { bits, block, isSymmetric }: PackingScheme): PackedWeight {
  const [rows, width] = weight.shape as [number, number];
  const blocks = width / block;
  const x = reshape(toDType(weight, "float32"), [rows, blocks, block]);
  const half = 2 ** (bits - 1);
  const [low, high] = [amin(x, -1, { keepDims: true }), amax(x, -1, { keepDims: true })];
  // A block of equal elements has scale 0, by which nothing is divided.
  const safe = (scale: Tensor): Tensor => where(eq(scale, 0), onesLike(scale), scale);
  let scales: Tensor;
  let minima: Tensor | null = null;
  if (!isSymmetric) {
    scales = div(sub(high, low), 2 * half - 1);
    minima = add(low, mul(scales, half));
  } else if (bits === 4) {
    // The extreme element is -8, so that all 16 codes are used.
    scales = div(where(gt(high, neg(low)), high, low), -half);
  } else scales = div(maximum(high, neg(low)), half - 1);
  const level = round(div(minima === null ? x : sub(x, minima), safe(scales)));
  const codes = reshape(clamp(level, isSymmetric && bits === 8 ? 1 - half : -half, half - 1), [rows, width]);
  const blockwise = (t: Tensor): Tensor => contiguous(reshape(t, [rows, blocks]));
  return {
    codes: bits === 8 && isSymmetric ? toDType(codes, "int8") : packCodes(add(codes, half), bits),
    scales: blockwise(scales),
    minima: minima === null ? null : blockwise(minima),
    bits,
  };
}

/** Codes from 0 on, floats [N, K], as bytes. */
function packCodes(codes: Tensor, bits: 4 | 8): Tensor {
  if (bits === 8) return toDType(codes, "uint8");
  const [rows, width] = codes.shape as [number, number];
  const pairs = reshape(codes, [rows, width / 2, 2]);
  return toDType(add(select(pairs, 2, 0), mul(select(pairs, 2, 1), 16)), "uint8");
}
