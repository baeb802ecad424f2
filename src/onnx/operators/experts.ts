/** com.microsoft: mixtures of experts, of which each token takes some. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { alternating, swiglu } from "./biased-activation.ts";
import { bitsOf, dequantizedBlocks, unpacked } from "./block-quantized.ts";
import { family } from "./operator.ts";

/** Weights [E, N, K] of experts, all of them or those that an index [count] names. */
type Weights = (chosen: Tensor | null) => Tensor;

interface Layer {
  readonly weight: Weights;
  /** [E, N]. */
  readonly bias: Tensor | null;
}

/** The layers of the experts; gate is the third, if it is not part of the first. */
interface Experts {
  readonly count: number;
  readonly first: Layer;
  readonly second: Layer;
  readonly third: Layer | null;
}

const rowsOf = (t: Tensor, chosen: Tensor | null): Tensor => (chosen === null ? t : ops.indexSelect(t, 0, chosen));

/** x [B, T, K] through a layer: [B, T, N]. */
function through(x: Tensor, { weight, bias }: Layer, chosen: Tensor | null): Tensor {
  const y = ops.matmul(x, ops.transpose(weight(chosen), 1, 2));
  return bias === null ? y : ops.add(y, ops.unsqueeze(rowsOf(bias, chosen), 1));
}

/** The hidden layer after its activation. */
function hidden(c: Call, x: Tensor, { first, third }: Experts, chosen: Tensor | null): Tensor {
  const y = through(x, first, chosen);
  const times = (active: Tensor): Tensor => (third === null ? active : ops.mul(active, through(x, third, chosen)));
  const kind = c.text("activation_type", "relu");
  switch (kind) {
    case "relu":
      return times(ops.relu(y));
    case "gelu":
      return times(ops.gelu(y, { approximate: "tanh" }));
    case "silu":
      return times(ops.silu(y));
    case "identity":
      return times(y);
    case "swiglu":
      return gated(c, x, y, third, chosen);
    default:
      throw c.unsupported(`attribute activation_type ${kind}`);
  }
}

function gated(c: Call, x: Tensor, y: Tensor, third: Layer | null, chosen: Tensor | null): Tensor {
  const fusion = c.int("swiglu_fusion", 0);
  if (c.int("swiglu_limit_after_activation", 0) !== 0) throw c.unsupported("attribute swiglu_limit_after_activation");
  const options = { alpha: c.float("activation_alpha", 1), beta: c.float("activation_beta", 0), limit: c.float("swiglu_limit", 0) };
  if (fusion === 0) {
    if (third === null) throw c.invalid("fc3_experts_weights", "given where attribute swiglu_fusion is 0", "nothing");
    return swiglu(y, through(x, third, chosen), options);
  }
  if (fusion !== 1 && fusion !== 2) throw c.unsupported(`attribute swiglu_fusion ${fusion}`);
  const [gate, up] = fusion === 1 ? alternating(y) : (ops.chunk(y, 2, -1) as [Tensor, Tensor]);
  return swiglu(gate, up, options);
}

/** The numbers of each token's experts [T, k], and their shares [T, k]. */
function route(c: Call, router: Tensor, own: Tensor | null, k: number): [Tensor, Tensor] {
  if (c.flag("use_sparse_mixer")) throw c.unsupported("attribute use_sparse_mixer");
  const logits = ops.to(router, "float32");
  const { values, indices } = ops.topk(logits, k, 1, { dtype: "int32" });
  const isNormalized = c.flag("normalize_routing_weights");
  if (own !== null) {
    const taken = ops.gather(ops.to(own, "float32"), 1, indices);
    return [indices, isNormalized ? ops.div(taken, ops.sum(taken, 1, { keepDims: true })) : taken];
  }
  return [indices, isNormalized ? ops.softmax(values, 1) : ops.gather(ops.softmax(logits, 1), 1, indices)];
}

function mixed(c: Call, experts: Experts, weights: Tensor | null): Tensor {
  const input = c.ranked(0, "[tokens, hidden] or [N, L, hidden]", 2, 3);
  for (const i of [1, 2]) c.ranked(i, i === 1 ? "[tokens, experts]" : "[experts, inter, hidden]", i + 1);
  const width = input.shape.at(-1)!;
  const x = ops.reshape(input, [-1, width]);
  const tokens = x.shape[0]!;
  const k = c.size(c.int("k", 1), "attribute k", 1);
  const [indices, shares] = route(c, c.tensor(1), weights, k);
  let parts: Tensor;
  if (tokens * k < experts.count) {
    // Few tokens read only the weights of their experts.
    const chosen = ops.reshape(indices, [-1]);
    const rows = ops.reshape(ops.repeatInterleave(x, k, 0), [tokens * k, 1, width]);
    const y = through(hidden(c, rows, experts, chosen), experts.second, chosen);
    parts = ops.mul(ops.reshape(y, [tokens, k, -1]), ops.to(ops.unsqueeze(shares, 2), y.dtype));
    return ops.reshape(ops.sum(parts, 1), input.shape);
  }
  const all = ops.expand(ops.unsqueeze(x, 0), [experts.count, tokens, width]);
  const y = through(hidden(c, ops.contiguous(all), experts, null), experts.second, null);
  const share = ops.scatterAdd(ops.zeros([tokens, experts.count], { device: x.device }), 1, indices, shares);
  parts = ops.mul(y, ops.to(ops.unsqueeze(ops.t(share), 2), y.dtype));
  return ops.reshape(ops.sum(parts, 0), input.shape);
}

function mixture(c: Call): Tensor {
  const layer = (i: number): Layer => ({ weight: (chosen) => rowsOf(c.tensor(i), chosen), bias: c.optional(i + 1) });
  return mixed(c, { count: c.numeric(2).shape[0]!, first: layer(2), second: layer(4), third: c.has(6) ? layer(6) : null }, null);
}

function quantizedMixture(c: Call): Tensor {
  const kind = c.text("quant_type", "int");
  if (kind !== "int") throw c.unsupported(`attribute quant_type ${kind}`);
  if (c.int("weights_prepacked", -1) === 1) throw c.unsupported("attribute weights_prepacked 1");
  for (const i of [15, 16, 17, 18, 19, 20]) if (c.has(i)) throw c.unsupported(`input ${i} of global or activation scales`);
  const usual = c.int("expert_weight_bits", 4);
  const block = c.int("block_size", 0);
  const layer = (i: number, n: 1 | 2 | 3): Layer => {
    const name = `fc${n}_expert_weight_bits`;
    const bits = bitsOf(c, c.hasAttribute(name) ? c.int(name, usual) : usual, c.hasAttribute(name) ? name : "expert_weight_bits");
    const packed = c.tensor(i);
    const width = (packed.shape[2]! * 8) / bits;
    const [scales, zeros] = [c.tensor(i + 1), c.optional(10 + n)];
    const real = (chosen: Tensor | null): Tensor => {
      const size = block > 0 ? block : width;
      // Without blocks the zero points of all rows of an expert are packed together.
      const own = zeros === null ? null : block > 0 ? zeros : ops.unsqueeze(rowZeros(zeros, bits, packed.shape[1]!, scales.dtype), 2);
      return dequantizedBlocks(rowsOf(packed, chosen), rowsOf(scales, chosen), own === null ? null : rowsOf(own, chosen), {
        bits,
        size,
        width,
      });
    };
    return { weight: (chosen) => ops.to(real(chosen), c.x.dtype), bias: c.optional(i + 2) };
  };
  const experts = { count: c.numeric(2).shape[0]!, first: layer(2, 1), second: layer(5, 2), third: c.has(8) ? layer(8, 3) : null };
  return mixed(c, experts, c.optional(14));
}

/** [E, rows] of packed [E, bytes]. */
function rowZeros(zeros: Tensor, bits: number, rows: number, dtype: Tensor["dtype"]): Tensor {
  return ops.to(ops.narrow(unpacked(zeros, bits), 1, 0, rows), dtype);
}

export const experts = family({ MoE: mixture, QMoE: quantizedMixture });
