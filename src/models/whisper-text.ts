/** Whisper's decoder as a language model, for the sounds of one call at a time. */
import { noGrad } from "../autograd/grad-mode.ts";
import { keep, outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { tensor, zeros } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { copyInto } from "../ops/data/copy.ts";
import { add } from "../ops/elementwise/binary.ts";
import { eq, gt } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { cat } from "../ops/shape/join.ts";
import { expand, narrow, unsqueeze } from "../ops/shape/movement.ts";
import type { Layer } from "../nn/module.ts";
import { CausalModel, type CausalShape } from "./causal-model.ts";
import type { DecoderPass } from "./decoder-pass.ts";
import { generateTexts } from "./generation/generate-loop.ts";
import type { GeneratedText, GenerateOptions } from "./generation/options.ts";
import type { LogitsRule } from "./generation/prompts.ts";
import { releaseSessions } from "./generation/session.ts";
import type { CrossKeys, Whisper, WhisperDecoder } from "./whisper.ts";

/** What of a model a text is made of. */
const sourceOf = ({ model, proj_out, eosTokens, suppressTokens, beginSuppressTokens }: Whisper): readonly unknown[] => [
  model.decoder,
  proj_out,
  eosTokens,
  suppressTokens,
  beginSuppressTokens,
];

/**
 * The decoder with what it hears of a batch of sounds, which stays in the same tensors: its programs are those of earlier calls. Hidden states have one more element,
 * which is 1 where a text's first token comes next.
 */
export class WhisperText extends CausalModel {
  readonly causal: CausalShape;
  readonly batch: number;
  decoder: WhisperDecoder;
  lm_head: Layer;
  readonly #heard: readonly CrossKeys[];
  /** [1] int32: the position of the prompt's last token. */
  readonly #begin: Tensor;
  /** [V]: -Infinity for tokens that are never made; and for those that do not begin a text. */
  readonly #never: Tensor;
  readonly #notFirst: Tensor;
  readonly #made: readonly Tensor[];
  readonly #source: readonly unknown[];

  constructor(whisper: Whisper, batch: number) {
    super();
    this.causal = whisper.causal;
    this.batch = batch;
    this.eosTokens = whisper.eosTokens;
    this.decoder = whisper.model.decoder;
    this.lm_head = whisper.proj_out;
    const { device, dtype } = this.decoder.embed_tokens.weight;
    const { vocabulary, keyHeads, headWidth, layers } = this.causal;
    const made: Tensor[] = [];
    const held = (t: Tensor): Tensor => {
      made.push(keep(t));
      return t;
    };
    const limits = (tokens: readonly number[]): Tensor => {
      const values = new Float32Array(vocabulary);
      for (const token of tokens) if (token >= 0 && token < vocabulary) values[token] = -Infinity;
      return held(tensor(values, { device }));
    };
    const [begin, never, notFirst, heard] = outsideScopes(() =>
      noGrad(() => {
        const shape = [batch, keyHeads, whisper.maxSource, headWidth];
        const pairs = Array.from({ length: layers }, () => ({
          keys: held(zeros(shape, { device, dtype })),
          values: held(zeros(shape, { device, dtype })),
        }));
        return [
          held(zeros([1], { device, dtype: "int32" })),
          limits(whisper.suppressTokens),
          limits(whisper.beginSuppressTokens),
          pairs,
        ] as const;
      }),
    );
    this.#begin = begin;
    this.#never = never;
    this.#notFirst = notFirst;
    this.#heard = heard;
    this.#made = made;
    this.#source = sourceOf(whisper);
    this.training = false;
  }

  /** Whether it is of the parts and the tokens that the model has now, and its tensors are where the decoder's are. */
  isCurrent(whisper: Whisper): boolean {
    if (this.#source.some((part, i) => part !== sourceOf(whisper)[i])) return false;
    const { device, dtype } = this.decoder.embed_tokens.weight;
    const { keys } = this.#heard[0]!;
    return keys.device === device && keys.dtype === dtype && !keys.isDisposed;
  }

  override hiddenStates(tokens: Tensor, pass: DecoderPass): Tensor {
    const hidden = this.decoder(tokens, pass, this.#heard);
    const isFirst = toDType(unsqueeze(eq(pass.positions, this.#begin), -1), hidden.dtype);
    return cat([hidden, expand(isFirst, [...hidden.shape.slice(0, -1), 1])], -1);
  }

  override logitsOf(hidden: Tensor): Tensor {
    const width = hidden.shape.at(-1)! - 1;
    const logits = toDType(this.lm_head(narrow(hidden, -1, 0, width)), "float32");
    const isFirst = gt(narrow(hidden, -1, width, 1), 0);
    const limited = add(logits, this.#never);
    return where(isFirst, add(limited, this.#notFirst), limited);
  }

  /** Text of what the encoder gives. */
  async transcribe(heard: Tensor, prompt: readonly number[], options: GenerateOptions, rule: LogitsRule | null): Promise<GeneratedText[]> {
    noGrad(() => {
      for (const [i, { keys, values }] of this.decoder.crossKeys(heard).entries()) {
        copyInto("Whisper.transcribe", this.#heard[i]!.keys, keys);
        copyInto("Whisper.transcribe", this.#heard[i]!.values, values);
      }
      const { device } = this.#begin;
      copyInto("Whisper.transcribe", this.#begin, tensor([prompt.length - 1], { dtype: "int32", device }));
    });
    heard.dispose();
    const texts = Array.from({ length: this.batch }, () => prompt);
    // The cache is of other sounds.
    return generateTexts("Whisper.transcribe", this, texts, { ...options, reuse: false }, rule);
  }

  release(): void {
    releaseSessions(this);
    for (const t of this.#made) t.dispose();
  }
}
