/** Tensors out of nothing: constants, ranges, random numbers. */
import * as ops from "../../ops/index.ts";
import type { DType, TypedArray } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { MAX_HOSTED, type Call } from "../format/call.ts";
import { denseOf } from "../format/tensor-message.ts";
import { Constant, dtypeOf, KEPT, Texts, type Pieces, type Value } from "../format/value.ts";
import { family } from "./operator.ts";

function constant(c: Call): Value {
  const value = c.constant("value");
  if (value !== null) return value;
  const sparse = c.attribute("sparse_value")?.sparse ?? null;
  if (sparse !== null) return denseOf(sparse);
  if (c.hasAttribute("value_float")) return new Constant("float32", [], Float32Array.of(c.float("value_float", 0)));
  const floats = c.floats("value_floats");
  if (floats !== null) return new Constant("float32", [floats.length], Float32Array.from(floats));
  const one = c.attribute("value_int");
  if (one !== null) return Constant.scalar("int64", one.i);
  const whole = c.attribute("value_ints");
  if (whole !== null) return new Constant("int64", [whole.ints.length], BigInt64Array.from(whole.ints));
  if (c.hasAttribute("value_string")) return new Texts([], [c.text("value_string", "")]);
  const texts = c.texts("value_strings");
  if (texts !== null) return new Texts([texts.length], texts);
  throw c.unsupported("no value");
}

/** Bytes that are handed over at once. */
const PIECE = 2 ** 16;

/** The bytes of many equal elements. */
const repeated =
  (element: TypedArray, count: number): Pieces =>
  (take) => {
    const own = new Uint8Array(element.buffer, element.byteOffset, element.byteLength);
    const size = count * own.length;
    const piece = new Uint8Array(Math.min(PIECE, size));
    for (let at = 0; at < piece.length; at += own.length) piece.set(own, at);
    for (let at = 0; at < size; at += PIECE) take(at, piece.subarray(0, Math.min(PIECE, size - at)));
  };

function constantOfShape(c: Call): Value {
  const shape = c.numbers(0).map((d) => c.size(d, "shape"));
  const value = c.constant("value");
  const filler = value instanceof Constant ? value : Constant.scalar("float32", 0);
  if (filler.size !== 1) throw c.invalid("attribute value", "of one element", filler.describe());
  const count = sizeOf(shape);
  if (count > MAX_HOSTED) return ops.contiguous(ops.broadcastTo(ops.reshape(c.asTensor(filler), []), shape));
  const filled = new Constant(filler.dtype, shape, repeated(filler.data, count));
  return count <= KEPT ? new Constant(filler.dtype, shape, filled.data) : filled;
}

function eyeLike(c: Call): Tensor {
  const x = c.numeric(0);
  const dtype = dtypeFrom(c, x.dtype);
  if (x.shape.length !== 2) throw c.invalid("input", "a matrix", x.describe());
  const [rows, columns] = x.shape as [number, number];
  const k = c.int("k", 0);
  const row = ops.reshape(ops.arange(rows, { dtype: "int32", device: c.device }), [rows, 1]);
  const column = ops.reshape(ops.arange(columns, { dtype: "int32", device: c.device }), [1, columns]);
  return ops.to(ops.eq(ops.add(row, k), column), dtype);
}

/** start, limit and step decide how long the result is, so they have to be known. */
function range(c: Call): Constant {
  const { dtype } = c.numeric(0);
  const [start, limit, step] = [c.number(0), c.number(1), c.number(2)];
  if (!(Number.isFinite(step) && step !== 0)) throw c.invalid("delta", "a finite number other than 0", step);
  const length = c.hosted(Math.max(0, Math.ceil((limit - start) / step)), "limits");
  return new Constant(
    dtype,
    [length],
    elements(
      dtype,
      Array.from({ length }, (_, i) => start + i * step),
    ),
  );
}

const dtypeFrom = (c: Call, otherwise: DType): DType => (c.hasAttribute("dtype") ? dtypeOf(c.int("dtype", 1), c.name) : otherwise);

/** A seed of a node's own gives the same numbers in every call. */
const drawn = (c: Call): { generator?: ops.Generator } =>
  c.hasAttribute("seed") ? { generator: new ops.Generator().manualSeed(Math.trunc(c.float("seed", 0))) } : {};

const uniform = (c: Call, shape: Shape, dtype: DType): Tensor => {
  const [low, high] = [c.float("low", 0), c.float("high", 1)];
  return ops.to(ops.add(ops.mul(ops.rand(shape, { device: c.device, ...drawn(c) }), high - low), low), dtype);
};
const normal = (c: Call, shape: Shape, dtype: DType): Tensor =>
  ops.to(ops.add(ops.mul(ops.randn(shape, { device: c.device, ...drawn(c) }), c.float("scale", 1)), c.float("mean", 0)), dtype);

function bernoulli(c: Call): Tensor {
  const x = c.x;
  return ops.to(ops.lt(ops.rand(x.shape, { device: c.device, ...drawn(c) }), c.single(x)), dtypeFrom(c, x.dtype));
}

/** Classes by unnormalised logarithms of their probabilities. */
function multinomial(c: Call): Tensor {
  const classes = ops.multinomial(ops.softmax(c.x, 1), c.int("sample_size", 1), { replacement: true, ...drawn(c) });
  return ops.to(classes, dtypeFrom(c, "int32"));
}

export const creation = family({ Constant: constant, ConstantOfShape: constantOfShape, EyeLike: eyeLike, Range: range });

export const random = family(
  {
    Bernoulli: bernoulli,
    Multinomial: multinomial,
    RandomNormal: (c) => normal(c, c.ints("shape") ?? [], dtypeFrom(c, "float32")),
    RandomNormalLike: (c) => normal(c, c.numeric(0).shape, dtypeFrom(c, c.numeric(0).dtype)),
    RandomUniform: (c) => uniform(c, c.ints("shape") ?? [], dtypeFrom(c, "float32")),
    RandomUniformLike: (c) => uniform(c, c.numeric(0).shape, dtypeFrom(c, c.numeric(0).dtype)),
  },
  { isPure: false },
);
