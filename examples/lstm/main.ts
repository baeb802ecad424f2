/** The adding problem: an LSTM remembers two marked numbers of a long sequence, and gives their sum. */
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly length: number;
  readonly width: number;
  readonly steps: number;
  readonly batch: number;
  readonly lr: number;
  readonly goal: number;
}

const command = exampleCommand("lstm", "The adding problem: an LSTM gives the sum of the two marked numbers of a sequence.")
  .option("--length <n>", "numbers in a sequence", whole(2), 30)
  .option("--width <n>", "width of the hidden state", whole(1), 48)
  .option("--steps <n>", "training steps", whole(1), 1500)
  .option("--batch <n>", "sequences a step", whole(1), 64)
  .option("--lr <rate>", "learning rate", real(1e-6, 1), 5e-3)
  .option("--goal <error>", "exit status 1 above this mean squared error (always saying 1 has 0.167)", real(0, 10), 0.01);

/** Sequences [N, T, 2] of numbers in [0, 1) with marks, and the sums [N] of the two that are marked. */
export function problems(count: number, length: number, generator: dx.Generator): [sequences: dx.Tensor, sums: dx.Tensor] {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  const x = new Float32Array(count * length * 2);
  const sums = new Float32Array(count);
  for (let n = 0; n < count; n++) {
    for (let t = 0; t < length; t++) x[(n * length + t) * 2] = uniform();
    // One mark in the first half, one in the second.
    const half = length >> 1;
    for (const t of [generator.nextBelow(half), half + generator.nextBelow(length - half)]) {
      x[(n * length + t) * 2 + 1] = 1;
      sums[n] = sums[n]! + x[(n * length + t) * 2]!;
    }
  }
  return [dx.tensor(x, { shape: [count, length, 2] }), dx.tensor(sums)];
}

/** A number from each sequence. */
export class Adder extends dx.nn.Module {
  readonly memory: dx.nn.LSTM;
  readonly head: dx.nn.Linear;

  constructor(width: number) {
    super();
    this.memory = dx.nn.lstm(2, width, { batchFirst: true });
    this.head = dx.nn.linear(width, 1);
  }

  override forward(x: dx.Tensor): dx.Tensor {
    const { output } = this.memory.forward(x);
    return this.head.forward(output.select(1, -1)).squeeze(1);
  }
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const { length, batch, steps } = options;
  const model = new Adder(options.width);
  const optimizer = dx.optim.adam(model.parameters(), { lr: options.lr });
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.mseLoss(model.forward(x), y);
      loss.backward();
      dx.nn.utils.clipGradNorm_(model.parameters(), 1);
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );

  say(`Sequences of ${length} numbers, on ${String(options.device)}.`);
  const generator = new dx.Generator(options.seed);
  const bar = progress(steps, options.json);
  const losses: number[] = [];
  for (let i = 1; i <= steps; i++) {
    const [x, y] = problems(batch, length, generator);
    const loss = step(x, y);
    if (i % 10 === 0 || i === 1 || i === steps) {
      losses.push(await loss.item());
      bar.update(i, { "mean squared error": losses.at(-1)!.toFixed(4) });
    }
    for (const t of [loss, x, y]) t.dispose();
  }
  bar.stop();

  // Other sequences than those it has learned from.
  const [x, y] = problems(1000, length, new dx.Generator(options.seed + 1));
  model.eval();
  const found = dx.noGrad(() => model.forward(x));
  const error = await dx.nn.functional.mseLoss(found, y).item();
  const [sums, answers] = (await Promise.all([y.data(), found.data()])) as [Float32Array, Float32Array];
  say(`Mean squared error on 1000 new sequences: ${error.toFixed(4)}. Three of them:`);
  for (const i of [0, 1, 2]) say(`  ${sums[i]!.toFixed(3)}, read as ${answers[i]!.toFixed(3)}`);
  if (options.json)
    console.log(JSON.stringify({ device: String(options.device), steps, firstLoss: losses[0], lastLoss: losses.at(-1), error }));
  if (error > options.goal)
    throw new ExampleError(`The goal of ${options.goal} was missed: ${error.toFixed(4)}. More --steps may reach it.`);
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
