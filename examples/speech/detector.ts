/** Silero's model of voice activity on a stream of chunks: its state, and the samples before a chunk, go from call to call. */
import * as dx from "dxtensor";
import { ExampleError } from "../shared/command.ts";

export class VoiceDetector implements Disposable {
  readonly #model: dx.io.onnx.OnnxModel;
  /** Samples of a chunk. */
  readonly chunk: number;
  /** The last samples of the chunk before, and the chunk. */
  readonly #window: Float32Array;
  #state: dx.Tensor;

  private constructor(model: dx.io.onnx.OnnxModel, sampleRate: number) {
    this.#model = model;
    this.chunk = sampleRate === 16000 ? 512 : 256;
    this.#window = new Float32Array(this.chunk + this.chunk / 8);
    this.#state = dx.zeros([2, 1, 128], { device: model.device });
  }

  /** The sample rate is a constant of the model: of its two networks the other one is not even loaded. */
  static async load(file: string, sampleRate: 8000 | 16000, device: dx.Device): Promise<VoiceDetector> {
    const model = await dx.io.onnx.load(file, { device, constants: { sr: sampleRate } });
    const names = model.inputs.map((i) => i.name).toSorted();
    if (names.join() !== "input,state")
      throw new ExampleError(`${file} is no model of Silero's: its inputs are ${names.join(", ")}, not input, state and sr.`);
    return new VoiceDetector(model, sampleRate);
  }

  /** The probability of speech in the next chunk; a shorter one is filled up by silence. */
  async push(samples: Float32Array): Promise<number> {
    const before = this.#window.length - this.chunk;
    this.#window.copyWithin(0, this.chunk);
    this.#window.fill(0, before);
    this.#window.set(samples, before);
    const input = dx.tensor(this.#window, { shape: [1, this.#window.length], device: this.#model.device });
    const { output, stateN } = this.#model.call({ input, state: this.#state });
    this.#state.dispose();
    this.#state = stateN!;
    const probability = Number(await output!.item());
    input.dispose();
    output!.dispose();
    return probability;
  }

  /** Begins a new sound. */
  reset(): void {
    this.#window.fill(0);
    this.#state.dispose();
    this.#state = dx.zeros([2, 1, 128], { device: this.#model.device });
  }

  [Symbol.dispose](): void {
    this.#state.dispose();
    this.#model.dispose();
  }
}
