// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioTfjsIndex from "../io/tfjs/index.ts";
export type { TfjsArtifacts } from "../io/tfjs/options.ts";
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
export const load = guardedAsync($ioTfjsIndex.load, "tfjs.load", "source:anything options:OnnxOptions?");
