/** Writes ONNX models: the few messages of onnx.proto (opset 17, IR version 8) that small networks of float32 and int64 need. */
import { PbfWriter } from "pbf";

export interface OnnxNode {
  readonly type: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** A number is FLOAT, "i" of a number INT, an array INTS, a text STRING. */
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
}

export type OnnxAttribute = number | { readonly i: number } | readonly number[] | string;
export type OnnxType = "float32" | "int64";

export interface OnnxValue {
  readonly name: string;
  readonly shape: readonly number[];
  /** Default: float32. */
  readonly type?: OnnxType;
}

export interface OnnxWeight extends OnnxValue {
  readonly data: Float32Array | BigInt64Array;
}

export interface OnnxModel {
  readonly nodes: readonly OnnxNode[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly weights: readonly OnnxWeight[];
}

/** TensorProto.DataType. */
const dataType = { float32: 1, int64: 7 };
/** AttributeProto.type. */
const attributeType = { float: 1, int: 2, string: 3, ints: 7 };

function writeAttribute([name, value]: [string, OnnxAttribute], pbf: PbfWriter): void {
  pbf.writeStringField(1, name);
  if (typeof value === "number") {
    pbf.writeFloatField(2, value);
    pbf.writeVarintField(20, attributeType.float);
  } else if (typeof value === "string") {
    pbf.writeStringField(4, value);
    pbf.writeVarintField(20, attributeType.string);
  } else if ("i" in value) {
    pbf.writeVarintField(3, value.i);
    pbf.writeVarintField(20, attributeType.int);
  } else {
    for (const v of value) pbf.writeVarintField(8, v);
    pbf.writeVarintField(20, attributeType.ints);
  }
}

function writeNode(node: OnnxNode, pbf: PbfWriter): void {
  for (const name of node.inputs) pbf.writeStringField(1, name);
  for (const name of node.outputs) pbf.writeStringField(2, name);
  pbf.writeStringField(3, node.outputs[0] ?? "");
  pbf.writeStringField(4, node.type);
  for (const attribute of Object.entries(node.attributes ?? {})) pbf.writeMessage(5, writeAttribute, attribute);
}

function writeValue({ name, shape, type = "float32" }: OnnxValue, pbf: PbfWriter): void {
  const writeDimension = (size: number, p: PbfWriter): void => p.writeVarintField(1, size);
  const writeShape = (sizes: readonly number[], p: PbfWriter): void => {
    for (const size of sizes) p.writeMessage(1, writeDimension, size);
  };
  const writeTensorType = (sizes: readonly number[], p: PbfWriter): void => {
    p.writeVarintField(1, dataType[type]);
    p.writeMessage(2, writeShape, sizes);
  };
  const writeType = (sizes: readonly number[], p: PbfWriter): void => p.writeMessage(1, writeTensorType, sizes);
  pbf.writeStringField(1, name);
  pbf.writeMessage(2, writeType, shape);
}

function writeWeight({ name, shape, data }: OnnxWeight, pbf: PbfWriter): void {
  for (const size of shape) pbf.writeVarintField(1, size);
  pbf.writeVarintField(2, dataType[data instanceof BigInt64Array ? "int64" : "float32"]);
  pbf.writeStringField(8, name);
  pbf.writeBytesField(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
}

function writeGraph(model: OnnxModel, pbf: PbfWriter): void {
  for (const node of model.nodes) pbf.writeMessage(1, writeNode, node);
  pbf.writeStringField(2, "graph");
  for (const weight of model.weights) pbf.writeMessage(5, writeWeight, weight);
  for (const value of model.inputs) pbf.writeMessage(11, writeValue, value);
  for (const value of model.outputs) pbf.writeMessage(12, writeValue, value);
}

/** The bytes of a .onnx file. */
export function encodeModel(model: OnnxModel): Uint8Array {
  const pbf = new PbfWriter();
  pbf.writeVarintField(1, 8);
  pbf.writeStringField(2, "dxtensor");
  pbf.writeMessage(7, writeGraph, model);
  pbf.writeMessage(8, (version: number, p: PbfWriter) => p.writeVarintField(2, version), 17);
  return pbf.finish();
}
