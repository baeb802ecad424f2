/** The messages of onnx.proto that a model is made of, read by pbf. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto */
import { PbfReader } from "pbf";

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

/** A varint of 64 bits, exactly: pbf's own are numbers. */
function int64(pbf: PbfReader): bigint {
  let value = 0n;
  for (let shift = 0n; shift < 70n; shift += 7n) {
    const byte = pbf.buf[pbf.pos++] ?? 0;
    value |= BigInt(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return BigInt.asIntN(64, value);
}

/** Repeated numbers come packed (wire type 2) or one by one. */
function repeated<T>(pbf: PbfReader, list: T[], read: () => T): void {
  if (pbf.type !== 2) {
    list.push(read());
    return;
  }
  const end = pbf.readVarint() + pbf.pos;
  while (pbf.pos < end) list.push(read());
}

const emptyBytes = new Uint8Array(0);

function readPair(pbf: PbfReader): [string, string] {
  const pair: [string, string] = ["", ""];
  pbf.readMessage((tag, p: [string, string]) => {
    if (tag === 1) p[0] = pbf.readString();
    else if (tag === 2) p[1] = pbf.readString();
  }, pair);
  return pair;
}

function tensorField(tag: number, t: TensorMessage, pbf: PbfReader): void {
  if (tag === 1) repeated(pbf, t.dims, () => Number(int64(pbf)));
  else if (tag === 2) t.dataType = pbf.readVarint();
  else if (tag === 4) repeated(pbf, t.floats, () => pbf.readFloat());
  else if (tag === 5) repeated(pbf, t.int32s, () => Number(int64(pbf)));
  else if (tag === 6) t.strings.push(pbf.readBytes());
  else if (tag === 7 || tag === 11) repeated(pbf, t.int64s, () => int64(pbf));
  else if (tag === 8) t.name = pbf.readString();
  else if (tag === 9) t.raw = pbf.readBytes();
  else if (tag === 10) repeated(pbf, t.doubles, () => pbf.readDouble());
  else if (tag === 13) {
    const [key, value] = readPair(pbf);
    t.external[key] = value;
  } else if (tag === 14) t.isExternal = pbf.readVarint() === 1;
}

const readTensor = (pbf: PbfReader): TensorMessage => pbf.readMessage(tensorField, newTensor());
const newTensor = (): TensorMessage => ({
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

function readSparse(pbf: PbfReader): SparseTensorMessage {
  const sparse: SparseTensorMessage = { values: null, indices: null, dims: [] };
  return pbf.readMessage((tag, s: SparseTensorMessage) => {
    if (tag === 1) s.values = readTensor(pbf);
    else if (tag === 2) s.indices = readTensor(pbf);
    else if (tag === 3) repeated(pbf, s.dims, () => Number(int64(pbf)));
  }, sparse);
}

function attributeField(tag: number, a: AttributeMessage, pbf: PbfReader): void {
  if (tag === 1) a.name = pbf.readString();
  else if (tag === 2) a.f = pbf.readFloat();
  else if (tag === 3) a.i = int64(pbf);
  else if (tag === 4) a.s = pbf.readBytes();
  else if (tag === 5) a.t = readTensor(pbf);
  else if (tag === 6) a.g = readGraph(pbf);
  else if (tag === 7) repeated(pbf, a.floats, () => pbf.readFloat());
  else if (tag === 8) repeated(pbf, a.ints, () => int64(pbf));
  else if (tag === 9) a.strings.push(pbf.readBytes());
  else if (tag === 10) a.tensors.push(readTensor(pbf));
  else if (tag === 11) a.graphs.push(readGraph(pbf));
  else if (tag === 14) a.typeProto = readType(pbf);
  else if (tag === 20) a.type = pbf.readVarint();
  else if (tag === 21) a.reference = pbf.readString();
  else if (tag === 22) a.sparse = readSparse(pbf);
}

const readAttribute = (pbf: PbfReader): AttributeMessage =>
  pbf.readMessage(attributeField, {
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

function nodeField(tag: number, n: NodeMessage, pbf: PbfReader): void {
  if (tag === 1) n.inputs.push(pbf.readString());
  else if (tag === 2) n.outputs.push(pbf.readString());
  else if (tag === 3) n.name = pbf.readString();
  else if (tag === 4) n.type = pbf.readString();
  else if (tag === 5) n.attributes.push(readAttribute(pbf));
  else if (tag === 7) n.domain = pbf.readString();
  else if (tag === 8) n.overload = pbf.readString();
}
const readNode = (pbf: PbfReader): NodeMessage =>
  pbf.readMessage(nodeField, { inputs: [], outputs: [], name: "", type: "", domain: "", overload: "", attributes: [] });

function readDimension(pbf: PbfReader): number | string | null {
  const found: { value: number | string | null } = { value: null };
  pbf.readMessage((tag, d: typeof found) => {
    if (tag === 1) d.value = Number(int64(pbf));
    else if (tag === 2) d.value = pbf.readString();
  }, found);
  return found.value;
}

const newType = (): TypeMessage => ({ kind: "none", elementType: 0, dims: null, element: null });

/** TypeProto.Tensor and SparseTensor: element type and shape. */
function tensorTypeField(tag: number, t: TypeMessage, pbf: PbfReader): void {
  if (tag === 1) t.elementType = pbf.readVarint();
  else if (tag === 2) {
    t.dims = [];
    pbf.readMessage((inner, type: TypeMessage) => {
      if (inner === 1) type.dims!.push(readDimension(pbf));
    }, t);
  }
}

/** TypeProto.Sequence and Optional: what they hold. */
function wrapperField(tag: number, t: TypeMessage, pbf: PbfReader): void {
  if (tag === 1) t.element = readType(pbf);
}

function typeField(tag: number, t: TypeMessage, pbf: PbfReader): void {
  if (tag === 1 || tag === 8) {
    t.kind = tag === 1 ? "tensor" : "sparse";
    pbf.readMessage(tensorTypeField, t);
  } else if (tag === 4 || tag === 9) {
    t.kind = tag === 4 ? "sequence" : "optional";
    pbf.readMessage(wrapperField, t);
  } else if (tag === 5) t.kind = "map";
}
const readType = (pbf: PbfReader): TypeMessage => pbf.readMessage(typeField, newType());

function readValueInfo(pbf: PbfReader): ValueInfoMessage {
  const info: ValueInfoMessage = { name: "", type: null };
  return pbf.readMessage((tag, v: ValueInfoMessage) => {
    if (tag === 1) v.name = pbf.readString();
    else if (tag === 2) v.type = readType(pbf);
  }, info);
}

function graphField(tag: number, g: GraphMessage, pbf: PbfReader): void {
  if (tag === 1) g.nodes.push(readNode(pbf));
  else if (tag === 2) g.name = pbf.readString();
  else if (tag === 5) g.initializers.push(readTensor(pbf));
  else if (tag === 11) g.inputs.push(readValueInfo(pbf));
  else if (tag === 12) g.outputs.push(readValueInfo(pbf));
  else if (tag === 15) g.sparseInitializers.push(readSparse(pbf));
}
const readGraph = (pbf: PbfReader): GraphMessage =>
  pbf.readMessage(graphField, { nodes: [], name: "", initializers: [], sparseInitializers: [], inputs: [], outputs: [] });

function readOpset(pbf: PbfReader): OpsetMessage {
  const opset: OpsetMessage = { domain: "", version: 0 };
  return pbf.readMessage((tag, o: OpsetMessage) => {
    if (tag === 1) o.domain = pbf.readString();
    else if (tag === 2) o.version = Number(int64(pbf));
  }, opset);
}

function functionField(tag: number, f: FunctionMessage, pbf: PbfReader): void {
  if (tag === 1) f.name = pbf.readString();
  else if (tag === 4) f.inputs.push(pbf.readString());
  else if (tag === 5) f.outputs.push(pbf.readString());
  else if (tag === 6) f.attributes.push(pbf.readString());
  else if (tag === 7) f.nodes.push(readNode(pbf));
  else if (tag === 9) f.opsets.push(readOpset(pbf));
  else if (tag === 10) f.domain = pbf.readString();
  else if (tag === 11) f.defaults.push(readAttribute(pbf));
  else if (tag === 13) f.overload = pbf.readString();
}

function modelField(tag: number, m: ModelMessage, pbf: PbfReader): void {
  if (tag === 1) m.irVersion = pbf.readVarint();
  else if (tag === 2) m.producer = pbf.readString();
  else if (tag === 7) m.graph = readGraph(pbf);
  else if (tag === 8) m.opsets.push(readOpset(pbf));
  else if (tag === 14) {
    const [key, value] = readPair(pbf);
    m.metadata[key] = value;
  } else if (tag === 25)
    m.functions.push(
      pbf.readMessage(functionField, {
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
  new PbfReader(bytes).readFields(modelField, { irVersion: 0, opsets: [], producer: "", graph: null, metadata: {}, functions: [] });

/** A TensorProto of its own. */
export const readTensorMessage = (bytes: Uint8Array): TensorMessage => new PbfReader(bytes).readFields(tensorField, newTensor());
