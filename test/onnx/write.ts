/** Writes small ONNX models. */
import { PbfWriter } from "pbf";

export type Message = (pbf: PbfWriter) => void;
const message =
  (tag: number, content: Message): Message =>
  (pbf) =>
    pbf.writeMessage(tag, (_: null, p: PbfWriter) => content(p), null);
const all =
  (...parts: readonly Message[]): Message =>
  (pbf) => {
    for (const part of parts) part(pbf);
  };
const text =
  (tag: number, v: string): Message =>
  (pbf) =>
    pbf.writeStringField(tag, v);
const whole =
  (tag: number, v: number): Message =>
  (pbf) =>
    pbf.writeVarintField(tag, v);

/** Data that lie in another file. */
interface Elsewhere {
  readonly location: string;
  readonly offset: number;
  readonly length: number;
}

export function tensor(name: string, dims: readonly number[], data: Float32Array | BigInt64Array | Uint8Array | Elsewhere): Message {
  const bytes = ArrayBuffer.isView(data) ? new Uint8Array(data.buffer) : null;
  const type = data instanceof BigInt64Array ? 7 : data instanceof Uint8Array ? 2 : 1;
  const pair = (key: string, v: string | number): Message => message(13, all(text(1, key), text(2, String(v))));
  const content: Message =
    bytes === null
      ? all(...Object.entries(data as Elsewhere).map(([k, v]) => pair(k, v as string | number)), whole(14, 1))
      : (pbf) => pbf.writeBytesField(9, bytes);
  return all(...dims.map((d) => whole(1, d)), whole(2, type), text(8, name), content);
}

export const attribute = {
  int: (name: string, v: number): Message => all(text(1, name), whole(3, v), whole(20, 2)),
  ints: (name: string, list: readonly number[]): Message => all(text(1, name), ...list.map((v) => whole(8, v)), whole(20, 7)),
  tensor: (name: string, t: Message): Message => all(text(1, name), message(5, t), whole(20, 4)),
  text: (name: string, v: string): Message => all(text(1, name), text(4, v), whole(20, 3)),
  texts: (name: string, list: readonly string[]): Message => all(text(1, name), ...list.map((v) => text(9, v)), whole(20, 8)),
  floats: (name: string, list: readonly number[]): Message =>
    all(
      text(1, name),
      ...list.map(
        (v): Message =>
          (pbf) =>
            pbf.writeFloatField(7, v),
      ),
      whole(20, 6),
    ),
  float: (name: string, v: number): Message => all(text(1, name), (pbf) => pbf.writeFloatField(2, v), whole(20, 1)),
  graph: (name: string, g: Message): Message => all(text(1, name), message(6, g), whole(20, 5)),
  reference: (name: string, of: string, type: number): Message => all(text(1, name), whole(20, type), text(21, of)),
};

export const node = (
  type: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: readonly Message[] = [],
  domain = "",
  name = "",
): Message =>
  all(
    ...(name === "" ? [] : [text(3, name)]),
    ...inputs.map((n) => text(1, n)),
    ...outputs.map((n) => text(2, n)),
    text(4, type),
    ...attributes.map((a) => message(5, a)),
    text(7, domain),
  );

export const value = (name: string, type: number, dims: readonly (number | string)[]): Message => {
  const shape = all(...dims.map((d) => message(1, typeof d === "number" ? whole(1, d) : text(2, d))));
  return all(text(1, name), message(2, message(1, all(whole(1, type), message(2, shape)))));
};

export interface Graph {
  readonly inputs: readonly Message[];
  readonly outputs: readonly Message[];
  readonly nodes: readonly Message[];
  readonly initializers?: readonly Message[];
}
export const graph = ({ inputs, outputs, nodes, initializers = [] }: Graph): Message =>
  all(
    ...nodes.map((n) => message(1, n)),
    text(2, "graph"),
    ...initializers.map((t) => message(5, t)),
    ...inputs.map((v) => message(11, v)),
    ...outputs.map((v) => message(12, v)),
  );

export interface Function {
  readonly name: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: readonly string[];
  readonly nodes: readonly Message[];
}
export interface Model {
  readonly opset: number;
  readonly domains?: Readonly<Record<string, number>>;
  /** Of the file format. */
  readonly irVersion?: number;
  readonly functions?: readonly Function[];
  readonly graph: Message;
}
export function model({ opset, irVersion = 10, domains = {}, functions = [], graph: g }: Model): Uint8Array {
  const set = (domain: string, version: number): Message => message(8, all(text(1, domain), whole(2, version)));
  const pbf = new PbfWriter();
  all(
    whole(1, irVersion),
    message(7, g),
    set("", opset),
    ...Object.entries(domains).map(([d, v]) => set(d, v)),
    ...functions.map((f) =>
      message(
        25,
        all(
          text(1, f.name),
          ...f.inputs.map((n) => text(4, n)),
          ...f.outputs.map((n) => text(5, n)),
          ...f.attributes.map((n) => text(6, n)),
          ...f.nodes.map((n) => message(7, n)),
          message(9, all(text(1, ""), whole(2, opset))),
          text(10, f.domain),
        ),
      ),
    ),
  )(pbf);
  return pbf.finish();
}
