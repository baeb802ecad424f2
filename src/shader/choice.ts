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

/** What of a call decides: of rows, the columns; of a product, the least of its sizes. */
export interface ShaderUse {
  readonly dtype: DType;
  readonly extent: number;
}

const isMeasuredRow = ({ extent }: ShaderUse): boolean => extent >= 1024 && extent <= 16384;

/**
 * Where a shader was measured to be faster than DirectML's operator, alone, on a GPU whose graphs fuse nothing (NVIDIA H200 over Vulkan, tensors
 * of 2^26 elements, GB/s of DirectML and of the shader): softmax of rows of 4,096 1322 and 2882; layerNorm 812 and 1817; products of 2,048 27.8
 * and 31.8 TFLOP/s, 4,096 29.0 and 32.6. Faster there too, but not chosen yet: relu (1834 and 2508), gelu (1664 and 2287), what stores float16
 * (relu 959 and 2422, softmax 747 and 2725, cast 1711 and 2705).
 */
const measured: { readonly [K in ShaderName]?: (use: ShaderUse) => boolean } = {
  softmax: (use) => use.dtype === "float32" && isMeasuredRow(use),
  layerNorm: (use) => use.dtype === "float32" && isMeasuredRow(use),
  matmul: ({ extent }) => extent >= 2048,
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
  return isAlone && !capabilities.fusesGraphs && measured[name]?.(use) === true;
}
