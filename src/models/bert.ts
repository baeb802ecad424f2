/** BERT and models made like it, such as MiniLM. Names of the state are transformers'. */
import { IndexError, ShapeError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { scaledDotProductAttention } from "../ops/exports/autocast.generated.ts";
import { arange } from "../ops/creation/ranges.ts";
import { toDType } from "../ops/data/conversion.ts";
import { sqrt, tanh } from "../ops/elementwise/unary.ts";
import { add, div, mul } from "../ops/elementwise/binary.ts";
import { clampMin } from "../ops/elementwise/where.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { reshape, select, transpose, unsqueeze } from "../ops/shape/movement.ts";
import { Dropout } from "../nn/dropout.ts";
import { Embedding } from "../nn/embedding.ts";
import { constant } from "../nn/init.ts";
import { fillNormal } from "../nn/fill-weights.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import { LayerNorm } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";
import { activated, ACTIVATIONS, type Activation } from "./named-activations.ts";
import { requireTokens } from "./causal-model.ts";
import type { ConfigValues } from "./config-values.ts";
import { additiveMask } from "./decoder-pass.ts";

interface BertSettings {
  readonly width: number;
  readonly heads: number;
  readonly inner: number;
  readonly eps: number;
  readonly activation: Activation;
  readonly dropout: number;
  readonly attentionDropout: number;
}

class BertEmbeddings extends Module {
  word_embeddings: Layer;
  position_embeddings: Embedding;
  token_type_embeddings: Embedding;
  LayerNorm: LayerNorm;
  dropout: Dropout;

  constructor(config: ConfigValues, settings: BertSettings, options: LayerOptions) {
    super();
    const { width, eps, dropout } = settings;
    const vocabulary = config.count("vocab_size", 30522);
    const padding = config.count("pad_token_id", 0, 0);
    if (padding >= vocabulary) throw config.error("pad_token_id", `below ${vocabulary}`);
    this.word_embeddings = new Embedding(vocabulary, width, { ...options, paddingIdx: padding });
    this.position_embeddings = new Embedding(config.count("max_position_embeddings", 512), width, options);
    this.token_type_embeddings = new Embedding(config.count("type_vocab_size", 2), width, options);
    this.LayerNorm = new LayerNorm(width, eps, options);
    this.dropout = new Dropout(dropout, { generator: options.generator });
  }

  forward(tokens: Tensor, types: Tensor | undefined, positions: Tensor | undefined): Tensor {
    const at = positions ?? arange(tokens.shape[1]!, { dtype: "int32", device: tokens.device });
    const kinds = types === undefined ? select(this.token_type_embeddings.weight, 0, 0) : this.token_type_embeddings(types);
    return this.dropout(this.LayerNorm(add(add(this.word_embeddings(tokens), kinds), this.position_embeddings(at))));
  }
}

class BertSelfAttention extends Module {
  readonly heads: number;
  readonly dropoutP: number;
  query: Layer;
  key: Layer;
  value: Layer;

  constructor(settings: BertSettings, options: LayerOptions) {
    super();
    const { width, heads, attentionDropout } = settings;
    this.heads = heads;
    this.dropoutP = attentionDropout;
    this.query = new Linear(width, width, options);
    this.key = new Linear(width, width, options);
    this.value = new Linear(width, width, options);
  }

  forward(x: Tensor, mask: Tensor | null): Tensor {
    const [batch, length, width] = x.shape as [number, number, number];
    const apart = (t: Tensor): Tensor => transpose(reshape(t, [batch, length, this.heads, width / this.heads]), 1, 2);
    const y = scaledDotProductAttention(apart(this.query(x)), apart(this.key(x)), apart(this.value(x)), {
      ...(mask === null ? {} : { attnMask: mask }),
      dropoutP: this.training ? this.dropoutP : 0,
    });
    return reshape(transpose(y, 1, 2), x.shape);
  }
}

/** A linear layer whose result is added to what came before, and normed. */
class BertOutput extends Module {
  dense: Layer;
  LayerNorm: LayerNorm;
  dropout: Dropout;

  constructor(inputs: number, settings: BertSettings, options: LayerOptions) {
    super();
    const { width, eps, dropout } = settings;
    this.dense = new Linear(inputs, width, options);
    this.LayerNorm = new LayerNorm(width, eps, options);
    this.dropout = new Dropout(dropout, { generator: options.generator });
  }

  forward(x: Tensor, before: Tensor): Tensor {
    return this.LayerNorm(add(this.dropout(this.dense(x)), before));
  }
}

class BertAttention extends Module {
  self: BertSelfAttention;
  output: BertOutput;

  constructor(settings: BertSettings, options: LayerOptions) {
    super();
    this.self = new BertSelfAttention(settings, options);
    this.output = new BertOutput(settings.width, settings, options);
  }

  forward(x: Tensor, mask: Tensor | null): Tensor {
    return this.output(this.self(x, mask), x);
  }
}

/** A linear layer and an activation. */
class BertDense extends Module {
  readonly activation: Activation | "tanh";
  dense: Layer;

  constructor(inputs: number, outputs: number, activation: Activation | "tanh", options: LayerOptions) {
    super();
    this.activation = activation;
    this.dense = new Linear(inputs, outputs, options);
  }

  forward(x: Tensor): Tensor {
    const y = this.dense(x);
    return this.activation === "tanh" ? tanh(y) : activated(this.activation, y);
  }
}

class BertLayer extends Module {
  attention: BertAttention;
  intermediate: BertDense;
  output: BertOutput;

  constructor(settings: BertSettings, options: LayerOptions) {
    super();
    this.attention = new BertAttention(settings, options);
    this.intermediate = new BertDense(settings.width, settings.inner, settings.activation, options);
    this.output = new BertOutput(settings.inner, settings, options);
  }

  forward(x: Tensor, mask: Tensor | null): Tensor {
    const attended = this.attention(x, mask);
    return this.output(this.intermediate(attended), attended);
  }
}

class BertEncoder extends Module {
  layer: BertLayer[];

  constructor(layers: number, settings: BertSettings, options: LayerOptions) {
    super();
    this.layer = Array.from({ length: layers }, () => new BertLayer(settings, options));
  }

  forward(x: Tensor, mask: Tensor | null): Tensor {
    let y = x;
    for (const layer of this.layer) y = layer(y, mask);
    return y;
  }
}

/** What Bert's forward() takes besides tokens. */
export interface BertCall {
  /** [B, L], 0 for padding, to which nothing attends. Default: all count. */
  readonly attentionMask?: Tensor | undefined;
  /** [B, L] int32: 0 and 1 for the tokens of a pair's texts. Default: zeros. */
  readonly tokenTypes?: Tensor | undefined;
  /** [B, L] int32: the position of each token. Default: 0 to L - 1. */
  readonly positions?: Tensor | undefined;
}

/** Options of Bert.embed(). */
export interface SentenceOptions extends BertCall {
  /** Whether embeddings have length 1, so that their product is the cosine similarity. Default: true. */
  readonly normalize?: boolean | undefined;
}

/** The encoder BERT. Made by fromConfig() and fromPretrained(). Reference: transformers.BertModel. */
export class Bert extends Module {
  /** Positions that the model knows. */
  readonly maxLength: number;
  /** Tokens, their positions and their kinds. */
  embeddings: BertEmbeddings;
  /** The layers. */
  encoder: BertEncoder;
  /** From the first token's hidden state to a vector for the whole text. */
  pooler: BertDense;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const [width, heads] = [config.count("hidden_size", 768), config.count("num_attention_heads", 12)];
    if (width % heads !== 0) throw config.error("num_attention_heads", `a divisor of ${width}`);
    for (const name of ["is_decoder", "add_cross_attention"]) if (config.flag(name)) throw config.error(name, "false");
    const kind = config.text("position_embedding_type", "absolute");
    if (kind !== "absolute") throw config.error("position_embedding_type", '"absolute"');
    const settings: BertSettings = {
      width,
      heads,
      inner: config.count("intermediate_size", 3072),
      eps: config.number("layer_norm_eps", 1e-12),
      activation: config.oneOf("hidden_act", ACTIVATIONS, "gelu"),
      dropout: config.number("hidden_dropout_prob", 0.1),
      attentionDropout: config.number("attention_probs_dropout_prob", 0.1),
    };
    this.maxLength = config.count("max_position_embeddings", 512);
    this.embeddings = new BertEmbeddings(config, settings, options);
    this.encoder = new BertEncoder(config.count("num_hidden_layers", 12), settings, options);
    this.pooler = new BertDense(width, width, "tanh", options);
    const spread = config.number("initializer_range", 0.02);
    for (const layer of this.modules())
      if (layer instanceof Linear || layer instanceof Embedding) {
        fillNormal(layer.weight, 0, spread, { generator: options.generator });
        if (layer instanceof Linear && layer.bias !== null) constant(layer.bias, 0);
      }
    this.eval();
  }

  /**
   * The hidden state of each token. tokens: [B, L] int32 or int64. Result: [B, L, E]. Throws ShapeError for other shapes, IndexError for texts longer than the
   * model's positions. Reference: transformers.BertModel, last_hidden_state.
   */
  forward(tokens: Tensor, { attentionMask, tokenTypes, positions }: BertCall = {}): Tensor {
    requireTokens("Bert", tokens);
    const [batch, length] = tokens.shape as [number, number];
    if (length > this.maxLength) throw new IndexError("Bert", "tokens", `of at most ${this.maxLength} positions`, tokens.describe());
    for (const [argument, t] of Object.entries({ positions, attentionMask, tokenTypes }))
      if (t !== undefined && (t.rank !== 2 || t.shape[1] !== length || (t.shape[0] !== batch && t.shape[0] !== 1)))
        throw new ShapeError("Bert", argument, `[${batch}, ${length}]`, t.describe());
    const x = this.embeddings(tokens, tokenTypes, positions);
    const mask = attentionMask === undefined ? null : additiveMask(unsqueeze(unsqueeze(toDType(attentionMask, "bool"), 1), 1), x);
    return this.encoder(x, mask);
  }

  /** A vector [B, E] of hidden states [B, L, E]: tanh of a linear layer of the first token's. Reference: transformers.BertModel, pooler_output. */
  pooled(hidden: Tensor): Tensor {
    return this.pooler(select(hidden, 1, 0));
  }

  /**
   * An embedding of each text: the mean of its tokens' hidden states, of length 1 unless `normalize` is false. tokens: [B, L]. Result: [B, E]. Throws as forward().
   * Reference: sentence-transformers, pooling by mean.
   */
  embed(tokens: Tensor, { normalize = true, ...call }: SentenceOptions = {}): Tensor {
    return meanPool(this.forward(tokens, call), call.attentionMask, normalize);
  }
}

/** The mean of hidden states [B, L, E] over the tokens whose mask [B, L] is not 0; divided by its length, with normalize. */
function meanPool(hidden: Tensor, mask: Tensor | undefined, normalize: boolean): Tensor {
  let total: Tensor;
  if (mask === undefined) total = div(sum(hidden, 1), hidden.shape[1]!);
  else {
    const counts = unsqueeze(toDType(toDType(mask, "bool"), hidden.dtype), -1);
    total = div(sum(mul(hidden, counts), 1), clampMin(sum(counts, 1), 1e-9));
  }
  if (!normalize) return total;
  const squares = sum(mul(total, total), -1, { keepDims: true });
  return div(total, clampMin(sqrt(squares), 1e-12));
}
