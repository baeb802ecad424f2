/** The messages of onnx.proto that a model is made of. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
import { define } from "../../core/own-property.ts";
import { WireReader } from "./wire.ts";

export interface TensorMessage {
  readonly dims: number[];
  dataType: number;
  name: string;
  raw: Uint8Array | null;
  readonly floats: number[];
  readonly doubles: number[];
  /** int32_data: also what holds 8- and 16-bit types. */
  readonly int32s: number[];
  readonly int64s: bigint[];
  readonly strings: Uint8Array[];
  /** location, offset, length of data in another file. */
  readonly external: Record<string, string>;
  isExternal: boolean;
}

export interface SparseTensorMessage {
  values: TensorMessage | null;
  indices: TensorMessage | null;
  readonly dims: number[];
}

export interface AttributeMessage {
  name: string;
  /** Of the enclosing function, whose value this attribute takes. */
  reference: string;
  type: number;
  f: number;
  i: bigint;
  s: Uint8Array;
  t: TensorMessage | null;
  g: GraphMessage | null;
  sparse: SparseTensorMessage | null;
  readonly floats: number[];
  readonly ints: bigint[];
  readonly strings: Uint8Array[];
  readonly tensors: TensorMessage[];
  readonly graphs: GraphMessage[];
  typeProto: TypeMessage | null;
}

export interface NodeMessage {
  readonly inputs: string[];
  readonly outputs: string[];
  name: string;
  type: string;
  domain: string;
  overload: string;
  readonly attributes: AttributeMessage[];
}

/** What a value is: a tensor (with its element type and dimensions), or a sequence, an optional, a map of others. */
export interface TypeMessage {
  kind: "tensor" | "sequence" | "optional" | "map" | "sparse" | "none";
  elementType: number;
  /** Lengths, names of unknown ones, null for those that are neither; null: of any rank. */
  dims: (number | string | null)[] | null;
  element: TypeMessage | null;
}

export interface ValueInfoMessage {
  name: string;
  type: TypeMessage | null;
}

export interface GraphMessage {
  readonly nodes: NodeMessage[];
  name: string;
  readonly initializers: TensorMessage[];
  readonly sparseInitializers: SparseTensorMessage[];
  readonly inputs: ValueInfoMessage[];
  readonly outputs: ValueInfoMessage[];
}

export interface OpsetMessage {
  domain: string;
  version: number;
}

export interface FunctionMessage {
  name: string;
  domain: string;
  overload: string;
  readonly inputs: string[];
  readonly outputs: string[];
  /** Names of attributes; defaults have values of their own. */
  readonly attributes: string[];
  readonly defaults: AttributeMessage[];
  readonly nodes: NodeMessage[];
  readonly opsets: OpsetMessage[];
}

export interface ModelMessage {
  irVersion: number;
  readonly opsets: OpsetMessage[];
  producer: string;
  graph: GraphMessage | null;
  readonly metadata: Record<string, string>;
  readonly functions: FunctionMessage[];
}

const emptyBytes = new Uint8Array(0);

function readPair(reader: WireReader): [string, string] {
  const pair: [string, string] = ["", ""];
  reader.message((tag, p: [string, string]) => {
    if (tag === 1) p[0] = reader.text();
    else if (tag === 2) p[1] = reader.text();
  }, pair);
  return pair;
}

function tensorField(tag: number, t: TensorMessage, reader: WireReader): void {
  if (tag === 1) reader.ints(t.dims);
  else if (tag === 2) t.dataType = reader.int();
  else if (tag === 4) reader.floats(t.floats);
  else if (tag === 5) reader.ints(t.int32s);
  else if (tag === 6) t.strings.push(reader.bytes());
  else if (tag === 7 || tag === 11) reader.longs(t.int64s);
  else if (tag === 8) t.name = reader.text();
  else if (tag === 9) t.raw = reader.view();
  else if (tag === 10) reader.doubles(t.doubles);
  else if (tag === 13) {
    const [key, value] = readPair(reader);
    define(t.external, key, value);
  } else if (tag === 14) t.isExternal = reader.int() === 1;
}

const readTensor = (reader: WireReader): TensorMessage => reader.message(tensorField, newTensor());
/** A tensor of no elements, without a type. */
export const newTensor = (): TensorMessage => ({
  dims: [],
  dataType: 0,
  name: "",
  raw: null,
  floats: [],
  doubles: [],
  int32s: [],
  int64s: [],
  strings: [],
  external: {},
  isExternal: false,
});

function readSparse(reader: WireReader): SparseTensorMessage {
  const sparse: SparseTensorMessage = { values: null, indices: null, dims: [] };
  return reader.message((tag, s: SparseTensorMessage) => {
    if (tag === 1) s.values = readTensor(reader);
    else if (tag === 2) s.indices = readTensor(reader);
    else if (tag === 3) reader.ints(s.dims);
  }, sparse);
}

function attributeField(tag: number, a: AttributeMessage, reader: WireReader): void {
  if (tag === 1) a.name = reader.text();
  else if (tag === 2) a.f = reader.float();
  else if (tag === 3) a.i = reader.long();
  else if (tag === 4) a.s = reader.bytes();
  else if (tag === 5) a.t = readTensor(reader);
  else if (tag === 6) a.g = readGraph(reader);
  else if (tag === 7) reader.floats(a.floats);
  else if (tag === 8) reader.longs(a.ints);
  else if (tag === 9) a.strings.push(reader.bytes());
  else if (tag === 10) a.tensors.push(readTensor(reader));
  else if (tag === 11) a.graphs.push(readGraph(reader));
  else if (tag === 14) a.typeProto = readType(reader);
  else if (tag === 20) a.type = reader.int();
  else if (tag === 21) a.reference = reader.text();
  else if (tag === 22) a.sparse = readSparse(reader);
}

/** @internal An attribute without name and value. */
export const emptyAttribute = (): AttributeMessage => ({
  name: "",
  reference: "",
  type: 0,
  f: 0,
  i: 0n,
  s: emptyBytes,
  t: null,
  g: null,
  sparse: null,
  floats: [],
  ints: [],
  strings: [],
  tensors: [],
  graphs: [],
  typeProto: null,
});

const readAttribute = (reader: WireReader): AttributeMessage => reader.message(attributeField, emptyAttribute());

function nodeField(tag: number, n: NodeMessage, reader: WireReader): void {
  if (tag === 1) n.inputs.push(reader.text());
  else if (tag === 2) n.outputs.push(reader.text());
  else if (tag === 3) n.name = reader.text();
  else if (tag === 4) n.type = reader.text();
  else if (tag === 5) n.attributes.push(readAttribute(reader));
  else if (tag === 7) n.domain = reader.text();
  else if (tag === 8) n.overload = reader.text();
}
const readNode = (reader: WireReader): NodeMessage =>
  reader.message(nodeField, { inputs: [], outputs: [], name: "", type: "", domain: "", overload: "", attributes: [] });

function readDimension(reader: WireReader): number | string | null {
  const found: { value: number | string | null } = { value: null };
  reader.message((tag, d: typeof found) => {
    if (tag === 1) {
      const length = reader.int();
      // Some writers say -1 for a length that is not known.
      d.value = length < 0 ? null : length;
    } else if (tag === 2) {
      const name = reader.text();
      d.value = name === "" || name === "?" ? null : name;
    }
  }, found);
  return found.value;
}

const newType = (): TypeMessage => ({ kind: "none", elementType: 0, dims: null, element: null });

/** TypeProto.Tensor and SparseTensor: element type and shape. */
function tensorTypeField(tag: number, t: TypeMessage, reader: WireReader): void {
  if (tag === 1) t.elementType = reader.int();
  else if (tag === 2) {
    t.dims = [];
    reader.message((inner, type: TypeMessage) => {
      if (inner === 1) type.dims!.push(readDimension(reader));
    }, t);
  }
}

/** TypeProto.Sequence and Optional: what they hold. */
function wrapperField(tag: number, t: TypeMessage, reader: WireReader): void {
  if (tag === 1) t.element = readType(reader);
}

function typeField(tag: number, t: TypeMessage, reader: WireReader): void {
  if (tag === 1 || tag === 8) {
    t.kind = tag === 1 ? "tensor" : "sparse";
    reader.message(tensorTypeField, t);
  } else if (tag === 4 || tag === 9) {
    t.kind = tag === 4 ? "sequence" : "optional";
    reader.message(wrapperField, t);
  } else if (tag === 5) t.kind = "map";
}
const readType = (reader: WireReader): TypeMessage => reader.message(typeField, newType());

function readValueInfo(reader: WireReader): ValueInfoMessage {
  const info: ValueInfoMessage = { name: "", type: null };
  return reader.message((tag, v: ValueInfoMessage) => {
    if (tag === 1) v.name = reader.text();
    else if (tag === 2) v.type = readType(reader);
  }, info);
}

function graphField(tag: number, g: GraphMessage, reader: WireReader): void {
  if (tag === 1) g.nodes.push(readNode(reader));
  else if (tag === 2) g.name = reader.text();
  else if (tag === 5) g.initializers.push(readTensor(reader));
  else if (tag === 11) g.inputs.push(readValueInfo(reader));
  else if (tag === 12) g.outputs.push(readValueInfo(reader));
  else if (tag === 15) g.sparseInitializers.push(readSparse(reader));
}
const readGraph = (reader: WireReader): GraphMessage =>
  reader.message(graphField, { nodes: [], name: "", initializers: [], sparseInitializers: [], inputs: [], outputs: [] });

function readOpset(reader: WireReader): OpsetMessage {
  const opset: OpsetMessage = { domain: "", version: 0 };
  return reader.message((tag, o: OpsetMessage) => {
    if (tag === 1) o.domain = reader.text();
    else if (tag === 2) o.version = reader.int();
  }, opset);
}

function functionField(tag: number, f: FunctionMessage, reader: WireReader): void {
  if (tag === 1) f.name = reader.text();
  else if (tag === 4) f.inputs.push(reader.text());
  else if (tag === 5) f.outputs.push(reader.text());
  else if (tag === 6) f.attributes.push(reader.text());
  else if (tag === 7) f.nodes.push(readNode(reader));
  else if (tag === 9) f.opsets.push(readOpset(reader));
  else if (tag === 10) f.domain = reader.text();
  else if (tag === 11) f.defaults.push(readAttribute(reader));
  else if (tag === 13) f.overload = reader.text();
}

function modelField(tag: number, m: ModelMessage, reader: WireReader): void {
  if (tag === 1) m.irVersion = reader.int();
  else if (tag === 2) m.producer = reader.text();
  else if (tag === 7) m.graph = readGraph(reader);
  else if (tag === 8) m.opsets.push(readOpset(reader));
  else if (tag === 14) {
    const [key, value] = readPair(reader);
    define(m.metadata, key, value);
  } else if (tag === 25)
    m.functions.push(
      reader.message(functionField, {
        name: "",
        domain: "",
        overload: "",
        inputs: [],
        outputs: [],
        attributes: [],
        defaults: [],
        nodes: [],
        opsets: [],
      }),
    );
}

/** A model file's bytes as messages. Tensors' raw data are views of the bytes. */
export const readModel = (bytes: Uint8Array): ModelMessage =>
  new WireReader(bytes).whole(modelField, { irVersion: 0, opsets: [], producer: "", graph: null, metadata: {}, functions: [] });

/** A TensorProto of its own. */
export const readTensorMessage = (bytes: Uint8Array): TensorMessage => new WireReader(bytes).whole(tensorField, newTensor());
