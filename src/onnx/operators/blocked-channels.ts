/** com.microsoft.nchwc: the layers of ONNX Runtime's optimizer for one machine. load() has put their weights into ONNX's order. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";
import { fused, toFirst, toLast } from "./fused.ts";
import { family, type Run } from "./operator.ts";
import { pooling } from "./pooling.ts";
import { resampling } from "./resampling.ts";

/** As ai.onnx's operator of a version that has these attributes. */
const pooled =
  (name: string): Run =>
  (c) =>
    pooling[name]!.run(c.with(c.inputs, 22));

/** Channels up to a multiple of the block; those that are added are 0. */
function reorderInput(c: Call): Tensor {
  const x = c.flag("channels_last") ? toFirst(c.x) : c.x;
  const [block, channels] = [c.int("block", 8), x.shape[1]!];
  const missing = Math.ceil(channels / block) * block - channels;
  if (missing === 0) return x;
  const spatial = new Array<number>(2 * (x.rank - 2)).fill(0);
  return ops.pad(x, [...spatial, 0, missing]);
}

function reorderOutput(c: Call): Tensor {
  const x = c.x;
  const channels = c.int("channels", x.shape[1]!);
  if (channels < 1 || channels > x.shape[1]!) throw c.invalid("attribute channels", `from 1 to ${x.shape[1]!}`, channels);
  const cut = ops.narrow(x, 1, 0, channels);
  return c.flag("channels_last") ? toLast(cut) : cut;
}

function upsample(c: Call): Tensor {
  const scales = new Constant("float32", [c.x.rank], Float32Array.from(c.ints("scales") ?? []));
  if (scales.data.length !== c.x.rank) throw c.invalid("attribute scales", `${c.x.rank} integers`, c.ints("scales"));
  const isNearest = c.text("mode", "nearest") === "nearest";
  // The nearest element is the one before: as version 10 has it.
  const call = isNearest ? c.with([c.x, scales], 10) : c.with([c.x, null, scales], 19);
  return resampling["Resize"]!.run(call)[0] as Tensor;
}

export const channelBlocks = family({
  AveragePool: pooled("AveragePool"),
  Conv: fused["FusedConv"]!.run,
  GlobalAveragePool: pooled("GlobalAveragePool"),
  GlobalMaxPool: pooled("GlobalMaxPool"),
  MaxPool: pooled("MaxPool"),
  ReorderInput: reorderInput,
  ReorderOutput: reorderOutput,
  Upsample: upsample,
});
