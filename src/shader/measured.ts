/** From measurements to the sizes at which shaders replace DirectML's operators. */
import type { ShaderRange } from "../dml/capabilities.ts";
import type { DType } from "../core/dtype.ts";
import type { ShaderName } from "./choice.ts";

/** Whether the operation runs by itself, or inside a compiled function. */
export type ShaderContext = "alone" | "compiled";

/** Both forms of one operation at one size. */
export interface Measurement {
  readonly shader: ShaderName;
  readonly dtype: DType;
  readonly place: ShaderContext;
  /** As ShaderRange has it. */
  readonly extent: number;
  /** Seconds for one. */
  readonly directml: number;
  /** null: not measured, since smaller ones were much slower, or wrong: its results were others than DirectML's. */
  readonly byShader: number | null;
  readonly isWrong: boolean;
}

/** How much faster a shader has to be: two measurements of the same differ by less. */
const MARGIN = 1.05;

/** What has rows was written for rows up to those that were measured. */
const ROWS = ["softmax", "logSoftmax", "layerNorm", "rmsNorm"] as const;
const OF_ROWS: ReadonlySet<ShaderName> = new Set([...ROWS, ...ROWS.map((name) => `${name}Gradient` as const), "crossEntropy", "sumRows"]);

export const isFaster = ({ directml, byShader, isWrong }: Measurement): boolean =>
  byShader !== null && !isWrong && directml >= byShader * MARGIN;

/** From a size that was faster to the next ones that were, without one in between that was not. A form that was wrong at any size is not taken. */
export function rangesOf(measurements: readonly Measurement[]): ShaderRange[] {
  const ranges: ShaderRange[] = [];
  const kinds = new Map<string, Measurement[]>();
  for (const m of measurements) {
    const kind = `${m.shader} ${m.dtype} ${m.place}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), m]);
  }
  for (const rows of kinds.values()) {
    if (rows.some((m) => m.isWrong)) continue;
    const sorted = rows.toSorted((a, b) => a.extent - b.extent);
    const { shader, dtype, place: context } = sorted[0]!;
    let from: number | null = null;
    sorted.forEach((m, i) => {
      if (!isFaster(m)) return;
      from ??= m.extent;
      const next = sorted[i + 1];
      if (next !== undefined && isFaster(next)) return;
      ranges.push({ shader, dtype, place: context, from, to: next === undefined && !OF_ROWS.has(shader) ? null : m.extent });
      from = null;
    });
  }
  return ranges;
}

const ranges = (
  shader: ShaderName,
  dtypes: readonly DType[],
  contexts: readonly ShaderContext[],
  from: number,
  to: number | null = null,
): ShaderRange[] => dtypes.flatMap((dtype) => contexts.map((context) => ({ shader, dtype, place: context, from, to })));

const everywhere = ["alone", "compiled"] as const;
const both = ["float32", "float16"] as const;
const [isLarge, isVeryLarge] = [2 ** 18, 2 ** 21];

/**
 * Where shaders were measured to be faster on an NVIDIA H200 over Vulkan (`dxtensor shaders --measure`; tensors of 2^26 elements, GB/s of DirectML and
 * of the shader in float32, then in float16): relu 1792 and 4054, 946 and 3834; gelu 1659 and 4102, 851 and 3918; casts to float16 1691 and 4169, to
 * float32 1714 and 3745; softmax of rows of 4,096 1301 and 3939, 733 and 3795; layerNorm 801 and 3606, 234 and 3462; rmsNorm 971 and 3941, 263 and
 * 3841; add in float32 4273 and 4284, in float16 1580 and 4152, of a row 1723 and 3898; GEMMs of 512 7.2 and 11.4 TFLOP/s, 1,024 23.5 and 31.6,
 * 2,048 27.6 and 42.5, 4,096 28.8 and 43.1; in chains (microseconds) of 192 12.2 and 7.6, 256 14.0 and 8.3, 512 40.0 and 16.0, 64 products of 64
 * 18.7 and 7.9; products of 1, 16 and 64 rows with packed weights of 4096 x 4096 in 4 bits 11, 35 and 121 (as numbers by a GEMM 297, 294 and 162), of 8
 * bits 9.5, 46 and 174 (307, 301 and 163); Adam's step 4.7 times as fast, sums of rows by index 15 to 18 times. A copy moved 4060 GB/s, PyTorch's 4189. Fourier transforms of 65,536 to 1,048,576 elements took a third to a thirteenth of the time (ms, compiled): 16 x 65,536 0.208 and 0.049,
 * 64 x 1,024 0.099 and 0.012, 256 x 4,096 0.245 and 0.032, real ones of 64 x 1,024 0.053 and 0.007. Attention of heads of 64 (ms; batch x heads x
 * length): alone 8 x 8 x 256 0.145 and 0.082, 4 x 8 x 1,024 1.26 and 0.56, 2 x 8 x 2,048 1.53 and 1.13 (heads of 128: 2.38 and 2.16), with a causal mask
 * 2.54 and 0.53; with the backward pass 4 x 8 x 1,024 4.4 and 2.6, 2 x 8 x 2,048 6.5 and 4.8 (11.3 and 8.4), causal 10.9 and 2.4; compiled
 * 4 x 8 x 1,024 0.61 and 0.55, 2 x 8 x 2,048 1.13 and 1.10, causal 1.16 and 0.53, with the backward pass 2.27 and 2.54, 3.76 and 4.71, causal 3.89 and 2.38; of three queries of each of three heads over 128 keys (microseconds) 19 and 6. Linear layers in compiled functions:
 * 512 x 512 x 512 0.056 and 0.037, with the backward pass 0.074 and 0.097; 1,024 cubed 0.134 and 0.084, 0.327 and 0.268; 2,048 cubed 0.792 and 0.475, 1.97
 * and 1.71; 4,096 x 768 x 768 0.274 and 0.189, 1.00 and 0.88. Convolutions in compiled functions, in NCHW and NHWC: docs/gpu/h200.md. Inside compiled functions elementwise
 * shaders bring a fifth and split DirectML's graphs, which costs a large network more (a step of ResNet-18 took 5.4 ms instead of 4.9): only what is
 * many times faster is taken there. DirectML has no commands of the driver's own to call on this path; on Windows it has, so that this says nothing
 * of it.
 */
export const NVIDIA_OVER_VULKAN: readonly ShaderRange[] = [
  ...(["relu", "gelu", "swiglu"] as const).flatMap((name) => ranges(name, both, ["alone"], isLarge)),
  ...ranges("cast", ["float32"], ["alone"], isLarge),
  ...ranges("add", ["float16"], ["alone"], isLarge),
  ...ranges("addBroadcast", both, ["alone"], isLarge),
  ...ranges("swiglu", both, ["compiled"], isVeryLarge),
  ...[...ROWS, ...ROWS.map((name) => `${name}Gradient` as const), "crossEntropy" as const].flatMap((name) =>
    ranges(name, both, everywhere, 256, 16384),
  ),
  ...ranges("sumRows", ["float32"], everywhere, 256, 16384),
  ...ranges("adam", ["float32"], everywhere, isLarge),
  ...ranges("matmul", ["float32"], everywhere, 16),
  ...ranges("batchedMatmul", ["float32"], everywhere, 16),
  // K of few tiles: 9 to 30 microseconds where one group of threads for a tile takes 10 to 352: docs/gpu/h200.md.
  ...ranges("splitGemm", ["float32"], everywhere, 1024),
  ...ranges("fft", ["float32"], everywhere, 2 ** 15),
  ...ranges("linear", ["float32"], everywhere, 16),
  ...ranges("packedLinear", both, everywhere, 1, 64),
  ...ranges("packedValues", both, everywhere, 1),
  ...(["convolution", "convolutionInputGradient", "convolutionWeightGradient"] as const).flatMap((name) =>
    ranges(name, both, ["compiled"], 2 ** 25),
  ),
  // Of float16 where fused programs have them (a step of ResNet-18 in mixed precision took 4.61 ms without these, 2.58 with them).
  ...ranges("convolutionCasts", ["float16"], ["compiled"], 2 ** 23),
  ...ranges("packedCasts", ["float16"], everywhere, 1, 64),
  // 64 channels and filters and more; of 604 and 1,850 million products: docs/gpu/h200.md.
  ...(["winogradConvolution", "winogradInputGradient", "winogradWeightGradient"] as const).flatMap((name) => [
    ...ranges(name, ["float32"], ["compiled"], 2 ** 28),
    ...ranges(name, ["float16"], ["compiled"], 2 ** 29),
  ]),
  // 12 to 22 microseconds where DirectML's operators take 12 to 60 (8 of them the timestamps'): docs/gpu/h200.md.
  ...(["directConvolution", "directInputGradient", "directWeightGradient"] as const).flatMap((name) =>
    ranges(name, both, ["compiled"], 2 ** 20),
  ),
  ...(["depthwiseConvolution", "depthwiseInputGradient", "depthwiseWeightGradient"] as const).flatMap((name) => [
    ...ranges(name, ["float32"], ["compiled"], 3 * 2 ** 21),
    ...ranges(name, ["float16"], ["compiled"], 2 ** 20),
  ]),
  // Chains of products with norms between them: 18.3 and 14.5 microseconds for 512 x 128, 97 and 81 for 2,048 x 512.
  ...ranges("rowStatistics", ["float32"], ["compiled"], 128, 512),
  ...ranges("attention", both, everywhere, 256),
  ...ranges("attentionGradient", both, everywhere, 256),
  ...ranges("fewQueryAttention", ["float32"], everywhere, 64),
  ...ranges("causalAttention", both, everywhere, 256),
  ...ranges("causalAttentionGradient", both, everywhere, 256),
];
