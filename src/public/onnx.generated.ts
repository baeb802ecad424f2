// Made by npm run generate from the families in src/ops.
import { checkMethods } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $onnxModel from "../onnx/model.ts";
import * as $onnxOperatorsNames from "../onnx/operators/names.ts";
import * as $onnxIndex from "../onnx/index.ts";
export type { OnnxCallOptions } from "../onnx/model.ts";
export type { OnnxOptions } from "../onnx/model.ts";
export type { OnnxValue } from "../onnx/model.ts";
export { OnnxModel } from "../onnx/model.ts";
checkMethods($onnxModel.OnnxModel, "call inputs:tensorOrRecordOfTensor options:OnnxCallOptions?;dispose");
/** Names by domain, as docs list them. */
export const operators = guarded($onnxOperatorsNames.operatorNames, "onnx.operators", "");
/**
 * An ONNX model from a file (a path or a file: URL) or from its bytes, on a device: `model.call({ name: tensor })` gives its outputs by name.
 * Operator sets 1 to 28, functions, graphs inside nodes; weights in files next to the model, of any size, when it is loaded by its path.
 * `dx.compile((x) => model.call(x).y)` compiles it. Its weights are on the device only, so the bytes may be freed.
 *
 * Throws FormatError for what is no model, or one that asks for more than it may (messages nested more than 100 deep, functions that make more than
 * a million nodes of it); UnsupportedError (when called) for operators and element types that are not known.
 */
export const load = guardedAsync($onnxIndex.load, "onnx.load", "source:anything options:OnnxOptions?");
