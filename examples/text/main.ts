/** Classification of text: JSON Lines, a tokenizer of Hugging Face, batches of similar lengths, and a small transformer. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as dx from "dxtensor";
import { loadTokenizer, type Tokenizer } from "dxtensor/text";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { reviewLines, wordTokenizer } from "./reviews.ts";

interface Options extends CommonOptions {
  readonly reviews: number;
  readonly width: number;
  readonly epochs: number;
  readonly batch: number;
  readonly goal: number;
}

const command = exampleCommand("text", "Learns which reviews are good. Needs the package @huggingface/tokenizers.")
  .option("--reviews <n>", "reviews; every fifth is held out", whole(50), 3000)
  .option("--width <n>", "width of the transformer, a multiple of 4", whole(4, 512), 32)
  .option("--epochs <n>", "passes through the reviews to learn from", whole(1), 8)
  .option("--batch <n>", "reviews a step", whole(1), 64)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.95);

type Sample = readonly [tokens: Int32Array, label: number];
type Batch = readonly [inputIds: dx.Tensor, attentionMask: dx.Tensor, labels: dx.Tensor];

/** One logit [N] for each row of tokens [N, L]: positions that were filled up are left out everywhere. */
export class Reader extends dx.nn.Module {
  readonly words: dx.nn.Embedding;
  readonly positions: dx.nn.Embedding;
  readonly layer: dx.nn.TransformerEncoderLayer;
  readonly head: dx.nn.Linear;

  constructor(vocabulary: number, longest: number, width: number) {
    super();
    this.words = dx.nn.embedding(vocabulary, width);
    this.positions = dx.nn.embedding(longest, width);
    this.layer = dx.nn.transformerEncoderLayer(width, 4, { dimFeedforward: 2 * width, dropout: 0.1, batchFirst: true });
    this.head = dx.nn.linear(width, 1);
  }

  override forward(inputIds: dx.Tensor, attentionMask: dx.Tensor): dx.Tensor {
    const positions = dx.arange(inputIds.shape[1]!, { dtype: "int32", device: inputIds.device });
    const x = this.words.forward(inputIds).add(this.positions.forward(positions));
    const y = this.layer.forward(x, { srcKeyPaddingMask: attentionMask.eq(0) });
    const mask = attentionMask.unsqueeze(2).to("float32");
    return this.head.forward(y.mul(mask).sum(1).div(mask.sum(1))).squeeze(1);
  }
}

/** The tokens and label of each line. */
async function read(file: string, tokenizer: Tokenizer): Promise<Sample[]> {
  const parse = (value: unknown): Sample => {
    const { text, label } = value as { readonly text: string; readonly label: number };
    return [tokenizer.encode(text, { maxLength: 64 }), label];
  };
  const samples: Sample[] = [];
  for await (const sample of dx.data.jsonLines(file, { parse })) samples.push(sample);
  return samples;
}

/** Batches of similar lengths, so that little is filled up. */
function batchesOf(samples: readonly Sample[], tokenizer: Tokenizer, batchSize: number, shuffle: boolean) {
  const batchSampler = new dx.data.LengthBatchSampler(samples.map(([tokens]) => tokens.length), { batchSize, shuffle }); // prettier-ignore
  return dx.data.dataLoader(samples, {
    batchSampler,
    collateFn: (rows: Sample[]): Batch => {
      const { inputIds, attentionMask } = tokenizer.collate(rows.map(([tokens]) => tokens));
      return [inputIds, attentionMask, dx.tensor(Float32Array.from(rows, ([, label]) => label))];
    },
  });
}

async function learn(samples: readonly Sample[], tokenizer: Tokenizer, options: Options) {
  const isHeldOut = (i: number): boolean => i % 5 === 4;
  const training = samples.filter((_, i) => !isHeldOut(i));
  const heldOut = samples.filter((_, i) => isHeldOut(i));
  const vocabulary = 1 + samples.reduce((largest, [tokens]) => Math.max(largest, ...tokens), 0);
  const model = new Reader(vocabulary, 64, options.width);
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3, weightDecay: 1e-2 });
  const { history } = await dx.train.fit(batchesOf(training, tokenizer, options.batch, true), {
    model,
    optimizer,
    epochs: options.epochs,
    clipNorm: 1,
    loss: ([inputIds, attentionMask, labels]) => {
      const outputs = model.forward(inputIds, attentionMask);
      return { loss: dx.nn.functional.binaryCrossEntropyWithLogits(outputs, labels), outputs, targets: labels.to("int32") };
    },
    evaluate: {
      loader: batchesOf(heldOut, tokenizer, options.batch, false),
      metrics: { accuracy: dx.metrics.accuracy({ fromLogits: true }) },
    },
    quiet: options.json,
  });
  model.eval();
  /** The chance that a text is a good review. */
  const chanceOf = async (text: string): Promise<number> => {
    const { inputIds, attentionMask } = tokenizer.collate([tokenizer.encode(text)]);
    return dx.noGrad(() => model.forward(inputIds, attentionMask).sigmoid()).item();
  };
  return { curve: history.map(({ loss, evaluation }) => ({ loss, accuracy: evaluation!["accuracy"]! })), chanceOf };
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  if (options.width % 4 !== 0)
    throw new ExampleError(`The width must be a multiple of 4, the heads of attention, but is ${options.width}.`);
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-text-"));
  try {
    const [file, vocabulary] = [join(folder, "reviews.jsonl"), join(folder, "tokenizer.json")];
    const lines = reviewLines(options.reviews, new dx.Generator(options.seed));
    await writeFile(file, lines);
    await writeFile(vocabulary, wordTokenizer(lines.trim().split("\n").map((line) => (JSON.parse(line) as { text: string }).text))); // prettier-ignore
    const tokenizer = await loadTokenizer(vocabulary);
    const { curve, chanceOf } = await learn(await read(file, tokenizer), tokenizer, options);
    const { accuracy } = curve.at(-1)!;
    say(`Of the reviews that were held out, ${(accuracy * 100).toFixed(1)} % are told right.`);
    const chances: Record<string, number> = {};
    for (const text of ["The cast was great", "The cast was never great", "The plot was anything but dull"]) {
      chances[text] = await chanceOf(text);
      say(`  "${text}" is good with a chance of ${chances[text].toFixed(2)}.`);
    }
    if (options.json) console.log(JSON.stringify({ device: String(options.device), accuracy, chances, curve }));
    if (accuracy < options.goal)
      throw new ExampleError(`The goal of ${options.goal} was missed: ${accuracy.toFixed(4)}. More --epochs or --reviews may reach it.`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
