/** com.microsoft: products and convolutions fused with transposes and activations, and those of other layouts. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { convolution, convolve } from "./convolution.ts";
import { linear } from "./linear.ts";
import { family, type Run } from "./operator.ts";
import { pooling } from "./pooling.ts";
import { resampling } from "./resampling.ts";

/** An activation by its name, with up to three parameters. */
function activated(c: Call, y: Tensor, name: string, [alpha, beta]: readonly (number | undefined)[]): Tensor {
  switch (name) {
    case "":
      return y;
    case "Relu":
      return ops.relu(y);
    case "Tanh":
      return ops.tanh(y);
    case "Sigmoid":
      return ops.sigmoid(y);
    case "LeakyRelu":
      return ops.leakyRelu(y, { negativeSlope: alpha ?? 0.01 });
    case "Clip":
      return ops.clamp(y, alpha ?? -3.4028234663852886e38, beta ?? 3.4028234663852886e38);
    case "HardSigmoid":
      return ops.clamp(ops.add(ops.mul(y, alpha ?? 0.2), beta ?? 0.5), 0, 1);
    case "Elu":
      return ops.elu(y, { alpha: alpha ?? 1 });
    case "Softplus":
      return ops.softplus(y);
    case "Softsign":
      return ops.softsign(y);
    case "ThresholdedRelu":
      return ops.where(ops.gt(y, alpha ?? 1), y, ops.zerosLike(y));
    case "HardSwish":
      return ops.hardSwish(y);
    case "Gelu":
      return ops.gelu(y);
    default:
      throw c.unsupported(`attribute activation ${name}`);
  }
}

/** The first of the batch's axes goes behind the others: [M, B…, K] instead of [B…, M, K]. */
function batchFirst(t: Tensor): Tensor {
  return t.rank < 3 ? t : ops.movedim(t, 0, -2);
}

const swapped = (t: Tensor): Tensor => (t.rank < 2 ? t : ops.transpose(t, -1, -2));

function fusedMatMul(c: Call): Tensor {
  const operand = (i: number, side: "A" | "B"): Tensor => {
    const t = c.flag(`transBatch${side}`) ? batchFirst(c.tensor(i)) : c.tensor(i);
    return c.flag(`trans${side}`) ? swapped(t) : t;
  };
  const product = ops.matmul(operand(0, "A"), operand(1, "B"));
  const alpha = c.float("alpha", 1);
  return alpha === 1 ? product : ops.mul(product, alpha);
}

const parameters = (c: Call): (number | undefined)[] =>
  ["activation_alpha", "activation_beta", "activation_gamma"].map((name) => (c.hasAttribute(name) ? c.float(name, 0) : undefined));

function fusedMatMulActivation(c: Call): Tensor {
  const y = fusedMatMul(c);
  const name = c.text("activation", "");
  if (name === "Softmax") return ops.softmax(y, c.int("activation_axis", -1));
  return activated(c, y, name, parameters(c));
}

const first = (results: readonly unknown[]): Tensor => results[0] as Tensor;

const fusedGemm = (c: Call): Tensor => activated(c, first(linear["Gemm"]!.run(c)), c.text("activation", ""), parameters(c));

/** A convolution, a tensor that is added, an activation. */
function fusedConv(c: Call, x: Tensor, added: Tensor | null): Tensor {
  const y = convolve(c, x, c.tensor(1), c.optional(2));
  return activated(c, added === null ? y : ops.add(y, added), c.text("activation", ""), c.floats("activation_params") ?? []);
}

/** Channels first while it runs. */
export const toFirst = (x: Tensor): Tensor => ops.movedim(x, -1, 1);
export const toLast = (x: Tensor): Tensor => ops.movedim(x, 1, -1);

const channelsLast =
  (run: Run): Run =>
  (c) => {
    const results = run(c.with([toFirst(c.x), ...c.inputs.slice(1)], 22));
    return toLast(first(Array.isArray(results) ? results : [results]));
  };

/** As ai.onnx's operator of a version. */
const asOf =
  (table: Readonly<Record<string, { readonly run: Run }>>, name: string, opset = 22): Run =>
  (c) =>
    table[name]!.run(c.with(c.inputs, opset));

/** Padding comes as an input. */
function dynamicTransposed(c: Call): Tensor {
  const pads = c.has(2) ? c.numbers(2) : null;
  const whole = first(convolution["ConvTranspose"]!.run(c.with([c.x, c.tensor(1), c.optional(3)])));
  if (pads === null) return whole;
  const spatial = whole.rank - 2;
  let y = whole;
  for (let i = 0; i < spatial; i++) y = ops.narrow(y, i + 2, pads[i]!, y.shape[i + 2]! - pads[i]! - pads[spatial + i]!);
  return y;
}

const gemmFastGelu = (c: Call): Tensor => {
  const product = ops.matmul(c.x, c.tensor(1));
  return ops.gelu(c.has(2) ? ops.add(product, c.tensor(2)) : product, { approximate: "tanh" });
};

export const fused = family({
  ConvTransposeWithDynamicPads: dynamicTransposed,
  FusedConv: (c) => fusedConv(c, c.x, c.optional(3)),
  FusedGemm: fusedGemm,
  FusedMatMul: fusedMatMul,
  FusedMatMulActivation: fusedMatMulActivation,
  GemmFastGelu: gemmFastGelu,
  GridSample: asOf(resampling, "GridSample", 16),
  NhwcConv: (c) => toLast(fusedConv(c, toFirst(c.x), null)),
  NhwcFusedConv: (c) => toLast(fusedConv(c, toFirst(c.x), c.has(3) ? toFirst(c.tensor(3)) : null)),
  NhwcMaxPool: channelsLast(pooling["MaxPool"]!.run),
  TransposeMatMul: fusedMatMul,
});
