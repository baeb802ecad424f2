/** Events and summaries as TensorBoard's protobuf messages have them: tensorboard/compat/proto, plugins/hparams/*.proto. */
import type { DType } from "../../core/dtype.ts";
import type { GraphNode } from "./graph-run.ts";
import type { Histogram } from "./histogram.ts";
import { Message } from "./protobuf.ts";
import type { Picture } from "./png.ts";

const VERSION = "brain.Event:2";
const SESSION_START = 1;
const DT_STRING = 7;
const STATUS_SUCCESS = 1;
/** The version of TensorFlow's graphs, as PyTorch writes it. */
const GRAPH_PRODUCER = 22;
/** tensorflow.DataType; complex numbers are two tensors here. */
const DT: Readonly<Record<DType, number>> = {
  float32: 1,
  float64: 2,
  int32: 3,
  uint8: 4,
  int16: 5,
  int8: 6,
  int64: 9,
  bool: 10,
  bfloat16: 14,
  uint16: 17,
  float16: 19,
  uint32: 22,
  uint64: 23,
};
const DATA_TYPES = { string: 1, boolean: 2, number: 3 } as const;

/** A value of a hyperparameter. */
export type HyperParameter = string | number | boolean;

/** An event at a time, in seconds since 1970, and a step. */
const eventOf = (wallTime: number, step: number): Message => new Message().double(1, wallTime).int(2, step);

/** The first record of a file. step: what readers forget from this step on. */
export const versionEvent = (wallTime: number, step = 0): Message => eventOf(wallTime, step).text(3, VERSION);

/** Events of this step and later ones that were written before are void. */
export const restartEvent = (wallTime: number, step: number): Message =>
  eventOf(wallTime, step).message(7, new Message().int(1, SESSION_START));

/** An event with a summary of one value. */
export const summaryEvent = (wallTime: number, step: number, value: Message): Message =>
  eventOf(wallTime, step).message(5, new Message().message(1, value));

const valueOf = (tag: string): Message => new Message().text(1, tag);

const metadataOf = (plugin: string, content: Uint8Array): Message =>
  new Message().message(1, new Message().text(1, plugin).bytes(2, content));

export const scalarValue = (tag: string, value: number): Message => valueOf(tag).float(2, value);

export const imageValue = (tag: string, { height, width, channels }: Picture, png: Uint8Array): Message =>
  valueOf(tag).message(4, new Message().int(1, height).int(2, width).int(3, channels).bytes(4, png));

export const histogramValue = (tag: string, { min, max, count, sum, sumOfSquares, limits, counts }: Histogram): Message =>
  valueOf(tag).message(
    5,
    new Message()
      .double(1, min)
      .double(2, max)
      .double(3, count)
      .double(4, sum)
      .double(5, sumOfSquares)
      .doubles(6, limits)
      .doubles(7, counts),
  );

export function textValue(tag: string, text: string): Message {
  const shape = new Message().message(2, new Message().int(1, 1));
  const tensor = new Message().int(1, DT_STRING).message(2, shape).text(8, text);
  return valueOf(tag)
    .message(8, tensor)
    .message(9, metadataOf("text", new Uint8Array(0)));
}

/** google.protobuf.Value. */
function anyOf(value: HyperParameter): Message {
  if (typeof value === "number") return new Message().double(2, value);
  return typeof value === "string" ? new Message().text(3, value) : new Message().int(4, Number(value));
}

const hparamsValue = (tag: string, data: Message): Message => valueOf(`_hparams_/${tag}`).message(9, metadataOf("hparams", data.finish()));

/** What the plugin of hyperparameters reads: the names, then the values, then that the session has ended. */
export function hparamsValues(values: readonly (readonly [string, HyperParameter])[], metrics: readonly string[]): readonly Message[] {
  const experiment = new Message();
  const start = new Message();
  for (const [name, value] of values) {
    experiment.message(4, new Message().text(1, name).int(4, DATA_TYPES[typeof value as keyof typeof DATA_TYPES]));
    start.message(1, new Message().text(1, name).message(2, anyOf(value)));
  }
  for (const name of metrics) experiment.message(5, new Message().message(1, new Message().text(2, name)));
  return [
    hparamsValue("experiment", new Message().message(2, experiment)),
    hparamsValue("session_start_info", new Message().message(3, start)),
    hparamsValue("session_end_info", new Message().message(4, new Message().int(1, STATUS_SUCCESS))),
  ];
}

const shapeOf = (shape: readonly number[]): Message => {
  const message = new Message();
  for (const size of shape) message.message(2, new Message().int(1, size));
  return message;
};

/** tensorflow.NodeDef, with the shapes that TensorBoard writes at edges. */
function nodeOf({ name, op, inputs, outputs }: GraphNode): Message {
  const node = new Message().text(1, name).text(2, op);
  for (const input of inputs) node.text(3, input);
  const attr = (key: string, value: Message): Message => node.message(5, new Message().text(1, key).message(2, value));
  const shapes = new Message();
  for (const { shape } of outputs) shapes.message(7, shapeOf(shape));
  attr("_output_shapes", new Message().message(1, shapes));
  const [first] = outputs;
  return first === undefined ? node : attr("dtype", new Message().int(6, DT[first.dtype]));
}

/** An event with tensorflow.GraphDef. */
export function graphEvent(wallTime: number, nodes: readonly GraphNode[]): Message {
  const graph = new Message();
  for (const node of nodes) graph.message(1, nodeOf(node));
  return eventOf(wallTime, 0).message(4, graph.message(4, new Message().int(1, GRAPH_PRODUCER)));
}
