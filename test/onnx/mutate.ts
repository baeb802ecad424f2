/** Hostile forms of ONNX's node tests: numbers of attributes and of inputs that tell sizes become others, inputs become other shapes. */
import * as dx from "../../src/index.ts";
import { elements } from "../../src/core/elements.ts";
import type { OnnxModel } from "../../src/onnx/model.ts";
import { modelOf } from "../../src/onnx/read-model.ts";
import { readModel, type AttributeMessage, type ModelMessage } from "../../src/onnx/format/proto.ts";
import { constantOf } from "../../src/onnx/format/tensor-message.ts";
import { Constant, type Value } from "../../src/onnx/format/value.ts";
import type { Case, Recorded } from "./cases.ts";

/** Numbers from 0 to below 1, by a seed (mulberry32). */
export function generator(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (s + 0x6d2b79f5) >>> 0;
    let t = Math.imul(s ^ (s >>> 15), s | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const INTEGERS = [
  0n,
  1n,
  -1n,
  2n,
  -3n,
  7n,
  100n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n,
  -(2n ** 31n),
  2n ** 53n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];
const FLOATS = [0, -1, 1, 1e20, -1e20, 0.5, NaN, Infinity, -Infinity, 1e-30];
const pick = <T>(list: readonly T[], random: () => number): T => list[Math.floor(random() * list.length)]!;

function mutateAttribute(a: AttributeMessage, random: () => number): void {
  if (a.ints.length > 0) a.ints[Math.floor(random() * a.ints.length)] = pick(INTEGERS, random);
  else if (a.floats.length > 0) a.floats[Math.floor(random() * a.floats.length)] = pick(FLOATS, random);
  else if (a.type === 1) a.f = pick(FLOATS, random);
  else a.i = pick(INTEGERS, random);
  const choice = random();
  if (choice < 0.2) a.ints.push(pick(INTEGERS, random));
  else if (choice < 0.36) a.ints.pop();
}

function mutateValue(v: Value, random: () => number): Value {
  if (!(v instanceof Constant)) return v;
  if (v.size > 0 && v.size <= 64) {
    const list = Array.from(v.data as ArrayLike<number | bigint>);
    const at = Math.floor(random() * list.length);
    const isWhole = typeof list[0] === "bigint" || /int/.test(v.dtype);
    const value = isWhole ? pick(INTEGERS, random) : pick(FLOATS, random);
    const bits = BigInt(8 * Number(/\d+/.exec(v.dtype)?.[0] ?? 8) || 8);
    list[at] =
      typeof list[0] === "bigint"
        ? BigInt.asIntN(64, value as bigint)
        : isWhole
          ? Number(BigInt.asIntN(Number(bits) / 8, value as bigint))
          : value;
    if (v.dtype === "float16" || v.dtype === "bfloat16") return v;
    if (random() < 0.2) return new Constant(v.dtype, [...v.shape, 1], elements(v.dtype, list));
    return new Constant(v.dtype, v.shape, elements(v.dtype, list));
  }
  return v;
}

const isList = (v: Recorded): v is readonly Recorded[] => Array.isArray(v);
const valueOf = (v: Recorded): Value => (v === null ? null : isList(v) ? v.map(valueOf) : constantOf(v));

/** Changes one thing or two, and runs it. Gives the error, or null where it gave results. */
export function runMutated(c: Case, seed: number, device: dx.Device): unknown {
  const random = generator(seed);
  const message: ModelMessage = readModel(c.bytes);
  const nodes = message.graph!.nodes;
  const attributes = nodes.flatMap((n) => n.attributes.filter((a) => a.g === null && a.t === null && a.s.length === 0));
  let inputs: Value[];
  try {
    inputs = c.sets[0]!.inputs.map(valueOf);
  } catch (error) {
    return error;
  }
  for (let changes = random() < 0.7 ? 1 : 2; changes > 0; changes--) {
    if (attributes.length > 0 && random() < 0.5) mutateAttribute(pick(attributes, random), random);
    else {
      const at = Math.floor(random() * inputs.length);
      inputs = inputs.map((v, i) => (i === at ? mutateValue(v, random) : v));
    }
  }
  let model: OnnxModel | null = null;
  try {
    const made = (model = modelOf(message, { device, maxIterations: 2_000 }, null));
    dx.scope(() => {
      // As constants, sizes are known; as tensors they are read back.
      const values = inputs.map((v) => (v instanceof Constant && (v.dtype !== "int64" || random() < 0.5) ? v.on(device) : v));
      for (const result of made.run(values)) if (result instanceof dx.Tensor && result.size < 10_000) result.dataSync();
    });
    return null;
  } catch (error) {
    return error;
  } finally {
    model?.dispose();
  }
}
