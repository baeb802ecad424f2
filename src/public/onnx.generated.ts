// Made by npm run generate from the families in src/ops.
import { checkMethods } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $onnxModel from "../onnx/model.ts";
import * as $onnxExportExportModel from "../onnx/export/export-model.ts";
import * as $onnxOperatorsNames from "../onnx/operators/names.ts";
import * as $onnxIndex from "../onnx/index.ts";
export type { OnnxCallOptions } from "../onnx/model.ts";
export type { OnnxConstant } from "../onnx/model.ts";
export type { OnnxLayer } from "../onnx/model.ts";
export type { OnnxNode } from "../onnx/model.ts";
export type { OnnxOptions } from "../onnx/model.ts";
export type { OnnxValue } from "../onnx/model.ts";
export type { ExportDynamicAxes } from "../onnx/export/options.ts";
export type { ExportExample } from "../onnx/export/options.ts";
export type { ExportNames } from "../onnx/export/options.ts";
export type { ExportOptions } from "../onnx/export/options.ts";
export type { ExportResult } from "../onnx/export/options.ts";
export type { ExportSource } from "../onnx/export/options.ts";
export { OnnxModel } from "../onnx/model.ts";
checkMethods($onnxModel.OnnxModel, "call inputs:tensorOrRecordOfTensor options:OnnxCallOptions?;forward ...inputs:eachTensorOrRecordOfTensor;replace node:string layer:moduleOrCallback;to target:deviceOrStringOrDtype;clone copies:anything;dispose");
/** The names of the operations that export() writes, sorted: those of profiles and of explain(). */
export const exportable = guardedAsync($onnxExportExportModel.exportable, "onnx.exportable", "");
/**
 * Writes a module or a function of tensors as an ONNX file, which appears whole or not at all. It is traced once or twice and computes nothing; a
 * module is taken in evaluation mode. example: a tensor for each argument, of which only shape and dtype count. Weights keep their names of
 * stateDict(). Data of more than 2 GB in all are written into a file next to it, `file` with ".data" behind.
 *
 * Throws UnsupportedError with all operations that have no form in ONNX, before anything is written; TraceError for a function that reads
 * data; ValueError for options that do not fit. Reference: torch.onnx.export.
 */
const $export = guardedAsync($onnxExportExportModel.exportModel, "onnx.export", "source:anything example:tensorOrTensors file:anything options:ExportOptions?");
export { $export as export };
/** What export() writes, as bytes: for models of at most 2 GB. Throws as export() does. */
export const serialize = guardedAsync($onnxExportExportModel.serialize, "onnx.serialize", "source:anything example:tensorOrTensors options:onProgress_dd7b05?");
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
