/** Regression on a table, with a chart in the browser that grows while it learns. */
import { once } from "node:events";
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, port, real, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";
import { friedman, type Table } from "./friedman.ts";
import { LivePage } from "./page.ts";

interface Options extends CommonOptions {
  readonly rows: number;
  readonly epochs: number;
  readonly batch: number;
  readonly noise: number;
  readonly port: number;
  readonly stay: boolean;
  readonly goal: number;
}

const command = exampleCommand("regression", "Learns a number from the columns of a table, with a live chart in the browser.")
  .option("--rows <n>", "rows to learn from", whole(10), 4000)
  .option("--epochs <n>", "passes through them", whole(1), 60)
  .option("--batch <n>", "rows a step", whole(1), 128)
  .option("--noise <deviation>", "standard deviation of what can't be learned", real(0, 100), 0.5)
  .option("--port <n>", "port of the page; 0 takes any", port, 0)
  .option("--stay", "leaves the page open until Ctrl-C", false)
  .option("--goal <r2>", "exit status 1 below this share of explained variance", real(0, 1), 0.97);

/** Columns with mean 0 and deviation 1: what the training rows have is taken from both tables. */
class Scaling {
  readonly mean: dx.Tensor;
  readonly deviation: dx.Tensor;

  constructor(x: dx.Tensor) {
    this.mean = x.mean(0);
    this.deviation = x.std(0);
  }

  apply(x: dx.Tensor): dx.Tensor {
    return dx.scope(() => x.sub(this.mean).div(this.deviation));
  }

  undo(x: dx.Tensor): dx.Tensor {
    return dx.scope(() => x.mul(this.deviation).add(this.mean));
  }
}

/** Share of the variance of y that the predictions explain: 1 is all, 0 is what the mean does. */
export const explained = (predicted: dx.Tensor, y: dx.Tensor): dx.Tensor =>
  dx.scope(() => dx.sub(1, predicted.sub(y).square().sum().div(y.sub(y.mean()).square().sum())));

async function learn(table: Table, heldOut: Table, page: LivePage, options: Options): Promise<number> {
  const [columns, target] = [new Scaling(table.x), new Scaling(table.y)];
  const rows = new dx.data.TensorDataset(columns.apply(table.x), target.apply(table.y));
  const [x, y] = [columns.apply(heldOut.x), target.apply(heldOut.y)];
  const model = dx.nn.sequential(dx.nn.linear(10, 64), dx.nn.silu(), dx.nn.linear(64, 64), dx.nn.silu(), dx.nn.linear(64, 1));
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3, weightDecay: 1e-3 });
  const schedule = new dx.optim.lrScheduler.CosineAnnealingLR(optimizer, { tMax: options.epochs });
  const step = dx.compile(
    (bx: dx.Tensor, by: dx.Tensor) => {
      const loss = dx.nn.functional.mseLoss(model.forward(bx), by);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  const errorOf = dx.compile((bx: dx.Tensor, by: dx.Tensor) => dx.noGrad(() => dx.nn.functional.mseLoss(model.forward(bx), by)), {
    name: "errorOf",
  });
  const loader = dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(rows, { batchSize: options.batch, shuffle: true });
  const total = options.epochs * loader.length;
  const bar = progress(total, options.json);
  let done = 0;
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    const losses: Promise<number>[] = [];
    for await (const [bx, by] of loader) {
      const loss = step(bx!, by!);
      losses.push(loss.item());
      for (const t of [loss, bx!, by!]) t.dispose();
      done++;
    }
    schedule.step();
    const error = errorOf(x, y);
    const [values, now] = await Promise.all([Promise.all(losses), error.item()]);
    error.dispose();
    page.add({ step: done, training: values.reduce((a, b) => a + b, 0) / values.length, heldOut: now });
    bar.update(done, { "held out": now.toFixed(4) });
  }
  bar.stop();
  return dx.noGrad(() => explained(target.undo(model.forward(x)), heldOut.y)).item();
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const generator = new dx.Generator(options.seed);
  const [table, heldOut] = [friedman(options.rows, options.noise, generator), friedman(1000, 0, generator)];
  const page = await saying(`No page at port ${options.port}`, LivePage.open("Regression on a table", options.port));
  try {
    if (options.json) console.log(JSON.stringify({ page: page.address }));
    say(`Open ${page.address} to see it learn.`);
    const r2 = await learn(table, heldOut, page, options);
    page.end();
    say(`${(r2 * 100).toFixed(1)} % of the variance of 1000 rows that were held out is explained.`);
    if (options.json) console.log(JSON.stringify({ device: String(options.device), r2 }));
    if (r2 < options.goal) throw new ExampleError(`The goal of ${options.goal} was missed: ${r2.toFixed(4)}. More --epochs may reach it.`);
    if (options.stay) {
      say("The page stays until Ctrl-C.");
      await once(process, "SIGINT");
    }
  } finally {
    await page.close();
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
