/** Whisper: speech to text. Names of the state are transformers'. */
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { scaledDotProductAttention } from "../ops/exports/autocast.generated.ts";
import { gelu } from "../ops/elementwise/activation.ts";
import { add } from "../ops/elementwise/binary.ts";
import { clampMax } from "../ops/elementwise/where.ts";
import { permute, reshape, transpose } from "../ops/shape/movement.ts";
import { arange } from "../ops/creation/ranges.ts";
import { Conv1d } from "../nn/conv.ts";
import { Dropout } from "../nn/dropout.ts";
import { Embedding } from "../nn/embedding.ts";
import { constant } from "../nn/init.ts";
import { fillNormal } from "../nn/fill-weights.ts";
import { OUTPUT_LAYER } from "../nn/inner.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import { LayerNorm } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { copyInto } from "../ops/data/copy.ts";
import { tensor } from "../ops/creation/creation.ts";
import { activated, ACTIVATIONS, type Activation } from "./named-activations.ts";
import { requireTokens, type CausalShape } from "./causal-model.ts";
import type { ConfigValues } from "./config-values.ts";
import { FullPass, type DecoderPass } from "./decoder-pass.ts";
import type { GeneratedText, GenerateOptions } from "./generation/options.ts";
import type { LogitsRule } from "./generation/prompts.ts";
import { HOP, logMel } from "./whisper-features.ts";
import type { WhisperText } from "./whisper-text.ts";

interface WhisperSettings {
  readonly width: number;
  readonly activation: Activation;
  readonly dropout: number;
  readonly attentionDropout: number;
}

/** Keys and values of the encoder's result for one layer of the decoder, [B, H, S, D]. */
export interface CrossKeys {
  readonly keys: Tensor;
  readonly values: Tensor;
}

class WhisperAttention extends Module {
  readonly heads: number;
  readonly dropoutP: number;
  k_proj: Layer;
  v_proj: Layer;
  q_proj: Layer;
  out_proj: Layer;

  constructor(heads: number, settings: WhisperSettings, options: LayerOptions) {
    super();
    const { width, attentionDropout } = settings;
    this.heads = heads;
    this.dropoutP = attentionDropout;
    this.k_proj = new Linear(width, width, { ...options, bias: false });
    this.v_proj = new Linear(width, width, options);
    this.q_proj = new Linear(width, width, options);
    this.out_proj = new Linear(width, width, options);
  }

  /** [B, L, E] as [B, H, L, D]. */
  apart(x: Tensor): Tensor {
    const [batch, length, width] = x.shape as [number, number, number];
    return transpose(reshape(x, [batch, length, this.heads, width / this.heads]), 1, 2);
  }

  keysOf(x: Tensor): CrossKeys {
    return { keys: this.apart(this.k_proj(x)), values: this.apart(this.v_proj(x)) };
  }

  /** x: [B, L, E]. attend: what the queries get of keys and values. */
  forward(x: Tensor, attend: (q: Tensor) => Tensor): Tensor {
    return this.out_proj(reshape(transpose(attend(this.apart(this.q_proj(x))), 1, 2), x.shape));
  }

  /** Attention to all keys. */
  toAll(q: Tensor, { keys, values }: CrossKeys): Tensor {
    return scaledDotProductAttention(q, keys, values, { dropoutP: this.training ? this.dropoutP : 0 });
  }
}

/** What layers of encoder and decoder have in common. */
abstract class WhisperLayer extends Module {
  readonly activation: Activation;
  readonly drops: Dropout;
  self_attn: WhisperAttention;
  self_attn_layer_norm: LayerNorm;
  fc1: Layer;
  fc2: Layer;
  final_layer_norm: LayerNorm;

  constructor(heads: number, inner: number, settings: WhisperSettings, options: LayerOptions) {
    super();
    const { width, activation, dropout } = settings;
    this.activation = activation;
    this.drops = new Dropout(dropout, { generator: options.generator });
    this.self_attn = new WhisperAttention(heads, settings, options);
    this.self_attn_layer_norm = new LayerNorm(width, options);
    this.fc1 = new Linear(width, inner, options);
    this.fc2 = new Linear(inner, width, options);
    this.final_layer_norm = new LayerNorm(width, options);
  }

  protected feedForward(x: Tensor): Tensor {
    return add(x, this.drops(this.fc2(activated(this.activation, this.fc1(this.final_layer_norm(x))))));
  }
}

class WhisperEncoderLayer extends WhisperLayer {
  forward(x: Tensor): Tensor {
    const { self_attn: attention } = this;
    const own = this.self_attn_layer_norm(x);
    return this.feedForward(add(x, this.drops(attention(own, (q) => attention.toAll(q, attention.keysOf(own))))));
  }
}

class WhisperDecoderLayer extends WhisperLayer {
  readonly index: number;
  encoder_attn: WhisperAttention;
  encoder_attn_layer_norm: LayerNorm;

  constructor(index: number, heads: number, inner: number, settings: WhisperSettings, options: LayerOptions) {
    super(heads, inner, settings, options);
    this.index = index;
    this.encoder_attn = new WhisperAttention(heads, settings, options);
    this.encoder_attn_layer_norm = new LayerNorm(settings.width, options);
  }

  forward(x: Tensor, pass: DecoderPass, cross: CrossKeys): Tensor {
    const { self_attn: own, encoder_attn: other } = this;
    const normed = this.self_attn_layer_norm(x);
    const { keys, values } = own.keysOf(normed);
    const attended = add(x, this.drops(own(normed, (q) => pass.attend(this.index, q, keys, values))));
    const heard = add(attended, this.drops(other(this.encoder_attn_layer_norm(attended), (q) => other.toAll(q, cross))));
    return this.feedForward(heard);
  }
}

class WhisperEncoder extends Module {
  readonly drops: Dropout;
  conv1: Conv1d;
  conv2: Conv1d;
  embed_positions: Embedding;
  layers: WhisperEncoderLayer[];
  layer_norm: LayerNorm;

  constructor(config: ConfigValues, settings: WhisperSettings, options: LayerOptions) {
    super();
    const { width, dropout } = settings;
    const heads = headsOf(config, "encoder_attention_heads", width);
    const inner = config.count("encoder_ffn_dim", 1536);
    this.drops = new Dropout(dropout, { generator: options.generator });
    this.conv1 = new Conv1d(config.count("num_mel_bins", 80), width, 3, { ...options, padding: 1 });
    this.conv2 = new Conv1d(width, width, 3, { ...options, stride: 2, padding: 1 });
    this.embed_positions = new Embedding(config.count("max_source_positions", 1500), width, options);
    const count = config.count("encoder_layers", 4);
    this.layers = Array.from({ length: count }, () => new WhisperEncoderLayer(heads, inner, settings, options));
    this.layer_norm = new LayerNorm(width, options);
  }

  forward(features: Tensor): Tensor {
    const heard = permute(gelu(this.conv2(gelu(this.conv1(features)))), [0, 2, 1]);
    let x = this.drops(add(heard, this.embed_positions.weight));
    for (const layer of this.layers) x = layer(x);
    return this.layer_norm(x);
  }
}

/** The decoder, from tokens and what the encoder gives to hidden states. */
export class WhisperDecoder extends Module {
  readonly drops: Dropout;
  embed_tokens: Embedding;
  embed_positions: Embedding;
  layers: WhisperDecoderLayer[];
  layer_norm: LayerNorm;

  /** @internal */
  constructor(config: ConfigValues, shape: CausalShape, settings: WhisperSettings, options: LayerOptions) {
    super();
    const { vocabulary, layers, maxLength, keyHeads } = shape;
    const { width, dropout } = settings;
    const padding = config.get("pad_token_id") === undefined ? null : config.count("pad_token_id", 0, 0);
    this.drops = new Dropout(dropout, { generator: options.generator });
    this.embed_tokens = new Embedding(vocabulary, width, {
      ...options,
      paddingIdx: padding !== null && padding < vocabulary ? padding : null,
    });
    this.embed_positions = new Embedding(maxLength, width, options);
    const inner = config.count("decoder_ffn_dim", 1536);
    this.layers = Array.from({ length: layers }, (_, i) => new WhisperDecoderLayer(i, keyHeads, inner, settings, options));
    this.layer_norm = new LayerNorm(width, options);
  }

  /** Keys and values for each layer, of the encoder's result. */
  crossKeys(heard: Tensor): CrossKeys[] {
    return this.layers.map((layer) => layer.encoder_attn.keysOf(heard));
  }

  forward(tokens: Tensor, pass: DecoderPass, cross: readonly CrossKeys[]): Tensor {
    // Padding may be behind the last position.
    const at = clampMax(pass.positions, this.embed_positions.rows - 1);
    let x = this.drops(add(this.embed_tokens(tokens), this.embed_positions(at)));
    for (const [i, layer] of this.layers.entries()) x = layer(x, pass, cross[i]!);
    return this.layer_norm(x);
  }
}

class WhisperParts extends Module {
  encoder: WhisperEncoder;
  decoder: WhisperDecoder;

  constructor(encoder: WhisperEncoder, decoder: WhisperDecoder) {
    super();
    this.encoder = encoder;
    this.decoder = decoder;
  }

  forward(features: Tensor, tokens: Tensor, pass: DecoderPass): Tensor {
    return this.decoder(tokens, pass, this.decoder.crossKeys(this.encoder(features)));
  }
}

function headsOf(config: ConfigValues, name: string, width: number): number {
  const heads = config.count(name, 6);
  if (width % heads !== 0) throw config.error(name, `a divisor of ${width}`);
  return heads;
}

/** Decoders that a model keeps while no call uses them. */
const KEPT = 2;

/** Options of Whisper.transcribe(). */
export interface TranscribeOptions extends Omit<GenerateOptions, "draft" | "draftTokens" | "attentionMask" | "reuse"> {
  /** Tokens that each text begins with: start, language, task, timestamps or not. Default: the model's start token. */
  readonly prompt?: readonly number[] | undefined;
  /** Whether the rules of timestamps are applied: they begin each text, come in pairs and do not decrease. Default: false. */
  readonly timestamps?: boolean | undefined;
}

/** Seconds between two timestamps. */
const TIMESTAMP_SECONDS = 0.02;

/** The speech model Whisper. Made by fromConfig() and fromPretrained(). Reference: transformers.WhisperForConditionalGeneration. */
export class Whisper extends Module {
  /** @internal */
  readonly causal: CausalShape;
  /** Positions of the encoder: half as many as features have frames. */
  readonly maxSource: number;
  /** Bands of the features. */
  readonly melBins: number;
  /** The token that texts begin with. */
  startToken: number;
  /** Tokens that end a text: what the model's files say. */
  eosTokens: readonly number[];
  /** Tokens that transcribe() never makes. */
  suppressTokens: readonly number[];
  /** Tokens that transcribe() does not begin a text with. */
  beginSuppressTokens: readonly number[];
  /** The token that says that a text has no timestamps; those behind it are timestamps. Null for a model that has none. */
  noTimestampsToken: number | null;
  /** The latest timestamp, counted from the first one, that a text may begin with; null for all. */
  maxInitialTimestamp: number | null;
  /** Encoder and decoder, with transformers' names. */
  model: WhisperParts;
  /** From hidden states to logits. */
  proj_out: Layer;
  /** Decoders that no call uses. */
  #texts: WhisperText[] = [];

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const width = config.count("d_model", 384);
    const settings: WhisperSettings = {
      width,
      activation: config.oneOf("activation_function", ACTIVATIONS, "gelu"),
      dropout: config.number("dropout", 0),
      attentionDropout: config.number("attention_dropout", 0),
    };
    if (config.flag("scale_embedding")) throw config.error("scale_embedding", "false");
    const heads = headsOf(config, "decoder_attention_heads", width);
    this.causal = {
      vocabulary: config.count("vocab_size", 51865),
      layers: config.count("decoder_layers", 4),
      keyHeads: heads,
      headWidth: width / heads,
      maxLength: config.count("max_target_positions", 448),
    };
    this.maxSource = config.count("max_source_positions", 1500);
    this.melBins = config.count("num_mel_bins", 80);
    this.startToken = config.count("decoder_start_token_id", 50257, 0);
    this.eosTokens = config.tokens("eos_token_id");
    this.suppressTokens = config.tokens("suppress_tokens");
    this.beginSuppressTokens = config.tokens("begin_suppress_tokens");
    const optional = (name: string): number | null => (config.get(name) === undefined ? null : config.count(name, 0, 0));
    this.noTimestampsToken = optional("no_timestamps_token_id");
    this.maxInitialTimestamp = optional("max_initial_timestamp_index");
    this.model = new WhisperParts(
      new WhisperEncoder(config, settings, options),
      new WhisperDecoder(config, this.causal, settings, options),
    );
    const head = new Linear(width, this.causal.vocabulary, { ...options, bias: false, device: "meta" });
    head.weight = this.model.decoder.embed_tokens.weight;
    this.proj_out = head;
    this.#start(config.number("init_std", 0.02), options);
    this.eval();
  }

  #start(spread: number, { generator }: LayerOptions): void {
    for (const layer of this.modules())
      if (layer instanceof Linear || layer instanceof Conv1d || layer instanceof Embedding) {
        fillNormal(layer.weight, 0, spread, { generator });
        if (!(layer instanceof Embedding) && layer.bias !== null) constant(layer.bias, 0);
      }
    const { weight, rows, width } = this.model.encoder.embed_positions;
    weight.leafRequiresGrad = false;
    if (!weight.device.hasElements) return;
    // Sines, then cosines, of falling frequencies.
    const half = width / 2;
    const angles = Float32Array.from({ length: rows * width }, (_, i) => {
      const [position, at] = [Math.floor(i / width), i % width];
      const angle = position * Math.exp((-Math.log(10000) / (half - 1)) * (at % half));
      return at < half ? Math.sin(angle) : Math.cos(angle);
    });
    noGrad(() => {
      copyInto("Whisper", weight, tensor(angles, { shape: weight.shape, device: weight.device }));
    });
  }

  /** @internal */
  get [OUTPUT_LAYER](): Module {
    return this.proj_out;
  }

  /**
   * What the model hears of sounds: logarithms of their energy in bands of the mel scale. samples: 16,000 a second, in [-1, 1]: a Float32Array or several, or a tensor
   * [T] or [B, T]. Shorter sounds end in silence, longer ones are cut (30 seconds for the published models). Result: [B, bands, frames] float32.
   * Throws ShapeError and ValueError for others. Reference: transformers.WhisperFeatureExtractor.
   */
  features(samples: Tensor | Float32Array | readonly Float32Array[]): Tensor {
    const { device } = this.model.encoder.conv1.weight;
    return logMel("Whisper.features", samples, this.melBins, 2 * this.maxSource, device);
  }

  /** Samples that features() takes of each sound. */
  get maxSamples(): number {
    return 2 * this.maxSource * HOP;
  }

  /** The encoder's result [B, S, E] for features [B, bands, 2 S]. Throws ShapeError for other shapes. Reference: transformers.WhisperModel.encoder. */
  encode(features: Tensor): Tensor {
    if (!isFloat(features.dtype)) throw new DTypeError("Whisper", "features", "of a floating dtype", features.describe());
    const [bins, frames] = [this.melBins, 2 * this.maxSource];
    if (features.rank !== 3 || features.shape[1] !== bins || features.shape[2] !== frames)
      throw new ShapeError("Whisper", "features", `[B, ${bins}, ${frames}]`, features.describe());
    return this.model.encoder(features);
  }

  /**
   * The logits of the next token behind each token. features: [B, bands, frames]; tokens: [B, L] int32 or int64. Result: [B, L, V]. Throws ShapeError for other
   * shapes, and for texts longer than the model's positions.
   */
  forward(features: Tensor, tokens: Tensor): Tensor {
    requireTokens("Whisper", tokens);
    const [batch, length] = tokens.shape as [number, number];
    if (length > this.causal.maxLength)
      throw new ShapeError("Whisper", "tokens", `of at most ${this.causal.maxLength} positions`, tokens.describe());
    const heard = this.encode(features);
    if (heard.shape[0] !== batch) throw new ShapeError("Whisper", "tokens", `[${heard.shape[0]}, L]`, tokens.describe());
    const positions = reshape(arange(length, { dtype: "int32", device: tokens.device }), [1, length]);
    const { decoder } = this.model;
    return this.proj_out(decoder(tokens, new FullPass(positions, length, null), decoder.crossKeys(heard)));
  }

  /**
   * Text of sounds. features: [B, bands, frames], as features() gives them. Result: a text for each sound; prompts are no part of it. Options are those of generate().
   * The caches and programs stay with the model for the next call: release() frees them. Throws as encode() and generate() do.
   */
  async transcribe(
    features: Tensor,
    { prompt = [this.startToken], timestamps = false, ...options }: TranscribeOptions = {},
  ): Promise<GeneratedText[]> {
    const rule = timestamps ? await this.#timestampRule() : null;
    const { WhisperText } = await import("./whisper-text.ts");
    const heard = noGrad(() => this.encode(features));
    const batch = heard.shape[0]!;
    for (const old of this.#texts) if (!old.isCurrent(this)) old.release();
    this.#texts = this.#texts.filter((each) => each.isCurrent(this));
    const text = this.#texts.find((each) => each.batch === batch) ?? new WhisperText(this, batch);
    // Another call at the same time makes one of its own.
    this.#texts = this.#texts.filter((each) => each !== text);
    try {
      return await text.transcribe(heard, prompt, options, rule);
    } finally {
      for (const old of this.#texts.splice(KEPT - 1)) old.release();
      this.#texts.unshift(text);
    }
  }

  async #timestampRule(): Promise<LogitsRule> {
    const [none, end] = [this.noTimestampsToken, this.eosTokens[0]];
    if (none === null || none + 1 >= this.causal.vocabulary || end === undefined)
      throw new ValueError("Whisper.transcribe", "timestamps", "false, for a model without noTimestampsToken and eosTokens", true);
    const { timestampRule } = await import("./whisper-timestamps.ts");
    return timestampRule({ first: none + 1, end, maxInitial: this.maxInitialTimestamp });
  }

  /** Seconds that a timestamp stands for, from the sound's beginning; null for another token. */
  secondsOf(token: number): number | null {
    const { noTimestampsToken: none } = this;
    return none === null || token <= none ? null : (token - none - 1) * TIMESTAMP_SECONDS;
  }

  /** Frees what transcribe() keeps. */
  release(): void {
    for (const text of this.#texts.splice(0)) text.release();
  }
}
