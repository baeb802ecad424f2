/** Values, nodes and whole models as the workloads in ONNX are made of. */
import type { OnnxAttribute, OnnxModel, OnnxNode, OnnxType } from "../onnxruntime/onnx.ts";
import { uniform } from "./data.ts";

export interface Values {
  readonly shape: readonly number[];
  readonly data: Float32Array | BigInt64Array;
}

export interface OnnxWorkload {
  readonly model: OnnxModel;
  readonly feeds: Readonly<Record<string, Values & { readonly type: OnnxType }>>;
}

const area = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
export const floats = (seed: number, shape: readonly number[], scale = 1, offset = 0): Values => ({
  shape,
  data: uniform(seed, area(shape), scale, offset),
});
export const integers = (values: readonly number[], shape: readonly number[] = [values.length]): Values => ({
  shape,
  data: BigInt64Array.from(values, BigInt),
});
export const numbers = (...values: number[]): Values => ({
  shape: values.length === 1 ? [] : [values.length],
  data: Float32Array.from(values),
});
const typeOf = ({ data }: Values): OnnxType => (data instanceof BigInt64Array ? "int64" : "float32");

export const node = (
  type: string,
  inputs: readonly string[],
  output = "y",
  attributes: Readonly<Record<string, OnnxAttribute>> = {},
): OnnxNode => ({
  type,
  inputs,
  outputs: [output],
  attributes,
});

/** What is fed in each call, and what the model holds. */
export function made(
  nodes: readonly OnnxNode[],
  out: readonly number[],
  inputs: Readonly<Record<string, Values>>,
  weights: Readonly<Record<string, Values>> = {},
): OnnxWorkload {
  const feeds = Object.fromEntries(Object.entries(inputs).map(([name, v]) => [name, { ...v, type: typeOf(v) }]));
  return {
    feeds,
    model: {
      nodes,
      inputs: Object.entries(feeds).map(([name, { shape, type }]) => ({ name, shape, type })),
      outputs: [{ name: "y", shape: out }],
      weights: Object.entries(weights).map(([name, v]) => ({ name, ...v })),
    },
  };
}
