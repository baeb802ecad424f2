/** Where the library's own shaders replace DirectML's operators. */
import type { Capabilities } from "../dml/capabilities.ts";
import type { DType } from "../core/dtype.ts";
import { wordOf } from "../host/environment.ts";
import { formChoosesShader } from "./shader-forms.ts";

export type ShaderMode = "off" | "on" | "only-measured";
/** What the library's shaders compute. */
export const SHADERS = [
  "adam",
  "add",
  "addBroadcast",
  "attention",
  "attentionGradient",
  "batchedMatmul",
  "bfloat16Operands",
  "cast",
  "causalAttention",
  "causalAttentionGradient",
  "columnSums",
  "convolution",
  "convolutionCasts",
  "convolutionInputGradient",
  "convolutionWeightGradient",
  "crossEntropy",
  "depthwiseConvolution",
  "depthwiseInputGradient",
  "depthwiseWeightGradient",
  "directConvolution",
  "directInputGradient",
  "directWeightGradient",
  "fewQueryAttention",
  "fft",
  "gelu",
  "layerNorm",
  "layerNormGradient",
  "linear",
  "logSoftmax",
  "logSoftmaxGradient",
  "matmul",
  "packedCasts",
  "packedLinear",
  "packedValues",
  "relu",
  "rmsNorm",
  "rmsNormGradient",
  "rowStatistics",
  "softmax",
  "softmaxGradient",
  "splitGemm",
  "sumRows",
  "swiglu",
  "winogradConvolution",
  "winogradInputGradient",
  "winogradWeightGradient",
] as const;
export type ShaderName = (typeof SHADERS)[number];

const modes: readonly ShaderMode[] = ["off", "on", "only-measured"] satisfies ShaderMode[];

/** What of a call decides. */
export interface ShaderUse {
  readonly dtype: DType;
  /**
   * Of rows, the columns; of attention, the keys; of products with packed weights, the rows of the other operand; of a GEMM, the smallest of M, N and K (of what
   * reads bfloat16 too), and K where it is split, M where its columns are summed; of a convolution, the products; else the elements.
   */
  readonly extent: number;
  /** Whether the tensors lie packed: a shader has others copied first. */
  readonly isPacked: boolean;
}

/** DXTENSOR_SHADERS: "on" takes every shader that there is, "only-measured" (the default) those that are known to be faster. */
export function shaderMode(): ShaderMode {
  return wordOf("DXTENSOR_SHADERS", modes) ?? "only-measured";
}

let isForOthers = false;

/** Runs fn, which records operations for another runtime: none becomes one that only shaders of the library compute. */
export function recordedForOthers<T>(fn: () => T): T {
  const before = isForOthers;
  isForOthers = true;
  try {
    return fn();
  } finally {
    isForOthers = before;
  }
}

/** Whether a shader stands for DirectML's operator on a device. isAlone: in an eager call, not among others in a compiled function. */
export function choosesShader(capabilities: Capabilities, isAlone: boolean, name: ShaderName, use: ShaderUse): boolean {
  if (isForOthers || !capabilities.runsShaders) return false;
  const mode = shaderMode();
  if (mode !== "only-measured") return mode === "on";
  const chosen = formChoosesShader();
  if (chosen !== null) return chosen;
  if (!use.isPacked) return false;
  const context = isAlone ? "alone" : "compiled";
  return capabilities.fasterShaders.some(
    (r) =>
      r.shader === name && r.dtype === use.dtype && r.place === context && use.extent >= r.from && (r.to === null || use.extent <= r.to),
  );
}

/**
 * Whether a part of a tensor is written by a shader: DirectML's operators write every byte of their outputs. Devices whose graph compiler fuses
 * write SCATTER's updates over its input.
 */
export function writesPartsByShader({ runsShaders, fusesGraphs }: Capabilities): boolean {
  const mode = shaderMode();
  return runsShaders && (mode === "on" || (mode !== "off" && !fusesGraphs));
}

/**
 * Whether a shader stands for an operation that is dozens of nodes otherwise, each a pass over the tensors. Devices whose graph compiler fuses make few
 * passes of them.
 */
export const condensesByShader = (capabilities: Capabilities): boolean => writesPartsByShader(capabilities);

/** Values by index from which a shader's launches cost less than a graph's order of them (docs/operations.md); among others it splits what is fused. */
const MIN_FOLDED = { alone: 4096, compiled: 2 ** 15 };

/** Whether a shader with atomics folds so many values by index. isAlone: as above. */
export function foldsByAtomics(capabilities: Capabilities, isAlone: boolean, values: number): boolean {
  if (!capabilities.runsShaders) return false;
  const mode = shaderMode();
  if (mode !== "only-measured") return mode === "on";
  return capabilities.hasCheapAtomics && values >= MIN_FOLDED[isAlone ? "alone" : "compiled"];
}
