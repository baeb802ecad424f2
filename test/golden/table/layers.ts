/** Functions of layers: attention, resizing, folding, losses, bags. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";
import { Missing } from "../cases.ts";
import type { Entry, Result, Table } from "./entry.ts";

type PerAxis = number | readonly number[];
const generator = (): dx.Generator => new dx.Generator(1);
const drawn = (c: Call): void => {
  if (c.case.kind === "ok" && c.case.compare?.[0] !== "meta" && c.get("training") !== false && c.number("p", 0.5) > 0 && c.number("p", 0.5) < 1) throw new Missing("random results are not PyTorch's");
};

const attention: Entry = { run: (c) => dx.scaledDotProductAttention(c.x, c.named("k", "key"), c.named("v", "value"), { attnMask: c.optional("attn_mask"), isCausal: c.bool("is_causal"), scale: c.defined("scale"), dropoutP: c.number("dropout_p", 0), ...(c.bool("enable_gqa") ? { enableGqa: true } : {}) }) };

/** The private form of 1.13: the weights are a result. */
const privateAttention: Entry = { run: (c) => {
  if (c.number("dropout_p", 0) > 0 && c.case.compare?.[0] !== "meta") throw new Missing("random results are not PyTorch's");
  const [q, k, v] = [c.x, c.named("key"), c.named("value")];
  let mask = c.optional("attn_mask");
  if (c.bool("is_causal")) mask = dx.tril(dx.ones([q.shape.at(-2)!, k.shape.at(-2)!])).to("bool");
  const scale = 1 / Math.sqrt(q.shape.at(-1)!);
  let scores = dx.matmul(q.to("float32"), k.to("float32").transpose(-1, -2)).mul(scale);
  if (mask !== null) scores = mask.dtype === "bool" ? scores.maskedFill(dx.logicalNot(mask), -Infinity) : scores.add(mask);
  return [dx.scaledDotProductAttention(q, k, v, { attnMask: mask, scale }), dx.softmax(scores, -1).to(q.dtype)];
} };

const multiHead: Entry = { run: (c) => {
  const dropout = c.bool("training") ? c.number("dropout_p", 0) : 0;
  if (dropout > 0 && c.case.compare?.[0] !== "meta") throw new Missing("random results are not PyTorch's");
  const single = c.x.rank === 2;
  const batched = (t: dx.Tensor): dx.Tensor => (single ? dx.unsqueeze(t, 1) : t);
  const padding = c.optional("key_padding_mask");
  const { output, weights } = dx.multiHeadAttention(batched(c.x), batched(c.named("key")), batched(c.named("value")), c.number("num_heads", 1), {
    inWeight: c.optional("in_proj_weight"), inBias: c.optional("in_proj_bias"), outWeight: c.named("out_proj_weight"), outBias: c.optional("out_proj_bias"),
    ...(c.bool("use_separate_proj_weight") ? { separate: [c.named("q_proj_weight"), c.named("k_proj_weight"), c.named("v_proj_weight")] } : {}), keyBias: c.optional("bias_k"), valueBias: c.optional("bias_v"),
  }, {
    keyPaddingMask: single && padding !== null ? dx.unsqueeze(padding, 0) : padding, attnMask: c.optional("attn_mask"), addZeroAttn: c.bool("add_zero_attn"), dropoutP: dropout,
    weights: c.get("need_weights") === false ? "none" : c.get("average_attn_weights") === false ? "each" : "average",
  });
  const shown = (t: dx.Tensor, axis: number): dx.Tensor => (single ? dx.squeeze(t, axis) : t);
  // PyTorch's result is nothing where the weights are not wanted: no tensor of it is compared.
  return weights === null ? [shown(output, 1)] : [shown(output, 1), shown(weights, 0)];
} };

const resized = (mode?: dx.ResizeMode, align?: boolean): Entry => ({ run: (c) => dx.interpolate(c.x, {
  size: c.defined<PerAxis>("size"), scaleFactor: c.defined<PerAxis>("scale_factor"), mode: mode ?? (c.text("mode", "nearest") as dx.ResizeMode), alignCorners: align ?? c.defined<boolean>("align_corners"),
  recomputeScaleFactor: c.defined<boolean>("recompute_scale_factor"), antialias: c.bool("antialias"),
}) });

const loss = (c: Call): dx.LossOptions => ({ reduction: c.defined<dx.Reduction>("reduction") });
const margin = (c: Call): { margin?: number | undefined } => ({ margin: c.defined<number>("margin") });
const unpool = (f: typeof dx.maxUnpool2d): Entry => ({ run: (c) => f(c.x, c.named("indices"), c.get("kernel_size") as PerAxis, { stride: c.defined<PerAxis>("stride"), padding: c.defined<PerAxis>("padding"), outputSize: c.defined<readonly number[]>("output_size") }) });
const fractional = (f: typeof dx.fractionalMaxPool2dWithIndices): Entry => ({ run: (c) => {
  const { values, indices } = f(c.x, (c.get("kernel_size") ?? c.positional[1]) as PerAxis, { outputSize: c.defined<PerAxis>("output_size"), outputRatio: c.defined<PerAxis>("output_ratio"), randomSamples: c.optional("_random_samples"), generator: generator() });
  return c.bool("return_indices") ? [values, indices.to("int64")] : values;
} });
/** The modes are numbers there. */
const sampler: Entry = { run: (c) => dx.gridSample(c.x, c.named("grid"), {
  mode: (["bilinear", "nearest", "bicubic"] as const)[c.number("interpolation_mode", 0)], paddingMode: (["zeros", "border", "reflection"] as const)[c.number("padding_mode", 0)], alignCorners: c.bool("align_corners"),
}) };
const shape = (c: Call): readonly number[] => c.list("normalized_shape");

const embeddingOptions = (c: Call): dx.EmbeddingOptions => ({ paddingIdx: c.defined<number>("padding_idx"), maxNorm: c.defined<number>("max_norm"), normType: c.defined<number>("norm_type"), scaleGradByFreq: c.bool("scale_grad_by_freq") });
const fn = (name: string): string => `nn.functional.${name}`;
const random = (f: (x: dx.Tensor, o: dx.DropoutOptions) => dx.Tensor): Entry => ({ run: (c) => {
  drawn(c);
  return f(c.x, { p: c.number("p", 0.5), training: c.get("training") !== false, generator: generator() });
} });

/** native_batch_norm gives the batch's mean and 1 / deviation too. */
const nativeBatchNorm = (c: Call): Result => {
  const training = c.bool("training");
  const epsilon = c.number("eps", 1e-5);
  const y = dx.batchNorm(c.x, c.optional("running_mean"), c.optional("running_var"), c.optional("weight"), c.optional("bias"), { training, momentum: c.number("momentum", 0.1), eps: epsilon });
  if (!training) return [y, dx.zeros([0], { dtype: c.x.dtype }), dx.zeros([0], { dtype: c.x.dtype })];
  const axes = c.x.shape.flatMap((_, i) => (i === 1 ? [] : [i]));
  return [y, dx.mean(c.x, axes), dx.rsqrt(dx.add(dx.var(c.x, axes, { correction: 0 }), epsilon))];
};

/** lstm(input, hx, weights, hasBiases, layers, dropout, train, bidirectional, batchFirst): flat weights per layer and direction. */
const network = (kind: dx.RecurrentKind): Entry => ({ run: (c) => {
  const [, hx, flat, biases, , p, train, bidirectional, batchFirst] = c.positional as [dx.Tensor, dx.Tensor | dx.Tensor[], dx.Tensor[], boolean, number, number, boolean, boolean, boolean];
  const each = biases ? 4 : 2;
  const weights = Array.from({ length: flat.length / each }, (_, i): dx.RecurrentWeights => {
    const [input, hidden, inputBias, hiddenBias] = flat.slice(i * each, (i + 1) * each);
    return { input: input!, hidden: hidden!, inputBias, hiddenBias };
  });
  const [hidden, cell] = Array.isArray(hx) ? hx : [hx];
  const r = dx.recurrent(kind, c.x, weights, { hidden, cell, dropout: p, training: train, bidirectional, batchFirst });
  return r.cell === null ? [r.output, r.hidden] : [r.output, r.hidden, r.cell];
} });
const cell = (kind: dx.RecurrentKind): Entry => ({ run: (c) => {
  const [, hx, input, hidden, inputBias, hiddenBias] = c.positional as [dx.Tensor, dx.Tensor | dx.Tensor[], dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
  const [h, s] = Array.isArray(hx) ? hx : [hx];
  const r = dx.recurrentCell(kind, c.x, { input, hidden, inputBias, hiddenBias }, { hidden: h, cell: s });
  return r.cell === null ? r.hidden : [r.hidden, r.cell];
} });

export const layers: Table = {
  lstm: network("lstm"), gru: network("gru"), rnn_tanh: network("tanh"), rnn_relu: network("relu"),
  lstm_cell: cell("lstm"), gru_cell: cell("gru"), rnn_tanh_cell: cell("tanh"), rnn_relu_cell: cell("relu"),
  [fn("scaled_dot_product_attention")]: attention, [fn("_scaled_dot_product_attention")]: privateAttention, [fn("multi_head_attention_forward")]: multiHead,
  [fn("rms_norm")]: { run: (c) => dx.rmsNorm(c.x, shape(c), c.optional("weight"), { eps: c.defined<number>("eps") }) },
  [fn("instance_norm")]: { run: (c) => dx.instanceNorm(c.x, c.optional("weight"), c.optional("bias"), { runningMean: c.optional("running_mean"), runningVar: c.optional("running_var"), useInputStats: c.get("use_input_stats") !== false, momentum: c.number("momentum", 0.1), eps: c.number("eps", 1e-5) }) },
  native_batch_norm: { run: nativeBatchNorm },
  [fn("upsample_bilinear")]: resized("bilinear", true), [fn("upsample_nearest")]: resized("nearest"),
  [fn("affine_grid")]: { run: (c) => dx.affineGrid(c.x, c.list("size"), { alignCorners: c.bool("align_corners") }) },
  [fn("fractional_max_pool2d")]: fractional(dx.fractionalMaxPool2dWithIndices), [fn("fractional_max_pool3d")]: fractional(dx.fractionalMaxPool3dWithIndices),
  grid_sampler_2d: sampler, grid_sampler_3d: sampler,
  [fn("max_unpool2d")]: unpool(dx.maxUnpool2d),
  [fn("bilinear")]: { run: (c) => dx.bilinear(c.x, c.named("input2"), c.named("weight"), c.optional("bias")) },
  [fn("embedding")]: { run: (c) => dx.embedding(c.x, c.named("weight"), embeddingOptions(c)) },
  [fn("embedding_bag")]: { run: (c) => dx.embeddingBag(c.x, c.named("weight"), { ...embeddingOptions(c), offsets: c.optional("offsets"), mode: c.defined("mode"), perSampleWeights: c.optional("per_sample_weights"), includeLastOffset: c.bool("include_last_offset") }) },
  [fn("dropout2d")]: random(dx.dropoutChannels), [fn("alpha_dropout")]: random(dx.alphaDropout), [fn("feature_alpha_dropout")]: random(dx.featureAlphaDropout),
  [fn("rrelu")]: { run: (c) => {
    if (c.bool("training") && c.case.compare?.[0] !== "meta" && c.number("lower", 1 / 8) !== c.number("upper", 1 / 3)) throw new Missing("random results are not PyTorch's");
    return dx.rrelu(c.x, { lower: c.defined("lower"), upper: c.defined("upper"), training: c.bool("training"), generator: generator() });
  } },
  [fn("gumbel_softmax")]: { run: (c) => dx.gumbelSoftmax(c.x, { tau: c.defined("tau"), hard: c.bool("hard"), axis: c.defined("dim"), generator: generator() }) },
  [fn("triplet_margin_loss")]: { run: (c) => dx.tripletMarginLoss(c.x, c.named("positive"), c.named("negative"), { ...loss(c), ...margin(c), swap: c.bool("swap"), p: c.defined("p") }) },
  [fn("triplet_margin_with_distance_loss")]: { run: (c) => dx.tripletMarginLoss(c.x, c.named("positive"), c.named("negative"), { ...loss(c), ...margin(c), swap: c.bool("swap") }) },
};
