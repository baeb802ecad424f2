/** From measurements to the sizes at which shaders take the place of DirectML's operators. */
import type { ShaderRange } from "../dml/capabilities.ts";
import type { DType } from "../dtype.ts";
import type { ShaderName } from "./choice.ts";

/** Both forms of one operation at one size. */
export interface Measurement {
  readonly shader: ShaderName;
  readonly dtype: DType;
  readonly place: ShaderRange["place"];
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
const OF_ROWS: ReadonlySet<ShaderName> = new Set(["softmax", "logSoftmax", "layerNorm", "rmsNorm", "crossEntropy", "sumRows"]);

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
    const { shader, dtype, place } = sorted[0]!;
    let from: number | null = null;
    sorted.forEach((m, i) => {
      if (!isFaster(m)) return;
      from ??= m.extent;
      const next = sorted[i + 1];
      if (next !== undefined && isFaster(next)) return;
      ranges.push({ shader, dtype, place, from, to: next === undefined && !OF_ROWS.has(shader) ? null : m.extent });
      from = null;
    });
  }
  return ranges;
}

const alone = (shader: ShaderName, dtypes: readonly DType[], from: number, to: number | null = null): ShaderRange[] =>
  dtypes.map((dtype) => ({ shader, dtype, place: "alone", from, to }));

const both = ["float32", "float16"] as const;
const isLarge = 2 ** 22;

/**
 * Where shaders were measured to be faster, alone, on an NVIDIA H200 over Vulkan (tensors of 2^26 elements, GB/s of DirectML and of the shader in
 * float32, then in float16): relu 1827 and 2531, 964 and 2748; gelu 1664 and 2303, 864 and 2265; casts to float16 1709 and 3041, to float32 1733
 * and 2474; softmax of rows of 4,096 1316 and 2864, 748 and 2686; layerNorm 805 and 1803, 237 and 1774; rmsNorm 987 and 2663, 267 and 2767; add in
 * float32 4263 and 2859, in float16 1619 and 2725, of a row 1753 and 2343; products of 512 7.2 and 8.9 TFLOP/s, 1,024 23.8 and 27.1, 2,048 27.6
 * and 32.9, 4,096 29.0 and 33.7. There DirectML has no commands of the driver's own to call; on Windows it has, so that this says nothing of it.
 */
export const NVIDIA_OVER_VULKAN: readonly ShaderRange[] = [
  ...alone("relu", both, isLarge),
  ...alone("gelu", both, isLarge),
  ...alone("cast", both, isLarge),
  ...alone("add", ["float16"], isLarge),
  ...alone("softmax", both, 1024, 16384),
  ...alone("layerNorm", both, 1024, 16384),
  ...alone("rmsNorm", both, 1024, 16384),
  ...alone("matmul", ["float32"], 512),
];
