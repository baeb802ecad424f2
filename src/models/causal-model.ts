/** Models that predict the next token. */
import { DTypeError, IndexError, ShapeError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { arange } from "../ops/creation/ranges.ts";
import { reshape } from "../ops/shape/movement.ts";
import { OUTPUT_LAYER } from "../nn/inner.ts";
import { Module, type Layer } from "../nn/module.ts";
import { FullPass, type DecoderPass } from "./decoder-pass.ts";
import type { LanguageModelCall } from "./options.ts";
import { PastPass } from "./past-pass.ts";

/** What generation asks of a model. */
export interface CausalShape {
  readonly vocabulary: number;
  readonly layers: number;
  /** Heads of keys and values. */
  readonly keyHeads: number;
  /** Elements of a head. */
  readonly headWidth: number;
  /** The most positions that the model knows. */
  readonly maxLength: number;
}

/** A model that predicts the next token of a text. Reference: the CausalLM classes of transformers. */
export abstract class CausalModel extends Module {
  /** @internal */
  abstract readonly causal: CausalShape;
  /** From hidden states to logits. */
  abstract lm_head: Layer;
  /** Tokens that end a text: what the model's files say. */
  eosTokens: readonly number[] = [];

  /** @internal */
  get [OUTPUT_LAYER](): Module {
    return this.lm_head;
  }

  /** @internal Hidden states [B, L, E] of tokens [B, L]. */
  abstract hiddenStates(tokens: Tensor, pass: DecoderPass): Tensor;
  /** @internal Logits [..., V] of hidden states [..., E]. */
  abstract logitsOf(hidden: Tensor): Tensor;

  /**
   * The logits of the next token behind each token. tokens: [B, L] int32 or int64. Result: [B, L, V]. Throws ShapeError for other shapes, and for texts
   * longer than the model's positions.
   */
  forward(tokens: Tensor, { positions, attentionMask }: LanguageModelCall = {}): Tensor {
    const name = this.constructor.name;
    requireTokens(name, tokens);
    const [batch, length] = tokens.shape as [number, number];
    if (length > this.causal.maxLength)
      throw new IndexError(name, "tokens", `of at most ${this.causal.maxLength} positions`, tokens.describe());
    for (const [argument, t] of Object.entries({ positions, attentionMask }))
      if (t !== undefined && (t.rank !== 2 || t.shape[1] !== length || (t.shape[0] !== batch && t.shape[0] !== 1)))
        throw new ShapeError(name, argument, `[${batch}, ${length}]`, t.describe());
    const at = positions ?? reshape(arange(length, { dtype: "int32", device: tokens.device }), [1, length]);
    const pass = new FullPass(at, positions === undefined ? length : this.causal.maxLength, attentionMask ?? null);
    return this.logitsOf(this.hiddenStates(tokens, pass));
  }

  /**
   * The logits behind tokens that continue texts, and the keys and values of all their tokens: what onnx.export() takes to write a model with a cache.
   * tokens: [B, L] int32 or int64. past: keys and values of each layer, [B, G, P, D], in the order key, value, key, …; G heads of D elements, P from
   * 0. Results: the logits [B, L, V], then keys and values [B, G, P + L, D] in the order of `past`. Throws ShapeError for other shapes and another
   * number of tensors, IndexError for texts longer than the model's positions.
   */
  withPast(tokens: Tensor, past: readonly Tensor[]): Tensor[] {
    const name = `${this.constructor.name}.withPast`;
    requireTokens(name, tokens);
    const { layers, keyHeads, headWidth, maxLength } = this.causal;
    const [batch, length] = tokens.shape as [number, number];
    if (past.length !== 2 * layers) throw new ShapeError(name, "past", `${2 * layers} tensors`, past.length);
    const before = past[0]!.shape[2] ?? 0;
    const shape = [batch, keyHeads, before, headWidth];
    past.forEach((t, i) => {
      if (t.rank !== 4 || t.shape.some((n, axis) => n !== shape[axis]))
        throw new ShapeError(name, `past[${i}]`, `[${shape.join(", ")}]`, t.describe());
    });
    if (before + length > maxLength)
      throw new IndexError(name, "tokens", `of at most ${maxLength} positions with those before`, tokens.describe());
    const pass = new PastPass(tokens, past, maxLength);
    const logits = this.logitsOf(this.hiddenStates(tokens, pass));
    return [logits, ...pass.present];
  }
}

/** Throws unless tokens are [B, L] of integers. */
export function requireTokens(operation: string, tokens: Tensor): void {
  if (tokens.dtype !== "int32" && tokens.dtype !== "int64") throw new DTypeError(operation, "tokens", "int32 or int64", tokens.describe());
  if (tokens.rank !== 2 || tokens.size === 0)
    throw new ShapeError(operation, "tokens", "[B, L] with at least one token", tokens.describe());
}
