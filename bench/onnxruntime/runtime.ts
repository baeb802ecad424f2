/** The part of onnxruntime-node's interface that is used; it is no dependency: DXTENSOR_ONNXRUNTIME is the folder that holds node_modules/onnxruntime-node. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { OnnxType } from "./onnx.ts";

export interface OrtTensor {
  readonly data: Float32Array;
}
export interface OrtSession {
  run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Readonly<Record<string, OrtTensor>>>;
  release(): Promise<void>;
}
export interface Ort {
  readonly Tensor: new (type: OnnxType | "int32", data: Float32Array | BigInt64Array | Int32Array, shape: readonly number[]) => OrtTensor;
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<OrtSession> };
}

const packageOf = (): NodeJS.Require => createRequire(join(process.env["DXTENSOR_ONNXRUNTIME"] ?? process.cwd(), "package.json"));

export const loadOrt = (): Ort => packageOf()("onnxruntime-node") as Ort;

/** null where it is not installed. */
export function ortVersion(): string | null {
  try {
    return (packageOf()("onnxruntime-node/package.json") as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") return null;
    throw error;
  }
}
