/** Classification of a table: a CSV file with text and missing values, an MLP, and metrics of rows that were held out. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";
import { columns, customers, plans } from "./customers.ts";

interface Options extends CommonOptions {
  readonly rows: number;
  readonly epochs: number;
  readonly batch: number;
  readonly goal: number;
}

const command = exampleCommand("tables", "Learns from a CSV file which customers leave, with metrics of those held out.")
  .option("--rows <n>", "rows of the file; every fifth is held out", whole(50), 4000)
  .option("--epochs <n>", "passes through the rows to learn from", whole(1), 20)
  .option("--batch <n>", "rows a step", whole(1), 128)
  .option("--goal <auc>", "exit status 1 below this area under the ROC curve", real(0, 1), 0.85);

interface Rows {
  /** Numbers [N, 4]: age (NaN where it is missing), months, calls, spend. */
  readonly numbers: dx.Tensor;
  /** The plans [N, 3], one-hot. */
  readonly plans: dx.Tensor;
  /** 1 for who left, int32 [N]. */
  readonly left: dx.Tensor;
}

/** The whole file: small tables fit the memory, large ones stay streams of batches. */
async function read(file: string, rows: number): Promise<Rows> {
  for await (const { age, plan, months, calls, spend, left } of dx.data.csv(file, { columns }).batches({ batchSize: rows })) {
    const numbers = dx.stack([age, months, calls, spend], 1);
    const codes = dx.tensor(plan.map((name) => (plans as readonly string[]).indexOf(name)), { dtype: "int32" }); // prettier-ignore
    return { numbers, plans: dx.oneHot(codes, plans.length).to("float32"), left };
  }
  throw new ExampleError("The file has no rows.");
}

/** Rows of a table by their indices. */
const select = ({ numbers, plans: kinds, left }: Rows, at: dx.Tensor): Rows => ({
  numbers: numbers.indexSelect(0, at),
  plans: kinds.indexSelect(0, at),
  left: left.indexSelect(0, at),
});

/** Features of rows: numbers with mean 0 and deviation 1, by those to learn from; the mean for a missing one, and a column that says so; plans. */
function featuresBy(rows: Rows): (of: Rows) => dx.Tensor {
  const mean = dx.nanmean(rows.numbers, 0);
  const deviation = dx.nanmean(rows.numbers.sub(mean).square(), 0).sqrt();
  return (of) =>
    dx.scope(() => {
      const isMissing = of.numbers.isnan();
      const scaled = dx.where(isMissing, 0, of.numbers.sub(mean).div(deviation));
      return dx.cat([scaled, isMissing.slice(1, 0, 1).to("float32"), of.plans], 1);
    });
}

export async function learn(all: Rows, options: Options) {
  const rows = dx.arange(options.rows, { dtype: "int32" });
  const isHeldOut = rows.remainder(5).eq(0);
  const [training, heldOut] = [
    select(all, (await dx.nonzero(isHeldOut.logicalNot())).squeeze(1)),
    select(all, (await dx.nonzero(isHeldOut)).squeeze(1)),
  ];
  const features = featuresBy(training);
  const [x, y] = [features(heldOut), heldOut.left];
  const set = new dx.data.TensorDataset(features(training), training.left);

  const model = dx.nn.sequential(dx.nn.linear(x.shape[1]!, 64), dx.nn.silu(), dx.nn.dropout(0.1), dx.nn.linear(64, 1));
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3, weightDecay: 1e-2 });
  const losses = dx.metrics.mean();
  const metrics = dx.metrics.collection({
    accuracy: dx.metrics.accuracy({ fromLogits: true }),
    f1: dx.metrics.f1({ fromLogits: true }),
    rocAuc: dx.metrics.rocAuc({ fromLogits: true }),
    confusion: dx.metrics.confusionMatrix({ fromLogits: true }),
  });
  const step = dx.compile(
    (bx: dx.Tensor, by: dx.Tensor) => {
      const loss = dx.nn.functional.binaryCrossEntropyWithLogits(model.forward(bx).squeeze(1), by.to("float32"));
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      losses.update(loss);
    },
    { name: "step" },
  );

  const loader = dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(set, { batchSize: options.batch, shuffle: true, dropLast: true });
  const bar = progress(options.epochs, options.json);
  const curve: { loss: number; rocAuc: number }[] = [];
  for (let epoch = 1; ; epoch++) {
    model.train();
    losses.reset();
    for await (const [bx, by] of loader) {
      step(bx!, by!);
      bx!.dispose();
      by!.dispose();
    }
    model.eval();
    metrics.reset();
    dx.noGrad(() => dx.scope(() => metrics.update(model.forward(x).squeeze(1), y)));
    const [loss, values] = await Promise.all([losses.compute(), metrics.compute()]);
    curve.push({ loss, rocAuc: values.rocAuc });
    bar.update(epoch, { loss: loss.toFixed(4), "ROC AUC": values.rocAuc.toFixed(4) });
    if (epoch < options.epochs) continue;
    bar.stop();
    return { ...values, curve };
  }
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-tables-"));
  try {
    const file = join(folder, "customers.csv");
    await writeFile(file, customers(options.rows, new dx.Generator(options.seed)));
    const { accuracy, f1, rocAuc, confusion, curve } = await learn(await read(file, options.rows), options);
    const [[stays, alarms], [missed, found]] = confusion as [[number, number], [number, number]];
    say(`Of ${stays + alarms + missed + found} customers who were held out, ${(accuracy * 100).toFixed(1)} % are told right.`);
    say(
      `Who leaves: ${found} found, ${missed} missed, ${alarms} false alarms. F1 ${f1.toFixed(3)}, area under the ROC curve ${rocAuc.toFixed(3)}.`,
    );
    if (options.json) console.log(JSON.stringify({ device: String(options.device), accuracy, f1, rocAuc, confusion, curve }));
    if (rocAuc < options.goal)
      throw new ExampleError(`The goal of ${options.goal} was missed: ${rocAuc.toFixed(4)}. More --epochs may reach it.`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
