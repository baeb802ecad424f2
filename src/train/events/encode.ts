/** Records of what a SummaryWriter is given. Loaded with the first record. */
import { fromBfloat16, fromHalf, type DType, type TypedArray } from "../../core/dtype.ts";
import type { GraphNode } from "./graph-run.ts";
import { histogramOf } from "./histogram.ts";
import { gridOf, pngOf } from "./png.ts";
import * as messages from "./messages.ts";
import type { Message } from "./protobuf.ts";
import { recordOf } from "./tfrecord.ts";

/** Where a record stands: seconds since 1970, and the step. */
export interface Moment {
  readonly wallTime: number;
  readonly step: number;
}

const summary = ({ wallTime, step }: Moment, value: Message): Uint8Array => recordOf(messages.summaryEvent(wallTime, step, value).finish());

/** Elements as numbers: of 64-bit integers the nearest. */
function numbersOf(dtype: DType, raw: TypedArray): ArrayLike<number> {
  if (dtype === "float16") return Float32Array.from(raw as Uint16Array, fromHalf);
  if (dtype === "bfloat16") return Float32Array.from(raw as Uint16Array, fromBfloat16);
  if (dtype === "int64" || dtype === "uint64") return Float64Array.from(raw as BigInt64Array, Number);
  return raw as Float32Array;
}

export const version = (wallTime: number): Uint8Array => recordOf(messages.versionEvent(wallTime).finish());

/** Makes readers forget what an earlier, broken run wrote from a step on. */
export const purge = ({ wallTime, step }: Moment): Uint8Array =>
  Buffer.concat([messages.versionEvent(wallTime, step), messages.restartEvent(wallTime, step)].map((event) => recordOf(event.finish())));

export const scalar = (at: Moment, tag: string, value: number): Uint8Array => summary(at, messages.scalarValue(tag, value));

export const scalarOf = (at: Moment, tag: string, dtype: DType, raw: TypedArray): Uint8Array => scalar(at, tag, numbersOf(dtype, raw)[0]!);

export const text = (at: Moment, tag: string, value: string): Uint8Array => summary(at, messages.textValue(`${tag}/text_summary`, value));

export async function histogram(
  operation: string,
  at: Moment,
  tag: string,
  dtype: DType,
  raw: TypedArray,
  bins: "tensorflow" | number | readonly number[],
): Promise<Uint8Array> {
  return summary(at, messages.histogramValue(tag, await histogramOf(operation, numbersOf(dtype, raw), bins)));
}

/** 0 to 255: uint8 as it is, others times 255, rounded down and limited; NaN is 0. */
function bytesOf(dtype: DType, raw: TypedArray): Uint8Array {
  if (dtype === "uint8") return raw as Uint8Array;
  const values = numbersOf(dtype, raw);
  return Uint8Array.from(values, (v) => Math.min(255, Math.max(0, Math.fround(v * 255) || 0)));
}

/** shape: [C, H, W] or [N, C, H, W]. */
export async function image(at: Moment, tag: string, dtype: DType, raw: TypedArray, shape: readonly number[]): Promise<Uint8Array> {
  const [n, c, h, w] = shape.length === 3 ? [1, ...shape] : shape;
  const picture = gridOf(bytesOf(dtype, raw), [n!, c!, h!, w!]);
  return summary(at, messages.imageValue(tag, picture, await pngOf(picture)));
}

export const hparams = (
  at: Moment,
  values: readonly (readonly [string, messages.HyperParameter])[],
  metrics: readonly string[],
): Uint8Array => Buffer.concat(messages.hparamsValues(values, metrics).map((value) => summary(at, value)));

export const graph = ({ wallTime }: Moment, nodes: readonly GraphNode[]): Uint8Array =>
  recordOf(messages.graphEvent(wallTime, nodes).finish());
