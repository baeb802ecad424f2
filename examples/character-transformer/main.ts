/** A small transformer that learns a text character by character, and then writes on. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly text: string;
  readonly steps: number;
  readonly batch: number;
  readonly window: number;
  readonly width: number;
  readonly layers: number;
  readonly prompt: string;
  readonly length: number;
  readonly temperature: number;
}

// Compiled, this file lies in build/examples/character-transformer, the text in examples/character-transformer.
const ownText = join(fileURLToPath(import.meta.url), "../../../../examples/character-transformer/text.txt");

const command = exampleCommand(
  "character-transformer",
  "Learns a text character by character with a small transformer, and then writes on from a prompt.",
)
  .option("--text <file>", "what to learn (default: six of Shakespeare's sonnets)", ownText)
  .option("--steps <n>", "training steps", whole(1), 1500)
  .option("--batch <n>", "pieces of the text a step", whole(1), 32)
  .option("--window <n>", "characters that the network sees at once", whole(2), 64)
  .option("--width <n>", "width of the network, a multiple of 4", whole(4), 96)
  .option("--layers <n>", "transformer layers", whole(1), 2)
  .option("--prompt <text>", "where writing begins", "Shall I ")
  .option("--length <n>", "characters to write", whole(0), 300)
  .option("--temperature <t>", "below 1 the likely becomes likelier", real(0.01, 10), 0.7);

/** The characters of a text, as numbers and back. */
export class Alphabet {
  readonly characters: readonly string[];
  readonly #codes: ReadonlyMap<string, number>;

  constructor(text: string) {
    this.characters = [...new Set(text)].toSorted();
    this.#codes = new Map(this.characters.map((c, i) => [c, i]));
  }

  encode(text: string): Int32Array {
    return Int32Array.from(Array.from(text), (c) => {
      const code = this.#codes.get(c);
      if (code === undefined) throw new ExampleError(`The text that is learned has no ${JSON.stringify(c)}: leave it out of --prompt.`);
      return code;
    });
  }

  decode(codes: Iterable<number>): string {
    return Array.from(codes, (c) => this.characters[c]).join("");
  }
}

/** Logits [N, T, characters] of what follows each of the characters [N, T]. */
export class CharacterTransformer extends dx.nn.Module {
  readonly characters: dx.nn.Embedding;
  readonly positions: dx.nn.Parameter;
  readonly blocks: dx.nn.TransformerEncoderLayer[];
  readonly norm: dx.nn.LayerNorm;
  readonly head: dx.nn.Linear;

  constructor(characters: number, { width, layers, window }: Pick<Options, "width" | "layers" | "window">) {
    super();
    this.characters = dx.nn.embedding(characters, width);
    this.positions = new dx.nn.Parameter(dx.randn([window, width]).mul(0.02));
    this.blocks = Array.from({ length: layers }, () =>
      dx.nn.transformerEncoderLayer(width, 4, {
        dimFeedforward: 4 * width,
        dropout: 0,
        activation: "gelu",
        batchFirst: true,
        normFirst: true,
      }),
    );
    this.norm = dx.nn.layerNorm(width);
    this.head = dx.nn.linear(width, characters);
  }

  override forward(codes: dx.Tensor): dx.Tensor {
    let x = this.characters.forward(codes).add(this.positions);
    // No character sees those that come after it.
    for (const block of this.blocks) x = block.forward(x, { isCausal: true });
    return this.head.forward(this.norm.forward(x));
  }
}

/** Writes on from the prompt; each character is drawn by its probability. */
export async function* write(model: CharacterTransformer, alphabet: Alphabet, options: Options): AsyncGenerator<string> {
  const { window, temperature } = options;
  model.eval();
  const next = dx.compile(
    (codes: dx.Tensor, last: dx.Tensor) =>
      dx.noGrad(() => {
        const logits = model.forward(codes).indexSelect(1, last).squeeze(1).div(temperature);
        return dx.multinomial(dx.softmax(logits, -1), 1);
      }),
    { name: "next" },
  );
  const written = [...alphabet.encode(options.prompt)];
  for (let i = 0; i < options.length; i++) {
    const seen = written.slice(-window);
    // Always of one shape, so that one program serves all: what is to come is filled up, and not seen.
    const codes = Int32Array.from({ length: window }, (_, j) => seen[j] ?? 0);
    const [x, last] = [dx.tensor([[...codes]], { dtype: "int32" }), dx.tensor([seen.length - 1], { dtype: "int32" })];
    const drawn = next(x, last);
    const code = Number(await drawn.item());
    for (const t of [x, last, drawn]) t.dispose();
    written.push(code);
    yield alphabet.decode([code]);
  }
  next.dispose();
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  if (options.width % 4 !== 0) throw new ExampleError(`--width must be a multiple of 4, the number of heads; received ${options.width}.`);
  if (options.prompt === "") throw new ExampleError("--prompt must have at least one character.");
  const text = await saying("The text can't be read", readFile(options.text, "utf8"));
  if (text.length <= options.window)
    throw new ExampleError(`${options.text} must have more than ${options.window} characters; it has ${text.length}.`);
  const alphabet = new Alphabet(text);
  alphabet.encode(options.prompt);
  const codes = alphabet.encode(text);
  const model = new CharacterTransformer(alphabet.characters.length, options);
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3, weightDecay: 0.01 });
  const schedule = new dx.optim.lrScheduler.CosineAnnealingLR(optimizer, { tMax: options.steps, etaMin: 1e-4 });

  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(model.forward(x).flatten(0, 1), y.flatten());
      loss.backward();
      dx.nn.utils.clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );

  say(`${text.length} characters, ${alphabet.characters.length} different ones, on ${String(options.device)}.`);
  const order = dx.defaultGenerator();
  const bar = progress(options.steps, options.json);
  const losses: number[] = [];
  for (let i = 1; i <= options.steps; i++) {
    const starts = Array.from({ length: options.batch }, () => order.nextBelow(codes.length - options.window));
    const rows = (shift: number): dx.Tensor =>
      dx.tensor(
        starts.map((s) => [...codes.subarray(s + shift, s + shift + options.window)]),
        { dtype: "int32" },
      );
    const [x, y] = [rows(0), rows(1)];
    const loss = step(x, y);
    schedule.step();
    if (i % 10 === 0 || i === 1 || i === options.steps) {
      losses.push(await loss.item());
      bar.update(i, { loss: losses.at(-1)!.toFixed(3) });
    }
    for (const t of [loss, x, y]) t.dispose();
  }
  bar.stop();

  let written = "";
  if (!options.json) process.stdout.write(`\n${options.prompt}`);
  for await (const character of write(model, alphabet, options)) {
    written += character;
    if (!options.json) process.stdout.write(character);
  }
  say("");
  if (options.json)
    console.log(
      JSON.stringify({
        device: String(options.device),
        steps: options.steps,
        characters: alphabet.characters.length,
        firstLoss: losses[0],
        lastLoss: losses.at(-1),
        written,
      }),
    );
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
