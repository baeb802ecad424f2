/** com.microsoft: operators on tensors that ai.onnx has in other forms, or not at all. */
import * as ops from "../../ops/index.ts";
import { inv } from "../../ops/linalg/solve.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";
import { creation } from "./creation.ts";
import { indexing, uniqueOf } from "./indexing.ts";
import { family, type Family, type Run } from "./operator.ts";
import { quantization } from "./quantization.ts";
import { shapes } from "./shapes.ts";

/** As ai.onnx's operator of a version. */
const asOf =
  (table: Family, name: string, opset: number): Run =>
  (c) =>
    table[name]!.run(c.with(c.inputs, opset));

/** Values in the order in which they occur, the number of each element's value, and how often each occurs. */
function unique(c: Call): Tensor[] {
  const [values, , inverse, counts] = uniqueOf(c.x, null, false) as [Tensor, Tensor, Tensor, Tensor];
  return [values, inverse, counts];
}

/** Distances of all pairs of rows. */
function distances(c: Call): Tensor {
  const metric = c.text("metric", "sqeuclidean");
  if (metric !== "sqeuclidean" && metric !== "euclidean") throw c.unsupported(`attribute metric ${metric}`);
  const d = ops.sub(ops.unsqueeze(c.x, 1), ops.unsqueeze(c.tensor(1), 0));
  const squares = ops.sum(ops.mul(d, d), 2);
  return metric === "euclidean" ? ops.sqrt(squares) : squares;
}

/** Products of complex numbers, which are pairs along the last axis. */
const complexProduct =
  (isConjugate: boolean): Run =>
  (c) => {
    const [a, b] = [c.tensor(0), c.tensor(1)];
    const [ar, ai] = [ops.select(a, -1, 0), ops.select(a, -1, 1)];
    const [br, own] = [ops.select(b, -1, 0), ops.select(b, -1, 1)];
    const bi = isConjugate ? ops.neg(own) : own;
    return ops.stack([ops.sub(ops.mul(ar, br), ops.mul(ai, bi)), ops.add(ops.mul(ar, bi), ops.mul(ai, br))], -1);
  };

function range(c: Call): Constant {
  const step = c.inputs[2] ?? Constant.scalar(c.numeric(0).dtype, c.numeric(0).dtype === "int64" ? 1n : 1);
  return creation["Range"]!.run(c.with([c.inputs[0]!, c.inputs[1]!, step], 11))[0] as Constant;
}

const trilu: Run = (c) => shapes["Trilu"]!.run(c.with(c.inputs, 14));

/** Tokens without the padding behind each sample's: rows, where they were, ends of the samples, the largest count. */
function removePadding(c: Call): (Tensor | Constant)[] {
  const x = c.ranked(0, "[N, L, hidden]", 3);
  const [batch, length, width] = x.shape as [number, number, number];
  const counts = c.numbers(1).map((n) => Math.min(c.size(n, "sequence_token_count"), length));
  const rows = Array.from({ length: batch * length }, (_, i) => i);
  const isToken = (i: number): boolean => i % length < (counts[Math.floor(i / length)] ?? 0);
  const tokens = rows.filter(isToken);
  const ends = [0];
  for (const n of counts) ends.push(ends.at(-1)! + n);
  const whole = (list: readonly number[], shape: readonly number[]): Constant => new Constant("int32", shape, Int32Array.from(list));
  return [
    ops.indexSelect(ops.reshape(x, [batch * length, width]), 0, c.make(tokens, "int32")),
    whole([...tokens, ...rows.filter((i) => !isToken(i))], [batch, length]),
    whole(ends, [ends.length]),
    whole([Math.max(0, ...counts)], [1]),
  ];
}

/** The opposite: rows among zeros. */
function restorePadding(c: Call): Tensor {
  const [x, offsets] = [c.ranked(0, "[tokens, hidden]", 2), c.ranked(1, "[N, L]", 2)];
  const [batch, length] = offsets.shape as [number, number];
  const width = x.shape[1]!;
  const at = ops.narrow(ops.reshape(ops.to(offsets, "int32"), [-1]), 0, 0, x.shape[0]!);
  const rows = ops.zeros([batch * length, width], { dtype: x.dtype, device: x.device });
  return ops.reshape(ops.indexCopy(rows, 0, at, x), [batch, length, width]);
}

/** Scores of tokens that would repeat an n-gram become minus infinity. */
function repeatBlock(c: Call): Tensor {
  const scores = c.tensor(1);
  const n = c.size(c.int("ngram_size", 1), "attribute ngram_size", 1);
  const ids = c.numbers(0);
  const [batch, vocabulary] = scores.shape as [number, number];
  const length = ids.length / Math.max(1, batch);
  const blocked = new Array<number>(c.hosted(scores.size, "scores")).fill(0);
  for (let row = 0; row < batch; row++) {
    const own = ids.slice(row * length, (row + 1) * length);
    const end = own.slice(length - n + 1).join();
    for (let i = 0; i + n <= length; i++) {
      const next = own[i + n - 1]!;
      if (own.slice(i, i + n - 1).join() !== end) continue;
      if (!(next >= 0 && next < vocabulary)) throw c.invalid("input_ids", `tokens in [0, ${vocabulary - 1}]`, next);
      blocked[row * vocabulary + next] = 1;
    }
  }
  return ops.where(c.make(blocked, "bool", scores.shape), ops.fullLike(scores, -Infinity), scores);
}

/** Slices of a length along an axis, a step apart; their elements are the last axis. */
const unfolded: Run = (c) => ops.unfold(c.x, c.axis(c.int("dim", -1), c.x.rank), c.int("size", 1), c.int("step", 1));

function allFinite(c: Call): Tensor {
  const [onlyInf, onlyNan] = [c.flag("isinf_only"), c.flag("isnan_only")];
  const bad = (x: Tensor): Tensor => (onlyInf ? ops.isinf(x) : onlyNan ? ops.isnan(x) : ops.logicalNot(ops.isfinite(x)));
  const found = c.all().map((x) => ops.any(bad(x)));
  return ops.logicalNot(found.reduce((a, b) => ops.logicalOr(a, b)));
}

export const tensorExtensions = family({
  CDist: distances,
  ComplexMul: complexProduct(false),
  ComplexMulConj: complexProduct(true),
  DequantizeLinear: asOf(quantization, "DequantizeLinear", 23),
  ExpandDims: (c) => {
    const axis = c.number(1);
    return ops.unsqueeze(c.x, axis < 0 ? axis + c.x.rank + 1 : axis);
  },
  GatherND: asOf(indexing, "GatherND", 11),
  Inverse: (c) => ops.to(inv(ops.to(c.x, "float32")), c.x.dtype),
  IsAllFinite: allFinite,
  NGramRepeatBlock: repeatBlock,
  Pad: asOf(shapes, "Pad", 13),
  QuantizeLinear: asOf(quantization, "QuantizeLinear", 23),
  Range: range,
  RemovePadding: removePadding,
  RestorePadding: restorePadding,
  TorchEmbedding: (c) => {
    const [table, index] = [c.tensor(0), c.tensor(1)];
    return ops.reshape(ops.indexSelect(table, 0, ops.reshape(ops.to(index, "int32"), [-1])), [...index.shape, ...table.shape.slice(1)]);
  },
  Trilu: trilu,
  UnfoldTensor: unfolded,
  Unique: unique,
});
