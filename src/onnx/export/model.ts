/** A graph as the bytes of an ONNX model: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { packageVersion } from "../../core/home.ts";
import { sizeOf } from "../../core/shape.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import type { Attribute, ExportGraph, Initializer, Node } from "./onnx-graph.ts";
import { WireWriter, type Part } from "./wire.ts";

/** An input or output of the model. */
export interface Declared {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly (number | string | null)[];
}

/** IR version of the first release of ONNX that has the operator set. */
const IR_VERSIONS: Readonly<Record<number, number>> = { 17: 8, 18: 8, 19: 9, 20: 9, 21: 10 };

type Message = WireWriter<Initializer>;
const message = (): Message => new WireWriter<Initializer>();

function attribute(name: string, value: Attribute): Message {
  const m = message().text(1, name);
  if (typeof value === "number") return m.int(3, value).int(20, 2);
  if (typeof value === "string") return m.text(4, value).int(20, 3);
  if ("float" in value) return m.float(2, value.float).int(20, 1);
  for (const v of value)
    if (typeof v === "string") m.text(9, v);
    else m.int(8, v);
  return m.int(20, typeof value[0] === "string" ? 8 : 7);
}

function node({ type, inputs, outputs, attributes }: Node): Message {
  const m = message();
  for (const name of inputs) m.text(1, name?.text ?? "");
  for (const name of outputs) m.text(2, name.text);
  m.text(3, outputs[0]!.text).text(4, type);
  for (const [name, value] of Object.entries(attributes)) m.message(5, attribute(name, value));
  return m;
}

/** Where data in another file lie. */
export interface Elsewhere {
  readonly location: string;
  readonly offset: number;
}

/** Bytes of an initializer. */
export const sizeOfData = (t: Initializer): number => sizeOf(t.shape) * DTYPES[t.dtype].sizeInBytes;

function tensor(t: Initializer, outside: Elsewhere | null): Message {
  const m = message();
  for (const d of t.shape) m.int(1, d);
  m.int(2, ELEMENT_TYPES[t.dtype]).text(8, t.name.text);
  const sizeInBytes = sizeOfData(t);
  if (outside === null) return m.bytes(9, { sizeInBytes, later: t });
  for (const [key, value] of Object.entries({ ...outside, length: sizeInBytes }))
    m.message(13, message().text(1, key).text(2, String(value)));
  return m.int(14, 1);
}

function declared({ name, dtype, shape }: Declared): Message {
  const dims = message();
  for (const d of shape) dims.message(1, d === null ? message() : typeof d === "number" ? message().int(1, d) : message().text(2, d));
  return message()
    .text(1, name)
    .message(2, message().message(1, message().int(1, ELEMENT_TYPES[dtype]).message(2, dims)));
}

/** The file's bytes; the data of initializers are written later. elsewhere: of those in another file. */
export function modelOf(
  graph: ExportGraph,
  name: string,
  inputs: readonly Declared[],
  outputs: readonly Declared[],
  metadata: Readonly<Record<string, string>>,
  elsewhere: ReadonlyMap<Initializer, Elsewhere>,
): readonly Part<Initializer>[] {
  const g = message();
  for (const n of graph.nodes) g.message(1, node(n));
  g.text(2, name);
  for (const t of graph.initializers) g.message(5, tensor(t, elsewhere.get(t) ?? null));
  for (const v of inputs) g.message(11, declared(v));
  for (const v of outputs) g.message(12, declared(v));
  const m = message()
    .int(1, IR_VERSIONS[graph.opset]!)
    .text(2, "dxtensor")
    .text(3, packageVersion() ?? "")
    .message(7, g)
    .message(8, message().text(1, "").int(2, graph.opset));
  for (const [key, value] of Object.entries(metadata)) m.message(14, message().text(1, key).text(2, value));
  return m.parts;
}
