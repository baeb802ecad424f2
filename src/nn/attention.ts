/** MultiheadAttention and Transformer. Names and layouts of the state are PyTorch's. */
import { ShapeError, ValueError } from "../core/errors.ts";
import { gelu, relu } from "../ops/elementwise/activation.ts";
import { add } from "../ops/elementwise/binary.ts";
import { dropout } from "../ops/random/dropout.ts";
import { select, transpose, unsqueeze } from "../ops/shape/movement.ts";
import { multiHeadAttention, type MultiHeadOptions } from "../ops/attention/multihead.ts";
import type { Generator as RandomGenerator } from "../ops/random/random.ts";
import { full } from "../ops/creation/creation.ts";
import { triu } from "../ops/creation/ranges.ts";
import type { DeviceLike } from "../core/device.ts";
import type { Tensor } from "../core/tensor.ts";
import { Dropout } from "./dropout.ts";
import { constant, xavierNormal, xavierUniform } from "./init.ts";
import { Linear } from "./linear.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";
import { LayerNorm } from "./norm.ts";
import { requireCount, requireLayers, parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** Options of multiheadAttention(). Reference: torch.nn.MultiheadAttention. */
export interface MultiheadAttentionOptions extends LayerOptions {
  /** Probability with which a weight is left out in training. Default: 0. */
  readonly dropout?: number | undefined;
  /** Whether the projections have biases. Default: true. */
  readonly bias?: boolean | undefined;
  /** Whether a learned key and value are added to all. Default: false. */
  readonly addBiasKv?: boolean | undefined;
  /** @deprecated Use addBiasKv. */
  readonly addBiasKeyValue?: boolean | undefined;

  /** Whether a key and value of zeros are added. Default: false. */
  readonly addZeroAttn?: boolean | undefined;
  /** @deprecated Use addZeroAttn. */
  readonly addZeroAttention?: boolean | undefined;

  /** Widths of keys and values. Default: the layer's. */
  readonly kdim?: number | undefined;
  /** @deprecated Use kdim. */
  readonly keyWidth?: number | undefined;

  /** Features of the values. Default: the width. */
  readonly vdim?: number | undefined;
  /** @deprecated Use vdim. */
  readonly valueWidth?: number | undefined;

  /** Whether sequences are [N, L, E], instead of [L, N, E]. Default: false. */
  readonly batchFirst?: boolean | undefined;
}
/** Arguments of one call of attention in addition to its inputs: masks, and whether weights are returned. */
export type AttentionCall = Pick<MultiHeadOptions, "keyPaddingMask" | "attnMask" | "mask" | "isCausal" | "causal" | "weights">;

/** Attention of several heads. forward(query, key, value) gives {output, weights}. Reference: torch.nn.MultiheadAttention. */
export class MultiheadAttention extends Module {
  /** Features of queries and results, E. */
  readonly width: number;
  /** Number of heads; divides the width. */
  readonly heads: number;
  /** The options passed to the constructor. */
  readonly options: MultiheadAttentionOptions;
  /** [3 E, E]: the projections of query, key and value, one below the other; null where widths differ. */
  in_proj_weight: Parameter | null = null;
  /** [E, E]: the projection of queries; null where all three are in in_proj_weight. */
  q_proj_weight: Parameter | null = null;
  /** [E, key width]: the projection of keys; null where all three are in in_proj_weight. */
  k_proj_weight: Parameter | null = null;
  /** [E, value width]: the projection of values; null where all three are in in_proj_weight. */
  v_proj_weight: Parameter | null = null;
  /** [3 E]: the biases of the three projections; null without bias. */
  in_proj_bias: Parameter | null = null;
  /** [1, 1, E]: a key that is appended to all others; null without. */
  bias_k: Parameter | null = null;
  /** [1, 1, E]: a value that is appended to all others; null without. */
  bias_v: Parameter | null = null;
  /** The projection of the joined heads, [E] to [E]. */
  out_proj: Linear;

  constructor(embedDim: number, numHeads: number, dropout?: number | MultiheadAttentionOptions, options?: MultiheadAttentionOptions) {
    super();
    const settings = byPosition<MultiheadAttentionOptions>("MultiheadAttention", ["dropout"], [dropout, options]);
    requireCount("MultiheadAttention", "embedDim", embedDim);
    requireCount("MultiheadAttention", "numHeads", numHeads);
    if (embedDim % numHeads !== 0) throw new ValueError("MultiheadAttention", "numHeads", `a divisor of ${embedDim}`, numHeads);
    this.width = embedDim;
    this.heads = numHeads;
    this.options = settings;
    const { kdim: keyWidth = embedDim, vdim: valueWidth = embedDim, bias = true } = settings;
    const spread = (shape: readonly number[]): Parameter => parameter(shape, settings, (p) => void xavierUniform(p, settings));
    if (keyWidth === embedDim && valueWidth === embedDim) this.in_proj_weight = spread([3 * embedDim, embedDim]);
    else {
      this.q_proj_weight = spread([embedDim, embedDim]);
      this.k_proj_weight = spread([embedDim, keyWidth]);
      this.v_proj_weight = spread([embedDim, valueWidth]);
    }
    if (bias) this.in_proj_bias = parameter([3 * embedDim], settings, (p) => void constant(p, 0));
    this.out_proj = new Linear(embedDim, embedDim, { ...settings, bias });
    if (this.out_proj.bias !== null) constant(this.out_proj.bias, 0);
    if (settings.addBiasKv === true) {
      this.bias_k = parameter([1, 1, embedDim], settings, (p) => void xavierNormal(p, settings));
      this.bias_v = parameter([1, 1, embedDim], settings, (p) => void xavierNormal(p, settings));
    }
  }

  /** query [L, N, E], key [S, N, E], value [S, N, E]; without N, or [N, L, E] with batchFirst. */
  forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    call: AttentionCall = {},
  ): { readonly output: Tensor; readonly weights: Tensor | null } {
    const single = query.rank === 2;
    if (query.rank !== key.rank || query.rank !== value.rank || (query.rank !== 3 && !single) || query.shape.at(-1) !== this.width)
      throw new ShapeError(
        "MultiheadAttention",
        "query, key and value",
        `[L, N, ${this.width}], or without N`,
        [query, key, value].map((t) => t.describe()).join(", "),
      );
    const batchFirst = !single && this.options.batchFirst === true;
    const ordered = (t: Tensor): Tensor => (single ? unsqueeze(t, 1) : batchFirst ? transpose(t, 0, 1) : t);
    const q = ordered(query);
    const k = key === query ? q : ordered(key);
    const v = value === key ? k : ordered(value);
    const mask = call.keyPaddingMask ?? null;
    // Read once: a parametrized weight is computed each time.
    const inWeight = this.in_proj_weight;
    const { output, weights } = multiHeadAttention(
      q,
      k,
      v,
      this.heads,
      {
        inWeight,
        separate: inWeight === null ? [this.q_proj_weight!, this.k_proj_weight!, this.v_proj_weight!] : undefined,
        inBias: this.in_proj_bias,
        outWeight: this.out_proj.weight,
        outBias: this.out_proj.bias,
        keyBias: this.bias_k,
        valueBias: this.bias_v,
      },
      {
        ...call,
        keyPaddingMask: mask !== null && mask.rank === 1 ? unsqueeze(mask, 0) : mask,
        dropoutP: this.training ? (this.options.dropout ?? 0) : 0,
        addZeroAttn: this.options.addZeroAttn,
        generator: this.options.generator,
      },
    );
    return {
      output: single ? select(output, 1, 0) : batchFirst ? transpose(output, 0, 1) : output,
      weights: single && weights !== null ? select(weights, 0, 0) : weights,
    };
  }

  protected override describeOptions(): string {
    return `${this.width}, numHeads=${this.heads}`;
  }
}

/** Options of the layers of transformers. Reference: torch.nn.TransformerEncoderLayer. */
export interface TransformerLayerOptions extends LayerOptions {
  /** Width of the inner linear layer. Default: 2048. */
  readonly dimFeedforward?: number | undefined;
  /** @deprecated Use dimFeedforward. */
  readonly feedforward?: number | undefined;

  /** Default: 0.1. */
  readonly dropout?: number | undefined;
  /** Default: "relu". */
  readonly activation?: "relu" | "gelu" | ((x: Tensor) => Tensor) | undefined;
  /** Added to variances. Default: 1e-5. */
  readonly layerNormEps?: number | undefined;
  /** @deprecated Use layerNormEps. */
  readonly epsilon?: number | undefined;

  /** Whether inputs are [N, L, E] instead of [L, N, E]. Default: false. */
  readonly batchFirst?: boolean | undefined;
  /** Whether normalisation comes before attention and feedforward, instead of after. Default: false. */
  readonly normFirst?: boolean | undefined;
  /** Whether linear layers and norms have biases. Default: true. */
  readonly bias?: boolean | undefined;
}

const activationOf = (layer: string, activation: TransformerLayerOptions["activation"]): ((x: Tensor) => Tensor) => {
  if (typeof activation === "function") return activation;
  if (activation !== undefined && activation !== "relu" && activation !== "gelu")
    throw new ValueError(layer, "activation", '"relu", "gelu" or a function', activation);
  return activation === "gelu" ? (x) => gelu(x) : relu;
};

/** What encoder and decoder layers share: attention to themselves, and two linear layers. */
abstract class TransformerLayer extends Module {
  // Declared only: a field's index among the parameters is where it is first set, and an optimizer's state goes by index.
  /** Attention of the input to itself. */
  declare self_attn: MultiheadAttention;
  /** The feed-forward network's first layer, from the width to its own. */
  declare linear1: Linear;
  /** The feed-forward network's second layer, back to the width. */
  declare linear2: Linear;
  /** The norm of the first part, self-attention. */
  declare norm1: LayerNorm;
  /** The norm of the second part. */
  declare norm2: LayerNorm;
  /** Whether each part normalizes its input instead of its sum with the input. */
  readonly normFirst: boolean;
  protected readonly probability: number;
  /** @internal */ readonly [INNER]: { readonly activation: (x: Tensor) => Tensor; readonly generator: RandomGenerator | undefined };

  constructor(dModel: number, nhead: number, options: TransformerLayerOptions) {
    super();
    const { dimFeedforward: feedforward = 2048, dropout: p = 0.1, layerNormEps: epsilon = 1e-5, bias = true } = options;
    this.probability = new Dropout(p).p;
    this.normFirst = options.normFirst ?? false;
    this[INNER] = { activation: activationOf(new.target.name, options.activation), generator: options.generator };
    const attention = (): MultiheadAttention => new MultiheadAttention(dModel, nhead, { ...options, dropout: p, bias });
    this.self_attn = attention();
    this.attendMemory(attention);
    this.linear1 = new Linear(dModel, feedforward, { ...options, bias });
    this.linear2 = new Linear(feedforward, dModel, { ...options, bias });
    this.norm1 = new LayerNorm(dModel, { ...options, eps: epsilon });
    this.norm2 = new LayerNorm(dModel, { ...options, eps: epsilon });
  }

  /** A decoder's layer has its second attention here, in PyTorch's order. */
  protected attendMemory(_make: () => MultiheadAttention): void {}
  protected drop(x: Tensor): Tensor {
    return dropout(x, { p: this.probability, training: this.training, generator: this[INNER].generator });
  }
  protected attend(attention: MultiheadAttention, x: Tensor, memory: Tensor, call: AttentionCall): Tensor {
    return this.drop(attention.forward(x, memory, memory, { ...call, weights: "none" }).output);
  }
  protected feed(x: Tensor): Tensor {
    return this.drop(this.linear2.forward(this.drop(this[INNER].activation(this.linear1.forward(x)))));
  }
  /** x + part(x), normalised before or after. */
  protected residual(x: Tensor, norm: LayerNorm, part: (x: Tensor) => Tensor): Tensor {
    return this.normFirst ? add(x, part(norm.forward(x))) : norm.forward(add(x, part(x)));
  }
}

/** Self-attention and feedforward, each with a residual and a layer norm. Reference: torch.nn.TransformerEncoderLayer. */
export class TransformerEncoderLayer extends TransformerLayer {
  constructor(
    dModel: number,
    nhead: number,
    dimFeedforward?: number | TransformerLayerOptions,
    dropout?: number | TransformerLayerOptions,
    options?: TransformerLayerOptions,
  ) {
    const settings = byPosition<TransformerLayerOptions>(
      "TransformerEncoderLayer",
      ["dimFeedforward", "dropout"],
      [dimFeedforward, dropout, options],
    );
    super(dModel, nhead, settings);
  }

  forward(x: Tensor, { srcMask, srcKeyPaddingMask, isCausal }: EncoderCall = {}): Tensor {
    const call = { attnMask: srcMask, keyPaddingMask: srcKeyPaddingMask, isCausal };
    return this.residual(
      this.residual(x, this.norm1, (v) => this.attend(this.self_attn, v, v, call)),
      this.norm2,
      (v) => this.feed(v),
    );
  }
}

/** Masks of one call of an encoder. */
export interface EncoderCall {
  /** [L, L] or [N * heads, L, L]: numbers that are added to the scores, or bool, true where a position is left out. */
  readonly srcMask?: Tensor | null | undefined;
  /** @deprecated Use srcMask. */
  readonly mask?: Tensor | null | undefined;
  /** [N, L], bool: true for positions that are left out; or numbers that are added to the scores. */
  readonly srcKeyPaddingMask?: Tensor | null | undefined;
  /** @deprecated Use srcKeyPaddingMask. */
  readonly keyPaddingMask?: Tensor | null | undefined;
  /** Whether a position attends only to itself and those before it. Default: false. */
  readonly isCausal?: boolean | undefined;
  /** @deprecated Use isCausal. */
  readonly causal?: boolean | undefined;
}

/** Masks of one call of a decoder. */
export interface DecoderCall {
  /** [L, L]: numbers that are added to the scores of self-attention, or bool, true where a position is left out. */
  readonly tgtMask?: Tensor | null | undefined;
  /** @deprecated Use tgtMask. */
  readonly mask?: Tensor | null | undefined;
  /** [L, S]: numbers that are added to the scores of attention to the memory, or bool, true where a position is left out. */
  readonly memoryMask?: Tensor | null | undefined;
  /** [N, L], bool: true for positions of the input that are left out; or numbers that are added to the scores. */
  readonly tgtKeyPaddingMask?: Tensor | null | undefined;
  /** @deprecated Use tgtKeyPaddingMask. */
  readonly keyPaddingMask?: Tensor | null | undefined;
  /** [N, S], bool: true for positions of the memory that are left out; or numbers that are added to the scores. */
  readonly memoryKeyPaddingMask?: Tensor | null | undefined;
  /** Whether a position attends only to itself and those before it. Default: false. */
  readonly tgtIsCausal?: boolean | undefined;
  /** @deprecated Use tgtIsCausal. */
  readonly causal?: boolean | undefined;
}

/** As the encoder's layer, with attention to a memory between. Reference: torch.nn.TransformerDecoderLayer. */
export class TransformerDecoderLayer extends TransformerLayer {
  /** Attention to the memory. */
  declare multihead_attn: MultiheadAttention;
  /** The norm of the feed-forward network. */
  norm3: LayerNorm;

  constructor(
    dModel: number,
    nhead: number,
    dimFeedforward?: number | TransformerLayerOptions,
    dropout?: number | TransformerLayerOptions,
    options?: TransformerLayerOptions,
  ) {
    const settings = byPosition<TransformerLayerOptions>(
      "TransformerDecoderLayer",
      ["dimFeedforward", "dropout"],
      [dimFeedforward, dropout, options],
    );
    super(dModel, nhead, settings);
    this.norm3 = new LayerNorm(dModel, { ...settings, eps: settings.layerNormEps ?? 1e-5 });
  }

  protected override attendMemory(make: () => MultiheadAttention): void {
    this.multihead_attn = make();
  }

  forward(
    x: Tensor,
    memory: Tensor,
    { tgtMask, memoryMask, tgtKeyPaddingMask, memoryKeyPaddingMask, tgtIsCausal }: DecoderCall = {},
  ): Tensor {
    const call = { attnMask: tgtMask, keyPaddingMask: tgtKeyPaddingMask, isCausal: tgtIsCausal };
    const own = this.residual(x, this.norm1, (v) => this.attend(this.self_attn, v, v, call));
    const seen = this.residual(own, this.norm2, (v) =>
      this.attend(this.multihead_attn, v, memory, { attnMask: memoryMask, keyPaddingMask: memoryKeyPaddingMask }),
    );
    return this.residual(seen, this.norm3, (v) => this.feed(v));
  }
}

/** Encoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerEncoder. */
export class TransformerEncoder extends Module {
  /** The layers, the first one first. */
  readonly layers: readonly TransformerEncoderLayer[];
  /** The norm behind the last layer; null for none. */
  norm: LayerNorm | null;

  constructor(make: (index: number) => TransformerEncoderLayer, numLayers: number, norm: LayerNorm | null = null) {
    super();
    requireLayers("TransformerEncoder", "numLayers", numLayers);
    this.layers = Array.from({ length: numLayers }, (_, i) => make(i));
    this.norm = norm;
  }

  forward(x: Tensor, call: EncoderCall = {}): Tensor {
    for (const layer of this.layers) x = layer.forward(x, call);
    return this.norm === null ? x : this.norm.forward(x);
  }
}

/** Decoder layers one after the other, made by a function, and a last norm. Reference: torch.nn.TransformerDecoder. */
export class TransformerDecoder extends Module {
  /** The layers, the first one first. */
  readonly layers: readonly TransformerDecoderLayer[];
  /** The norm behind the last layer; null for none. */
  norm: LayerNorm | null;

  constructor(make: (index: number) => TransformerDecoderLayer, numLayers: number, norm: LayerNorm | null = null) {
    super();
    requireLayers("TransformerDecoder", "numLayers", numLayers);
    this.layers = Array.from({ length: numLayers }, (_, i) => make(i));
    this.norm = norm;
  }

  forward(x: Tensor, memory: Tensor, call: DecoderCall = {}): Tensor {
    for (const layer of this.layers) x = layer.forward(x, memory, call);
    return this.norm === null ? x : this.norm.forward(x);
  }
}

/** Options of transformer(). Reference: torch.nn.Transformer. */
export interface TransformerOptions extends TransformerLayerOptions {
  /** Default: 6. */
  readonly numEncoderLayers?: number | undefined;
  /** @deprecated Use numEncoderLayers. */
  readonly encoderLayers?: number | undefined;

  /** Default: 6. */
  readonly numDecoderLayers?: number | undefined;
  /** @deprecated Use numDecoderLayers. */
  readonly decoderLayers?: number | undefined;
}
/** An encoder and a decoder that attends to what it makes. Reference: torch.nn.Transformer. */
export class Transformer extends Module {
  /** Its encoder. */
  encoder: TransformerEncoder;
  /** Its decoder. */
  decoder: TransformerDecoder;

  constructor(dModel = 512, nhead = 8, options: TransformerOptions = {}) {
    super();
    const { numEncoderLayers = 6, numDecoderLayers = 6 } = options;
    requireLayers("Transformer", "numEncoderLayers", numEncoderLayers);
    requireLayers("Transformer", "numDecoderLayers", numDecoderLayers);
    const norm = (): LayerNorm => new LayerNorm(dModel, { ...options, eps: options.layerNormEps });
    this.encoder = new TransformerEncoder(() => new TransformerEncoderLayer(dModel, nhead, options), numEncoderLayers, norm());
    this.decoder = new TransformerDecoder(() => new TransformerDecoderLayer(dModel, nhead, options), numDecoderLayers, norm());
    for (const p of this.parameters()) if (p.rank > 1) xavierUniform(p, options);
  }

  /** source [S, N, E], target [T, N, E]: [T, N, E]. */
  forward(
    source: Tensor,
    target: Tensor,
    call: DecoderCall & {
      /** [S, S]: numbers that are added to the encoder's scores, or bool, true where a position is left out. */
      readonly srcMask?: Tensor | null;
      /** @deprecated Use srcMask. */
      readonly sourceMask?: Tensor | null;
      /** [N, S], bool: true for positions of the source that are left out; or numbers that are added to the scores. */
      readonly srcKeyPaddingMask?: Tensor | null;
      /** @deprecated Use srcKeyPaddingMask. */
      readonly sourceKeyPaddingMask?: Tensor | null;
    } = {},
  ): Tensor {
    const { srcMask, srcKeyPaddingMask, ...rest } = call;
    const memory = this.encoder.forward(source, { srcMask, srcKeyPaddingMask });
    return this.decoder.forward(target, memory, rest);
  }

  /** [size, size]: 0 up to each position, -Infinity behind it. */
  static causalMask(size: number, options: { readonly device?: DeviceLike | undefined } = {}): Tensor {
    return triu(full([size, size], -Infinity, options), 1);
  }
}

export const multiheadAttention = (
  embedDim: number,
  numHeads: number,
  dropout?: number | MultiheadAttentionOptions,
  options?: MultiheadAttentionOptions,
): MultiheadAttention => new MultiheadAttention(embedDim, numHeads, dropout, options);
export const transformerEncoderLayer = (
  dModel: number,
  nhead: number,
  dimFeedforward?: number | TransformerLayerOptions,
  dropout?: number | TransformerLayerOptions,
  options?: TransformerLayerOptions,
): TransformerEncoderLayer => new TransformerEncoderLayer(dModel, nhead, dimFeedforward, dropout, options);
export const transformerDecoderLayer = (
  dModel: number,
  nhead: number,
  dimFeedforward?: number | TransformerLayerOptions,
  dropout?: number | TransformerLayerOptions,
  options?: TransformerLayerOptions,
): TransformerDecoderLayer => new TransformerDecoderLayer(dModel, nhead, dimFeedforward, dropout, options);
export const transformerEncoder = (
  make: (index: number) => TransformerEncoderLayer,
  numLayers: number,
  norm: LayerNorm | null = null,
): TransformerEncoder => new TransformerEncoder(make, numLayers, norm);
export const transformerDecoder = (
  make: (index: number) => TransformerDecoderLayer,
  numLayers: number,
  norm: LayerNorm | null = null,
): TransformerDecoder => new TransformerDecoder(make, numLayers, norm);
export const transformer = (dModel?: number, nhead?: number, options: TransformerOptions = {}): Transformer =>
  new Transformer(dModel, nhead, options);
