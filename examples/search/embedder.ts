/** Texts as unit vectors, by an ONNX model with BERT's inputs: the mean of the last layer over a text's tokens. */
import * as dx from "dxtensor";
import { loadTokenizer, type Tokenizer } from "dxtensor/text";
import { ExampleError, saying } from "../shared/command.ts";

/** The model reads at most so many tokens of a text. */
const MAX_LENGTH = 256;

/** Batches are as long as their longest text, rounded up: so few shapes come again, and each is compiled once. */
const ROUNDED_TO = 16;

export class Embedder implements Disposable {
  readonly #model: dx.io.onnx.OnnxModel;
  readonly #tokenizer: Tokenizer;
  readonly #batch: number;

  private constructor(model: dx.io.onnx.OnnxModel, tokenizer: Tokenizer, batch: number) {
    this.#model = model;
    this.#tokenizer = tokenizer;
    this.#batch = batch;
  }

  static async load(model: string, tokenizer: string, batch: number, device: dx.Device): Promise<Embedder> {
    const words = await saying(`The tokenizer ${tokenizer} can't be read`, loadTokenizer(tokenizer));
    const network = await dx.io.onnx.load(model, { device });
    const known = ["input_ids", "attention_mask", "token_type_ids"];
    if (network.inputs.some(({ name }) => !known.includes(name)) || network.outputs[0]?.shape?.length !== 3) {
      network.dispose();
      throw new ExampleError(`${model} must have the inputs ${known.join(", ")}, and a first output [texts, tokens, width].`);
    }
    return new Embedder(network, words, batch);
  }

  /** [texts, width], in the order of the texts, each of length 1. progress: after each batch, of how many texts. */
  async embed(texts: readonly string[], progress: (done: number) => void = () => {}): Promise<dx.Tensor> {
    const rows = texts.map((text, index) => ({ index, tokens: this.#tokenizer.encode(text, { maxLength: MAX_LENGTH }) }));
    // Texts of similar lengths are in one batch.
    rows.sort((a, b) => a.tokens.length - b.tokens.length);
    const parts: dx.Tensor[] = [];
    for (let at = 0; at < rows.length; at += this.#batch) {
      parts.push(dx.scope(() => this.#means(rows.slice(at, at + this.#batch).map((row) => row.tokens))));
      await dx.synchronize(this.#model.device);
      progress(Math.min(rows.length, at + this.#batch));
    }
    const order = new Int32Array(texts.length);
    for (const [at, { index }] of rows.entries()) order[index] = at;
    return dx.scope(() => dx.cat(parts).indexSelect(0, dx.tensor(order, { device: this.#model.device })));
  }

  /** Unit vectors of texts [N, L]. */
  #means(tokens: readonly Int32Array[]): dx.Tensor {
    const count = tokens.length;
    const longest = Math.max(...tokens.map((row) => row.length));
    const length = ROUNDED_TO * Math.ceil(longest / ROUNDED_TO);
    const ids = new BigInt64Array(count * length).fill(BigInt(this.#tokenizer.padId));
    const mask = new BigInt64Array(count * length);
    for (const [i, row] of tokens.entries()) {
      for (const [k, id] of row.entries()) ids[i * length + k] = BigInt(id);
      mask.fill(1n, i * length, i * length + row.length);
    }
    const { device } = this.#model;
    const of = (data: BigInt64Array): dx.Tensor => dx.tensor(data, { shape: [count, length], device });
    const known: Record<string, dx.Tensor> = {
      input_ids: of(ids),
      attention_mask: of(mask),
      token_type_ids: of(new BigInt64Array(count * length)),
    };
    const inputs = Object.fromEntries(this.#model.inputs.map(({ name }) => [name, known[name]!]));
    const hidden = this.#model.call(inputs)[this.#model.outputs[0]!.name]!;
    const weights = known["attention_mask"]!.to("float32").unsqueeze(2);
    return dx.nn.functional.normalize(hidden.mul(weights).sum(1).div(weights.sum(1)), { dim: 1 });
  }

  [Symbol.dispose](): void {
    this.#model.dispose();
  }
}
