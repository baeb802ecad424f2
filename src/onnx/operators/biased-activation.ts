/** com.microsoft: activations, most of them with a bias that is added before. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** x with the bias of input i, if it has one. */
const biased = (c: Call, i: number): Tensor => (c.has(i) ? ops.add(c.x, c.tensor(i)) : c.x);

/** x sigmoid(alpha x). */
const quick = (x: Tensor, alpha: number): Tensor => ops.mul(x, ops.sigmoid(alpha === 1 ? x : ops.mul(x, alpha)));

/** The halves of the last axis: the first times GELU of the second. */
function splitGelu(c: Call): Tensor {
  const x = biased(c, 1);
  const width = x.shape.at(-1) ?? 1;
  if (width % 2 !== 0) throw c.invalid("X", "with a last axis of an even length", x.describe());
  const [value, gate] = ops.chunk(x, 2, -1) as [Tensor, Tensor];
  return ops.mul(value, ops.gelu(gate));
}

/** Softmax of data + bias over the axes from `axis` on. The bias repeats along the axes before the last ones, or along the first ones. */
function biasSoftmax(c: Call): Tensor {
  const [x, bias] = [c.x, c.tensor(1)];
  const axis = c.axis(c.int("axis", 1), x.rank);
  const lead = x.shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const width = x.shape.slice(axis).reduce((a, b) => a * b, 1);
  const rows = bias.size / width;
  if (!Number.isInteger(rows) || lead % rows !== 0) throw c.invalid("bias", `rows of ${width} that divide the data's`, bias.describe());
  const flat = ops.reshape(bias, [rows, width]);
  // Inner: each row serves some neighbours. Outer: all rows repeat.
  const isInner = c.flag("is_inner_broadcast");
  const laid = isInner ? ops.reshape(flat, [rows, 1, width]) : ops.reshape(flat, [1, rows, width]);
  const data = ops.reshape(x, isInner ? [rows, lead / rows, width] : [lead / rows, rows, width]);
  return ops.reshape(ops.softmax(ops.add(data, laid), -1), x.shape);
}

/** (data + bias) dropped out, and the residual added. */
function biasDropout(c: Call): Tensor[] {
  const x = biased(c, 1);
  if (c.number(4, 0) !== 0 && c.number(3, 0.5) !== 0) throw c.unsupported("training_mode");
  const y = c.has(2) ? ops.add(x, c.tensor(2)) : x;
  return c.wants(1) ? [y, ops.ones(x.shape, { dtype: "bool", device: x.device })] : [y];
}

/** gate sigmoid(alpha gate) (up + beta), both clamped to a limit; without `up` the gate's last axis has both, alternating. */
function gatedUnit(c: Call): Tensor {
  const whole = c.x;
  const [gate, up] = c.has(1) ? [whole, c.tensor(1)] : alternating(whole);
  if (c.flag("round_activation")) throw c.unsupported("attribute round_activation");
  return swiglu(gate, up, { alpha: c.float("activation_alpha", 1), beta: c.float("activation_beta", 0), limit: c.float("limit", 0) });
}

/** Even and odd elements of the last axis. */
export function alternating(x: Tensor): [Tensor, Tensor] {
  const pairs = ops.reshape(x, [...x.shape.slice(0, -1), x.shape.at(-1)! / 2, 2]);
  return [ops.select(pairs, -1, 0), ops.select(pairs, -1, 1)];
}

/** limit 0: none. */
export function swiglu(gate: Tensor, up: Tensor, { alpha, beta, limit }: { alpha: number; beta: number; limit: number }): Tensor {
  const g = limit > 0 ? ops.clampMax(gate, limit) : gate;
  const l = limit > 0 ? ops.clamp(up, -limit, limit) : up;
  return ops.mul(quick(g, alpha), beta === 0 ? l : ops.add(l, beta));
}

function scaledSilu(c: Call): Tensor {
  const z = c.has(1) ? ops.mul(c.x, ops.to(ops.reshape(c.tensor(1), []), c.x.dtype)) : ops.mul(c.x, c.float("alpha", 1));
  return ops.mul(z, ops.sigmoid(z));
}

export const biasedActivation = family({
  BiasAdd: (c) => ops.add(ops.add(c.x, c.tensor(1)), c.tensor(2)),
  BiasDropout: biasDropout,
  BiasGelu: (c) => ops.gelu(biased(c, 1)),
  BiasSoftmax: biasSoftmax,
  BiasSplitGelu: splitGelu,
  FastGelu: (c) => ops.gelu(biased(c, 1), { approximate: "tanh" }),
  Gelu: (c) => ops.gelu(c.x),
  QuickGelu: (c) => quick(c.x, c.float("alpha", 1.702)),
  ScaledSiLU: scaledSilu,
  SwiGLU: gatedUnit,
});
