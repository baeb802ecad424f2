/** A conversation with a language model: its messages, and answers piece by piece. */
import { stat } from "node:fs/promises";
import * as dx from "dxtensor";
import { loadTokenizer, type ChatMessage, type Tokenizer } from "dxtensor/text";
import { ExampleError, saying } from "../shared/command.ts";

/** How answers are drawn. */
export interface Drawing {
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly seed: number;
}

/** A model and its tokenizer. Answers are made one after the other, since they share one cache. */
export class Speaker implements Disposable {
  readonly #model: dx.models.Llama;
  readonly #tokenizer: Tokenizer;
  readonly #drawing: Drawing;
  #last: Promise<void> = Promise.resolve();

  private constructor(model: dx.models.Llama, tokenizer: Tokenizer, drawing: Drawing) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#drawing = drawing;
  }

  static async load(model: string, tokenizer: string | undefined, drawing: Drawing, device: dx.Device): Promise<Speaker> {
    const isGguf = model.endsWith(".gguf");
    const found = await stat(model).catch(() => null);
    if (isGguf && found === null) throw new ExampleError(`The model ${model} can't be read: there is no such file.`);
    if (!isGguf && found?.isDirectory() !== true)
      throw new ExampleError(
        `--model takes a GGUF file or a folder with config.json, safetensors and tokenizer.json; ${model} is neither.`,
      );
    const words = tokenizer ?? (isGguf ? model : `${model}/tokenizer.json`);
    const own = await saying(`The tokenizer ${words} can't be read`, loadTokenizer(words));
    if (own.chatTemplate === null)
      throw new ExampleError(`${words} has no template for conversations: take a model that was trained on them.`);
    const network = await saying(`The model ${model} can't be read`, dx.models.fromPretrained(model, { family: "llama", device }));
    return new Speaker(network, own, drawing);
  }

  /** The answer to messages, piece by piece, and how many tokens it has. Ends early where the signal says so. */
  async *answer(messages: readonly ChatMessage[], signal: AbortSignal): AsyncGenerator<string, number, undefined> {
    const before = this.#last;
    let done!: () => void;
    this.#last = new Promise((resolve) => (done = resolve));
    try {
      await before;
      const text = await this.#tokenizer.applyChatTemplate(messages, { addGenerationPrompt: true });
      const prompt = this.#tokenizer.encode(text, { specialTokens: false });
      const { temperature, topP, maxTokens, seed } = this.#drawing;
      const options = { temperature, topP, maxNewTokens: maxTokens, seed, tokenizer: this.#tokenizer, signal };
      let tokens = 0;
      try {
        for await (const made of dx.models.stream(this.#model, prompt, options)) {
          tokens++;
          if (made.text !== "") yield made.text;
        }
      } catch (error) {
        if (!signal.aborted) throw error;
      }
      return tokens;
    } finally {
      done();
    }
  }

  [Symbol.dispose](): void {
    void dx.models.releaseGeneration(this.#model);
    this.#model.dispose();
  }
}
