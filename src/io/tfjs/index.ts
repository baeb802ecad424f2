/** Models of TensorFlow.js: layers models (Keras) and graph models. */
import { defaultDevice } from "../../core/device.ts";
import { DTypeError } from "../../core/errors.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { OnnxModel, OnnxOptions } from "../../onnx/model.ts";
import type { TfjsArtifacts } from "./options.ts";

export type { TfjsArtifacts } from "./options.ts";

/**
 * Reads a model of TensorFlow.js: a model.json, or the folder that has one, with its files of weights, or the parts of a model in memory. Layers models
 * (`model.save()`, `tensorflowjs_converter`) and graph models; weights that were packed into uint8, uint16 or float16 become float32.
 *
 * The result is as that of onnx.load(), with its options: a module that compiles itself, whose weights may be trained, and which onnx.export() writes as ONNX.
 * Inputs and results have the file's layout, channels last; kernels of convolutions are [outputs, inputs, height, width] in the state. `outputs` names layers
 * or nodes. Dropout does nothing.
 *
 * Throws FormatError for what is no such model, or lacks weights; UnsupportedError for layers and operators that the reader does not have, all at once.
 * Reference: tf.loadLayersModel, tf.loadGraphModel.
 */
export async function load(source: FilePath | TfjsArtifacts, options: OnnxOptions = {}): Promise<OnnxModel> {
  // The default device is that of the call, not of the time when the file has been read.
  const own = { ...options, device: options.device ?? defaultDevice() };
  const { fromArtifacts, readFile } = await import("./tfjs-model.ts");
  if (typeof source === "object" && source !== null && !(source instanceof URL)) {
    if (!("modelTopology" in source))
      throw new DTypeError("tfjs.load", "source", "a path, a file: URL, or an object with modelTopology", source);
    return fromArtifacts(source, own);
  }
  return readFile(pathOf("tfjs.load", "source", source, "a path, a file: URL, or an object with modelTopology"), own);
}
