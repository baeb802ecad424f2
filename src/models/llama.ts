/** Llama and the models made like it: Mistral, SmolLM2, Qwen2 (biases of q, k and v), Qwen3 (norms of q and k). Names of the state are transformers'. */
import type { Tensor } from "../core/tensor.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { gelu, relu, silu, swiglu } from "../ops/elementwise/activation.ts";
import { rotaryEmbedding } from "../ops/attention/multihead.ts";
import { reshape, transpose } from "../ops/shape/movement.ts";
import { Embedding } from "../nn/embedding.ts";
import { fillNormal } from "../nn/fill-weights.ts";
import { RMSNorm } from "../nn/instance-norm.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import type { LayerOptions } from "../nn/options.ts";
import { CausalModel, type CausalShape } from "./causal-model.ts";
import type { ConfigValues } from "./config-values.ts";
import type { DecoderPass } from "./decoder-pass.ts";
import { ropeFrequencies, type RopeFrequencies } from "./rope.ts";

/** The values of a config that a Llama is made of. */
interface LlamaSettings {
  readonly width: number;
  readonly inner: number;
  readonly heads: number;
  readonly keyHeads: number;
  readonly headWidth: number;
  readonly eps: number;
  readonly activation: Activation;
  readonly qkvBias: boolean;
  readonly outBias: boolean;
  readonly mlpBias: boolean;
  readonly normsHeads: boolean;
  readonly rope: RopeFrequencies;
}

type Activation = "silu" | "swish" | "gelu" | "gelu_pytorch_tanh" | "gelu_new" | "relu";
const ACTIVATIONS: readonly Activation[] = ["silu", "swish", "gelu", "gelu_pytorch_tanh", "gelu_new", "relu"];

/** gate's activation times x. */
function gated(activation: Activation, x: Tensor, gate: Tensor): Tensor {
  switch (activation) {
    case "silu":
    case "swish":
      return x.dtype === gate.dtype ? swiglu(x, gate) : mul(x, silu(gate));
    case "gelu":
      return mul(x, gelu(gate));
    case "gelu_pytorch_tanh":
    case "gelu_new":
      return mul(x, gelu(gate, "tanh"));
    case "relu":
      return mul(x, relu(gate));
    default:
      return activation satisfies never;
  }
}

class LlamaAttention extends Module {
  readonly index: number;
  readonly headWidth: number;
  readonly rope: RopeFrequencies;
  q_proj: Layer;
  k_proj: Layer;
  v_proj: Layer;
  o_proj: Layer;
  q_norm: RMSNorm | null = null;
  k_norm: RMSNorm | null = null;

  constructor(index: number, settings: LlamaSettings, options: LayerOptions) {
    super();
    const { width, heads, keyHeads, headWidth, rope, qkvBias, outBias, normsHeads, eps } = settings;
    this.index = index;
    this.headWidth = headWidth;
    this.rope = rope;
    this.q_proj = new Linear(width, heads * headWidth, { ...options, bias: qkvBias });
    this.k_proj = new Linear(width, keyHeads * headWidth, { ...options, bias: qkvBias });
    this.v_proj = new Linear(width, keyHeads * headWidth, { ...options, bias: qkvBias });
    this.o_proj = new Linear(heads * headWidth, width, { ...options, bias: outBias });
    if (!normsHeads) return;
    this.q_norm = new RMSNorm(headWidth, eps, options);
    this.k_norm = new RMSNorm(headWidth, eps, options);
  }

  forward(x: Tensor, pass: DecoderPass): Tensor {
    const { headWidth } = this;
    const heads = (t: Tensor, norm: RMSNorm | null): Tensor => {
      const apart = reshape(t, [t.shape[0]!, t.shape[1]!, t.shape[2]! / headWidth, headWidth]);
      return transpose(norm === null ? apart : norm(apart), 1, 2);
    };
    const { cosine, sine } = pass.rotations(this.rope, x.dtype);
    const q = rotaryEmbedding(heads(this.q_proj(x), this.q_norm), cosine, sine);
    const k = rotaryEmbedding(heads(this.k_proj(x), this.k_norm), cosine, sine);
    const y = pass.attend(this.index, q, k, heads(this.v_proj(x), null));
    return this.o_proj(reshape(transpose(y, 1, 2), [x.shape[0]!, x.shape[1]!, y.shape[1]! * headWidth]));
  }
}

class LlamaMlp extends Module {
  readonly activation: Activation;
  gate_proj: Layer;
  up_proj: Layer;
  down_proj: Layer;

  constructor(settings: LlamaSettings, options: LayerOptions) {
    super();
    const { width, inner, mlpBias, activation } = settings;
    this.activation = activation;
    this.gate_proj = new Linear(width, inner, { ...options, bias: mlpBias });
    this.up_proj = new Linear(width, inner, { ...options, bias: mlpBias });
    this.down_proj = new Linear(inner, width, { ...options, bias: mlpBias });
  }

  forward(x: Tensor): Tensor {
    return this.down_proj(gated(this.activation, this.up_proj(x), this.gate_proj(x)));
  }
}

class LlamaLayer extends Module {
  self_attn: LlamaAttention;
  mlp: LlamaMlp;
  input_layernorm: RMSNorm;
  post_attention_layernorm: RMSNorm;

  constructor(index: number, settings: LlamaSettings, options: LayerOptions) {
    super();
    this.self_attn = new LlamaAttention(index, settings, options);
    this.mlp = new LlamaMlp(settings, options);
    this.input_layernorm = new RMSNorm(settings.width, settings.eps, options);
    this.post_attention_layernorm = new RMSNorm(settings.width, settings.eps, options);
  }

  forward(x: Tensor, pass: DecoderPass): Tensor {
    const attended = add(x, this.self_attn(this.input_layernorm(x), pass));
    return add(attended, this.mlp(this.post_attention_layernorm(attended)));
  }
}

class LlamaDecoder extends Module {
  embed_tokens: Layer;
  layers: LlamaLayer[];
  norm: RMSNorm;

  constructor(vocabulary: number, layers: number, settings: LlamaSettings, options: LayerOptions) {
    super();
    this.embed_tokens = new Embedding(vocabulary, settings.width, options);
    this.layers = Array.from({ length: layers }, (_, i) => new LlamaLayer(i, settings, options));
    this.norm = new RMSNorm(settings.width, settings.eps, options);
  }

  forward(tokens: Tensor, pass: DecoderPass): Tensor {
    let x = this.embed_tokens(tokens);
    for (const layer of this.layers) x = layer(x, pass);
    return this.norm(x);
  }
}

/** A language model of the Llama family. Made by fromConfig() and fromPretrained(). Reference: transformers.LlamaForCausalLM, Qwen3ForCausalLM. */
export class Llama extends CausalModel {
  /** @internal */
  readonly causal: CausalShape;
  /** Whether the last layer's weights are those of the embedding. */
  readonly isTied: boolean;
  /** The layers, with transformers' names. */
  model: LlamaDecoder;
  /** From hidden states to logits. */
  lm_head: Layer;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const type = config.oneOf("model_type", ["llama", "mistral", "qwen2", "qwen3"], "llama");
    const [width, heads] = [config.count("hidden_size"), config.count("num_attention_heads")];
    const keyHeads = config.count("num_key_value_heads", type === "llama" || type === "mistral" ? heads : undefined);
    if (heads % keyHeads !== 0) throw config.error("num_key_value_heads", `a divisor of ${heads} heads`);
    const headWidth = config.count("head_dim", type === "qwen3" ? 128 : Math.floor(width / heads), 2);
    if (headWidth % 2 !== 0) throw config.error("head_dim", "even");
    const maxLength = config.count("max_position_embeddings", 2048);
    requireNoWindow(config, type, maxLength);
    const attentionBias = config.flag("attention_bias", type === "qwen2");
    const settings: LlamaSettings = {
      width,
      inner: config.count("intermediate_size"),
      heads,
      keyHeads,
      headWidth,
      eps: config.number("rms_norm_eps", 1e-6),
      activation: config.oneOf("hidden_act", ACTIVATIONS, "silu"),
      qkvBias: type === "qwen2" || attentionBias,
      outBias: type !== "qwen2" && attentionBias,
      mlpBias: config.flag("mlp_bias"),
      normsHeads: type === "qwen3",
      rope: ropeFrequencies(config, headWidth),
    };
    const [vocabulary, layers] = [config.count("vocab_size"), config.count("num_hidden_layers")];
    this.causal = { vocabulary, layers, keyHeads, headWidth, maxLength };
    this.isTied = config.flag("tie_word_embeddings");
    this.eosTokens = config.tokens("eos_token_id");
    this.model = new LlamaDecoder(vocabulary, layers, settings, options);
    const head = new Linear(width, vocabulary, { ...options, bias: false, ...(this.isTied ? { device: "meta" } : {}) });
    if (this.isTied) head.weight = (this.model.embed_tokens as Embedding).weight;
    this.lm_head = head;
    const spread = config.number("initializer_range", 0.02);
    for (const layer of this.modules())
      if (layer instanceof Linear || layer instanceof Embedding) {
        fillNormal(layer.weight, 0, spread, options);
        if (layer instanceof Linear && layer.bias !== null) fillNormal(layer.bias, 0, 0, options);
      }
    this.eval();
  }

  /** @internal */
  override hiddenStates(tokens: Tensor, pass: DecoderPass): Tensor {
    return this.model(tokens, pass);
  }

  /** @internal */
  override logitsOf(hidden: Tensor): Tensor {
    return this.lm_head(hidden);
  }
}

/** A window of attention that is shorter than the model's positions is not supported. */
function requireNoWindow(config: ConfigValues, type: string, maxLength: number): void {
  const isUsed = type === "mistral" || (type.startsWith("qwen") && config.flag("use_sliding_window"));
  if (isUsed && config.count("sliding_window", maxLength) < maxLength)
    throw config.error("sliding_window", `null, or at least ${maxLength}`);
}
