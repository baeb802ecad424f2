/** GPT-2. Names of the state are transformers'. */
import type { Tensor } from "../core/tensor.ts";
import { linear } from "../ops/exports/autocast.generated.ts";
import { add } from "../ops/elementwise/binary.ts";
import { clampMax } from "../ops/elementwise/where.ts";
import { chunk } from "../ops/shape/join.ts";
import { reshape, t, transpose } from "../ops/shape/movement.ts";
import { Embedding } from "../nn/embedding.ts";
import { constant } from "../nn/init.ts";
import { fillNormal } from "../nn/fill-weights.ts";
import { ADAPTS } from "../nn/inner.ts";
import { Linear } from "../nn/linear.ts";
import type { LinearSite } from "../nn/lora-kinds.ts";
import { Module, type Layer } from "../nn/module.ts";
import { LayerNorm } from "../nn/norm.ts";
import { parameter, type LayerOptions } from "../nn/options.ts";
import type { Parameter } from "../nn/parameter.ts";
import { activated, ACTIVATIONS, type Activation } from "./named-activations.ts";
import { CausalModel, type CausalShape } from "./causal-model.ts";
import type { ConfigValues } from "./config-values.ts";
import type { DecoderPass } from "./decoder-pass.ts";

interface Gpt2Settings {
  readonly width: number;
  readonly heads: number;
  readonly inner: number;
  readonly eps: number;
  readonly spread: number;
  readonly activation: Activation;
}

/** x W + bias, with the weight as GPT-2's files have it: [inputs, outputs]. Reference: transformers.pytorch_utils.Conv1D. */
class Gpt2Linear extends Module {
  weight: Parameter;
  bias: Parameter;

  constructor(inputs: number, outputs: number, spread: number, options: LayerOptions) {
    super();
    this.weight = parameter([inputs, outputs], options, (p) => void fillNormal(p, 0, spread, options));
    this.bias = parameter([outputs], options, (p) => void constant(p, 0));
  }

  /** @internal */
  get [ADAPTS](): LinearSite {
    const { shape, device, dtype } = this.weight;
    return { inputs: shape[0]!, outputs: shape[1]!, device, dtype, isTransposed: true };
  }

  forward(x: Tensor): Tensor {
    return linear(x, t(this.weight), this.bias);
  }
}

class Gpt2Attention extends Module {
  readonly index: number;
  readonly heads: number;
  c_attn: Layer;
  c_proj: Layer;

  constructor(index: number, settings: Gpt2Settings, options: LayerOptions) {
    super();
    const { width, heads, spread } = settings;
    this.index = index;
    this.heads = heads;
    this.c_attn = new Gpt2Linear(width, 3 * width, spread, options);
    this.c_proj = new Gpt2Linear(width, width, spread, options);
  }

  forward(x: Tensor, pass: DecoderPass): Tensor {
    const [batch, length, width] = x.shape as [number, number, number];
    const apart = (y: Tensor): Tensor => transpose(reshape(y, [batch, length, this.heads, width / this.heads]), 1, 2);
    const [q, k, v] = chunk(this.c_attn(x), 3, -1).map(apart) as [Tensor, Tensor, Tensor];
    return this.c_proj(reshape(transpose(pass.attend(this.index, q, k, v), 1, 2), x.shape));
  }
}

class Gpt2Mlp extends Module {
  readonly activation: Activation;
  c_fc: Layer;
  c_proj: Layer;

  constructor(settings: Gpt2Settings, options: LayerOptions) {
    super();
    const { width, inner, spread, activation } = settings;
    this.activation = activation;
    this.c_fc = new Gpt2Linear(width, inner, spread, options);
    this.c_proj = new Gpt2Linear(inner, width, spread, options);
  }

  forward(x: Tensor): Tensor {
    return this.c_proj(activated(this.activation, this.c_fc(x)));
  }
}

class Gpt2Layer extends Module {
  ln_1: LayerNorm;
  attn: Gpt2Attention;
  ln_2: LayerNorm;
  mlp: Gpt2Mlp;

  constructor(index: number, settings: Gpt2Settings, options: LayerOptions) {
    super();
    this.ln_1 = new LayerNorm(settings.width, settings.eps, options);
    this.attn = new Gpt2Attention(index, settings, options);
    this.ln_2 = new LayerNorm(settings.width, settings.eps, options);
    this.mlp = new Gpt2Mlp(settings, options);
  }

  forward(x: Tensor, pass: DecoderPass): Tensor {
    const attended = add(x, this.attn(this.ln_1(x), pass));
    return add(attended, this.mlp(this.ln_2(attended)));
  }
}

class Gpt2Decoder extends Module {
  wte: Embedding;
  wpe: Embedding;
  h: Gpt2Layer[];
  ln_f: LayerNorm;

  constructor(shape: CausalShape, settings: Gpt2Settings, options: LayerOptions) {
    super();
    this.wte = new Embedding(shape.vocabulary, settings.width, options);
    this.wpe = new Embedding(shape.maxLength, settings.width, options);
    this.h = Array.from({ length: shape.layers }, (_, i) => new Gpt2Layer(i, settings, options));
    this.ln_f = new LayerNorm(settings.width, settings.eps, options);
    for (const table of [this.wte, this.wpe]) fillNormal(table.weight, 0, settings.spread, options);
  }

  forward(tokens: Tensor, pass: DecoderPass): Tensor {
    // Padding may be behind the last position.
    let x = add(this.wte(tokens), this.wpe(clampMax(pass.positions, this.wpe.rows - 1)));
    for (const layer of this.h) x = layer(x, pass);
    return this.ln_f(x);
  }
}

/** The language model GPT-2. Made by fromConfig() and fromPretrained(). Reference: transformers.GPT2LMHeadModel. */
export class Gpt2 extends CausalModel {
  /** @internal */
  readonly causal: CausalShape;
  /** Whether the last layer's weights are those of the embedding. */
  readonly isTied: boolean;
  /** The layers, with transformers' names. */
  transformer: Gpt2Decoder;
  /** From hidden states to logits. */
  lm_head: Layer;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const [width, heads] = [config.count("n_embd", 768), config.count("n_head", 12)];
    if (width % heads !== 0) throw config.error("n_head", `a divisor of ${width}`);
    for (const name of ["scale_attn_by_inverse_layer_idx", "add_cross_attention"]) if (config.flag(name)) throw config.error(name, "false");
    if (!config.flag("scale_attn_weights", true)) throw config.error("scale_attn_weights", "true");
    const settings: Gpt2Settings = {
      width,
      heads,
      inner: config.count("n_inner", 4 * width),
      eps: config.number("layer_norm_epsilon", 1e-5),
      spread: config.number("initializer_range", 0.02),
      activation: config.oneOf("activation_function", ACTIVATIONS, "gelu_new"),
    };
    this.causal = {
      vocabulary: config.count("vocab_size", 50257),
      layers: config.count("n_layer", 12),
      keyHeads: heads,
      headWidth: width / heads,
      maxLength: config.count("n_positions", 1024),
    };
    this.isTied = config.flag("tie_word_embeddings", true);
    this.eosTokens = config.tokens("eos_token_id");
    this.transformer = new Gpt2Decoder(this.causal, settings, options);
    const head = new Linear(width, this.causal.vocabulary, { ...options, bias: false, ...(this.isTied ? { device: "meta" } : {}) });
    if (this.isTied) head.weight = this.transformer.wte.weight;
    else fillNormal(head.weight, 0, settings.spread, options);
    this.lm_head = head;
    this.eval();
  }

  /** @internal */
  override hiddenStates(tokens: Tensor, pass: DecoderPass): Tensor {
    return this.transformer(tokens, pass);
  }

  /** @internal */
  override logitsOf(hidden: Tensor): Tensor {
    return this.lm_head(hidden);
  }
}
