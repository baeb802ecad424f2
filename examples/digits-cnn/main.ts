/** A convolutional network that reads 99 of 100 handwritten digits that it has not seen. */
import * as dx from "dxtensor";
import { digitsFolder } from "../digits.ts";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly epochs: number;
  readonly batch: number;
  readonly limit?: number;
  readonly goal: number;
}

const command = exampleCommand("digits-cnn", "Trains a convolutional network on MNIST's digits until it reads 99 % of those held out.")
  .option("--epochs <n>", "passes through the training digits", whole(1), 6)
  .option("--batch <n>", "digits a step", whole(1), 128)
  .option("--limit <n>", "take the first so many training digits (default: all 60,000)", whole(1))
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.99);

/** Logits [N, 10] from images [N, 1, 28, 28]: about 80,000 parameters. */
export const network = (): dx.nn.Sequential =>
  dx.nn.sequential(
    dx.nn.conv2d(1, 16, 5),
    dx.nn.batchNorm2d(16),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.conv2d(16, 32, 5),
    dx.nn.batchNorm2d(32),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.flatten(),
    dx.nn.dropout(0.3),
    dx.nn.linear(512, 128),
    dx.nn.relu(),
    dx.nn.linear(128, 10),
  );

/** Share of the digits that the network reads as they are labelled. */
export async function accuracyOf(model: dx.nn.Sequential, digits: dx.data.TensorDataset): Promise<number> {
  model.eval();
  const countRight = dx.compile((x: dx.Tensor, y: dx.Tensor) => dx.noGrad(() => model.forward(x).argmax(1).eq(y).sum()), {
    name: "countRight",
  });
  let right = 0;
  for await (const [x, y] of dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(digits, { batchSize: 500 })) {
    const count = countRight(x!, y!);
    right += Number(await count.item());
    for (const t of [count, x!, y!]) t.dispose();
  }
  countRight.dispose();
  model.train();
  return right / digits.length;
}

export async function train(options: Options, say: (text: string) => void): Promise<void> {
  const [digits, heldOut] = await Promise.all([
    dx.data.mnist(digitsFolder(), options.limit === undefined ? {} : { limit: options.limit }),
    dx.data.mnist(digitsFolder(), { train: false }),
  ]);
  const model = network();
  const optimizer = dx.optim.adam(model.parameters(), { lr: 1e-3 });
  const loader = dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(digits, { batchSize: options.batch, shuffle: true, dropLast: true });
  if (loader.length === 0) throw new ExampleError(`A batch of ${options.batch} is more than the ${digits.length} digits there are.`);
  const totalSteps = options.epochs * loader.length;
  const schedule = new dx.optim.lrScheduler.OneCycleLR(optimizer, { maxLr: 5e-3, totalSteps });

  // Forward, backward and update: recorded in the first call, replayed in all others.
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(model.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );

  say(`${digits.length} digits to learn from, ${heldOut.length} held out, on ${String(options.device)}.`);
  const bar = progress(totalSteps, options.json);
  const losses: number[] = [];
  let done = 0;
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    for await (const [x, y] of loader) {
      const loss = step(x!, y!);
      done++;
      if (done < totalSteps) schedule.step();
      if (done % 10 === 0 || done === totalSteps) {
        losses.push(await loss.item());
        bar.update(done, { loss: losses.at(-1)!.toFixed(3) });
      }
      for (const t of [loss, x!, y!]) t.dispose();
    }
  }
  bar.stop();
  const accuracy = await accuracyOf(model, heldOut);
  say(`${(accuracy * 100).toFixed(2)} % of the digits held out are read right.`);
  if (options.json)
    console.log(JSON.stringify({ device: String(options.device), steps: done, firstLoss: losses[0], lastLoss: losses.at(-1), accuracy }));
  if (accuracy < options.goal)
    throw new ExampleError(
      `The goal of ${(options.goal * 100).toFixed(1)} % was missed: ${(accuracy * 100).toFixed(2)} %. More --epochs may reach it.`,
    );
}

if (isMain(import.meta.url)) await runExample<Options>(command, train);
