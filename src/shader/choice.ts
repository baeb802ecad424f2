/** Where the library's own shaders take the place of DirectML's operators. */
import type { Capabilities } from "../dml/capabilities.ts";
import { ValueError } from "../errors.ts";

export type ShaderMode = "off" | "on" | "only-measured";
/** What a shader computes. */
export type ShaderName = "add" | "cast" | "gelu" | "layerNorm" | "logSoftmax" | "matmul" | "relu" | "rmsNorm" | "softmax";

const modes: readonly string[] = ["off", "on", "only-measured"] satisfies ShaderMode[];

/**
 * Measured to be faster than DirectML's operators, by the device's trait: on a device whose graphs fuse (the software adapter) a shader
 * would break a graph in two; there none is. Elsewhere none has been measured yet.
 */
const measured: { readonly fusing: readonly ShaderName[]; readonly other: readonly ShaderName[] } = { fusing: [], other: [] };

/** DXTENSOR_SHADERS: "on" takes every shader that there is, "only-measured" (the default) those that are known to be faster. */
export function shaderMode(): ShaderMode {
  const given = process.env.DXTENSOR_SHADERS;
  if (given === undefined || given === "") return "only-measured";
  if (!modes.includes(given)) throw new ValueError("DXTENSOR_SHADERS", "environment variable", modes.map((m) => `"${m}"`).join(", "), given); // prettier-ignore
  return given as ShaderMode;
}

/** Whether a shader stands for DirectML's operator on a device. */
export function choosesShader(capabilities: Capabilities, name: ShaderName): boolean {
  if (!capabilities.runsShaders) return false;
  const mode = shaderMode();
  if (mode !== "only-measured") return mode === "on";
  return measured[capabilities.fusesGraphs ? "fusing" : "other"].includes(name);
}
