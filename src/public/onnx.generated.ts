// Made by npm run generate from the families in src/ops.
import { checkMethods, guarded, guardedAsync } from "./kinds.generated.ts";
import * as $onnxModel from "../onnx/model.ts";
import * as $onnxOperatorsIndex from "../onnx/operators/index.ts";
import * as $onnxIndex from "../onnx/index.ts";
export type { OnnxOptions, OnnxValue } from "../onnx/model.ts";
export { OnnxModel } from "../onnx/model.ts";
checkMethods($onnxModel.OnnxModel, "call inputs:223;dispose");
/** Names by domain, as docs list them. */
export const operators = guarded($onnxOperatorsIndex.operatorNames, "onnx.operators", "");
/**
 * An ONNX model from a file or from its bytes, on a device: `model.call({ name: tensor })` gives its outputs by name. Operator sets 1 to 28,
 * functions, graphs inside nodes; weights in files beside the model when it is loaded by its path. `dx.compile((x) => model.call(x).y)` compiles it.
 *
 * Throws FormatError for what is no model, UnsupportedError (when called) for operators and element types that are not known.
 */
export const load = guardedAsync($onnxIndex.load, "onnx.load", "source:166 options:221");
