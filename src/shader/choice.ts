/** Where the library's own shaders take the place of DirectML's operators. */
import type { Capabilities } from "../dml/capabilities.ts";
import type { DType } from "../dtype.ts";
import { ValueError } from "../errors.ts";

export type ShaderMode = "off" | "on" | "only-measured";
/** What a shader computes. */
export type ShaderName =
  | "adam"
  | "add"
  | "addBroadcast"
  | "cast"
  | "crossEntropy"
  | "gelu"
  | "layerNorm"
  | "logSoftmax"
  | "matmul"
  | "relu"
  | "rmsNorm"
  | "softmax"
  | "sumRows";

const modes: readonly string[] = ["off", "on", "only-measured"] satisfies ShaderMode[];

/** What of a call decides. */
export interface ShaderUse {
  readonly dtype: DType;
  /** Of rows, the columns; of a product, the least of its sizes; else the elements. */
  readonly extent: number;
  /** Whether the tensors lie packed: a shader has others copied first. */
  readonly isPacked: boolean;
}

const isMeasuredRow = ({ extent }: ShaderUse): boolean => extent >= 1024 && extent <= 16384;
const isLarge = ({ extent }: ShaderUse): boolean => extent >= 2 ** 22;

/**
 * Where a shader was measured to be faster than DirectML's operator, alone, on a GPU whose graphs fuse nothing (NVIDIA H200 over Vulkan, tensors
 * of 2^26 elements, GB/s of DirectML and of the shader in float32, then in float16): relu 1827 and 2531, 964 and 2748; gelu 1664 and 2303, 864
 * and 2265; casts to float16 1709 and 3041, to float32 1733 and 2474; softmax of rows of 4,096 1316 and 2864, 748 and 2686; layerNorm 805 and
 * 1803, 237 and 1774; rmsNorm 987 and 2663, 267 and 2767; add in float32 4263 and 2859, in float16 1619 and 2725, of a row 1753 and 2343;
 * products of 512 7.2 and 8.9 TFLOP/s, 1,024 23.8 and 27.1, 2,048 27.6 and 32.9, 4,096 29.0 and 33.7.
 */
const measured: { readonly [K in ShaderName]?: (use: ShaderUse) => boolean } = {
  relu: isLarge,
  gelu: isLarge,
  cast: isLarge,
  add: (use) => use.dtype === "float16" && isLarge(use),
  softmax: isMeasuredRow,
  layerNorm: isMeasuredRow,
  rmsNorm: isMeasuredRow,
  matmul: ({ extent }) => extent >= 512,
};

/** DXTENSOR_SHADERS: "on" takes every shader that there is, "only-measured" (the default) those that are known to be faster. */
export function shaderMode(): ShaderMode {
  const given = process.env.DXTENSOR_SHADERS;
  if (given === undefined || given === "") return "only-measured";
  if (!modes.includes(given)) throw new ValueError("DXTENSOR_SHADERS", "environment variable", modes.map((m) => `"${m}"`).join(", "), given); // prettier-ignore
  return given as ShaderMode;
}

/**
 * Whether a shader stands for DirectML's operator on a device. isAlone: in an eager call. Inside a compiled function it would stand in the way
 * of DirectML's fused activations and graphs, which has not been measured; on the software adapter it would split what is fused.
 */
export function choosesShader(capabilities: Capabilities, isAlone: boolean, name: ShaderName, use: ShaderUse): boolean {
  if (!capabilities.runsShaders) return false;
  const mode = shaderMode();
  if (mode !== "only-measured") return mode === "on";
  return isAlone && !capabilities.fusesGraphs && use.isPacked && measured[name]?.(use) === true;
}
