/** The graph and the weights' shapes of an ONNX model: the weights themselves are skipped. */
import { FormatError } from "../core/errors.ts";
import {
  readModel,
  readTensorMessage,
  type AttributeMessage,
  type GraphMessage,
  type TensorMessage,
  type ValueInfoMessage,
} from "../onnx/format/proto.ts";
import type { FileReport, GraphReport, TensorRow, ValueRow } from "./report.ts";
import { KNOWN_FORMATS, WireFile, type Field } from "./wire-file.ts";

/** By their numbers in TensorProto.DataType: name and bits. */
const TYPES: readonly (readonly [name: string, bits: number | null])[] = [
  ["undefined", null], ["float32", 32], ["uint8", 8], ["int8", 8], ["uint16", 16], ["int16", 16], ["int32", 32], ["int64", 64], ["string", null],
  ["bool", 8], ["float16", 16], ["float64", 64], ["uint32", 32], ["uint64", 64], ["complex64", 64], ["complex128", 128], ["bfloat16", 16],
  ["float8e4m3fn", 8], ["float8e4m3fnuz", 8], ["float8e5m2", 8], ["float8e5m2fnuz", 8], ["uint4", 4], ["int4", 4], ["float4e2m1", 4],
]; // prettier-ignore

const typeOf = (id: number): readonly [string, number | null] => TYPES[id] ?? [`type ${id}`, null];

/** Fields of TensorProto: elements by their types, raw_data. */
const ELEMENTS = new Set([4, 5, 6, 7, 9, 10, 11]);
const MODEL_GRAPH = 7;
const MODEL_FUNCTION = 25;
const GRAPH = { node: 1, initializer: 5, sparse: 15 };
const NODE = { output: 2, name: 3, type: 4, attribute: 5 };
const ATTRIBUTE = { name: 1, tensor: 5, graph: 6, tensors: 10, graphs: 11 };
/** Graphs inside of nodes, inside each other. */
const MAX_DEPTH = 20;

function rowOf({ name, dims, dataType }: TensorMessage): TensorRow {
  const [dtype, bits] = typeOf(dataType);
  const count = dims.reduce((n, d) => n * d, 1);
  return { name, dtype, shape: dims, sizeInBytes: bits === null ? null : Math.ceil((count * bits) / 8) };
}

function valueOf({ name, type }: ValueInfoMessage): ValueRow {
  if (type === null) return { name, dtype: "unknown", shape: null };
  if (type.kind !== "tensor" && type.kind !== "sparse") return { name, dtype: type.kind, shape: null };
  return { name, dtype: typeOf(type.elementType)[0], shape: type.dims?.map((d) => (typeof d === "number" && d < 0 ? null : d)) ?? null };
}

/** The kind of an attribute without data as text. */
function attributeText(a: AttributeMessage): string {
  const list = (items: readonly unknown[]): string => `[${items.slice(0, 16).map(String).join(", ")}${items.length > 16 ? ", …" : ""}]`;
  const utf8 = (bytes: Uint8Array): string => new TextDecoder().decode(bytes.subarray(0, 200));
  switch (a.type) {
    case 1:
      return String(a.f);
    case 2:
      return String(a.i);
    case 3:
      return utf8(a.s);
    case 4:
      return a.t === null ? "tensor" : `${typeOf(a.t.dataType)[0]}[${a.t.dims.join(", ")}]`;
    case 5:
      return `graph of ${a.g?.nodes.length ?? 0} nodes`;
    case 6:
      return list(a.floats);
    case 7:
      return list(a.ints);
    case 8:
      return list(a.strings.map(utf8));
    default:
      return a.reference === "" ? "…" : a.reference;
  }
}

const key = (tag: number, length: number): Uint8Array => {
  const bytes = [tag * 8 + 2];
  for (let rest = length; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
};

/** A field of bytes. */
const field = (tag: number, value: Uint8Array): Uint8Array => Buffer.concat([key(tag, value.length), value]);

export type OnProgress = (bytes: number, totalBytes: number) => void;

/** Messages of a model without their weights, and what those are. */
class Thin {
  readonly tensors: TensorRow[] = [];
  readonly #file: WireFile;
  readonly #onProgress: OnProgress;

  constructor(file: WireFile, onProgress: OnProgress) {
    this.#file = file;
    this.#onProgress = onProgress;
  }

  #text({ valueStart, end }: Field): string {
    return Buffer.from(this.#file.bytes(valueStart, end)).toString("utf8");
  }

  /** A TensorProto without elements. name: of one that has none itself. */
  #tensor(f: Field, prefix: string, name?: string): Uint8Array {
    const bytes = this.#file.without(f.valueStart, f.end, ({ tag }) => ELEMENTS.has(tag));
    const row = rowOf(readTensorMessage(bytes));
    this.tensors.push({ ...row, name: prefix + (name ?? row.name) });
    return bytes;
  }

  graph(graph: Field, prefix = "", depth = 0): Uint8Array {
    const parts: Uint8Array[] = [];
    for (const f of this.#file.fields(graph.valueStart, graph.end)) {
      if (depth === 0) this.#onProgress(f.end, this.#file.sizeInBytes);
      if (f.tag === GRAPH.initializer) this.#tensor(f, prefix);
      else if (f.tag === GRAPH.node && f.isBytes) parts.push(field(GRAPH.node, this.#node(f, prefix, depth)));
      else if (f.tag !== GRAPH.sparse) parts.push(this.#file.bytes(f.start, f.end));
    }
    return Buffer.concat(parts);
  }

  #node(node: Field, prefix: string, depth: number): Uint8Array {
    const fields = Array.from(this.#file.fields(node.valueStart, node.end));
    const find = (tag: number): string => {
      const found = fields.find((f) => f.tag === tag && f.isBytes);
      return found === undefined ? "" : this.#text(found);
    };
    const type = find(NODE.type);
    // A constant is known by its value, others by their own names.
    const name = type === "Constant" ? find(NODE.output) : find(NODE.name) || type;
    return Buffer.concat(
      fields.map((f) =>
        f.tag === NODE.attribute && f.isBytes
          ? field(NODE.attribute, this.#attribute(f, prefix + name, type === "Constant", depth))
          : this.#file.bytes(f.start, f.end),
      ),
    );
  }

  #attribute(attribute: Field, owner: string, isConstant: boolean, depth: number): Uint8Array {
    const parts: Uint8Array[] = [];
    let name = "";
    for (const f of this.#file.fields(attribute.valueStart, attribute.end)) {
      if (f.tag === ATTRIBUTE.name && f.isBytes) name = this.#text(f);
      const isGraph = f.tag === ATTRIBUTE.graph || f.tag === ATTRIBUTE.graphs;
      if (f.tag === ATTRIBUTE.tensor || f.tag === ATTRIBUTE.tensors)
        parts.push(field(f.tag, this.#tensor(f, "", isConstant ? owner : `${owner}.${name}`)));
      else if (isGraph && depth < MAX_DEPTH) parts.push(field(f.tag, this.graph(f, `${owner}.${name}.`, depth + 1)));
      else if (!isGraph) parts.push(this.#file.bytes(f.start, f.end));
    }
    return Buffer.concat(parts);
  }
}

function graphOf(graph: GraphMessage, weights: ReadonlySet<string>): GraphReport {
  return {
    // Old files list weights among the inputs, too.
    inputs: graph.inputs.filter(({ name }) => !weights.has(name)).map(valueOf),
    outputs: graph.outputs.map(valueOf),
    nodes: graph.nodes.map(({ name, type, domain, inputs, outputs, attributes }) => ({
      name,
      type,
      domain: domain === "ai.onnx" ? "" : domain,
      inputs,
      outputs,
      attributes: Object.fromEntries(attributes.map((a) => [a.name, attributeText(a)])),
    })),
  };
}

/** The report of a model. Throws FormatError for what is none. */
export function inspectOnnx(operation: string, path: string, onProgress: OnProgress): FileReport {
  const file = new WireFile(operation, path);
  try {
    const parts: Uint8Array[] = [];
    const weights = new Thin(file, onProgress);
    const { tensors } = weights;
    let functions = 0;
    for (const f of file.fields()) {
      if (f.tag === MODEL_FUNCTION) functions++;
      else if (f.tag === MODEL_GRAPH && f.isBytes) {
        parts.push(field(MODEL_GRAPH, weights.graph(f)));
      } else if (f.end - f.start <= 2 ** 24) parts.push(file.bytes(f.start, f.end));
    }
    const model = readModel(Buffer.concat(parts));
    if (model.graph === null || model.opsets.length === 0)
      throw new FormatError(operation, path, "a file of a known format", "another one", KNOWN_FORMATS);
    const { producer, irVersion, opsets, metadata } = model;
    return {
      format: "onnx",
      files: [{ path, sizeInBytes: file.sizeInBytes }],
      metadata: {
        ...(producer === "" ? {} : { producer }),
        "IR version": irVersion,
        opsets: opsets.map(({ domain, version }) => `${domain === "" ? "ai.onnx" : domain} ${version}`).join(", "),
        ...(functions === 0 ? {} : { functions }),
        ...metadata,
      },
      tensors,
      graph: graphOf(model.graph, new Set(tensors.map(({ name }) => name))),
    };
  } finally {
    file.close();
  }
}
