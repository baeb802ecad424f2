/** Data parallel training: several processes learn one network, each from its part of the batches. Alone it learns from all of them. */
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";

interface Options extends CommonOptions {
  readonly points: number;
  readonly epochs: number;
  readonly batch: number;
  readonly lr: number;
  readonly goal: number;
}

const command = exampleCommand(
  "train-ddp",
  "Several processes learn which of three spirals a point is on, each from its part of the batches.",
)
  .option("--points <n>", "points to learn from", whole(30), 1200)
  .option("--epochs <n>", "passes through them", whole(1), 30)
  .option("--batch <n>", "points a step, of all processes together", whole(1), 64)
  .option("--lr <rate>", "learning rate", real(1e-6, 1), 0.01)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.95);

const ARMS = 3;

/** Points [N, 2] on spirals, and the spiral [N] of each. */
export function spirals(count: number, generator: dx.Generator): [points: dx.Tensor, arms: dx.Tensor] {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  const points = new Float32Array(count * 2);
  const arms = new Int32Array(count);
  for (let n = 0; n < count; n++) {
    const arm = n % ARMS;
    const radius = 0.1 + 0.9 * uniform();
    const angle = radius * 4 + (arm * 2 * Math.PI) / ARMS + (uniform() - 0.5) * 0.4;
    points.set([radius * Math.cos(angle), radius * Math.sin(angle)], n * 2);
    arms[n] = arm;
  }
  return [dx.tensor(points, { shape: [count, 2] }), dx.tensor(arms)];
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const { points, epochs, batch } = options;
  // `npx dxtensor launch`, mpirun and srun tell the processes their ranks.
  const group = dx.distributed.isLaunched() ? await dx.distributed.initProcessGroup() : null;
  const [rank, size] = [group?.rank ?? 0, group?.size ?? 1];

  const model = dx.nn.sequential(dx.nn.linear(2, 32), dx.nn.relu(), dx.nn.linear(32, 32), dx.nn.relu(), dx.nn.linear(32, ARMS));
  const parallel = group === null ? model : dx.distributed.distributedDataParallel(model);
  const optimizer = dx.optim.adam(model.parameters(), { lr: options.lr });
  const [x, y] = spirals(points, new dx.Generator(options.seed));
  // Each process gets other points, all of them the same number.
  const sampler = new dx.data.DistributedSampler(points, { numReplicas: size, rank, seed: options.seed });
  const loader = dx.data.dataLoader(new dx.data.TensorDataset(x, y), { batchSize: Math.max(1, Math.floor(batch / size)), sampler });

  if (rank === 0) say(`${points} points, ${size === 1 ? "one process" : `${size} processes`}, on ${String(options.device)}.`);
  let last = dx.tensor(0);
  for (let epoch = 0; epoch < epochs; epoch++) {
    sampler.setEpoch(epoch);
    for await (const [inputs, targets] of loader) {
      last = dx.nn.functional.crossEntropy(parallel.forward(inputs), targets);
      optimizer.zeroGrad();
      last.backward();
      optimizer.step();
    }
  }
  // The loss of the last batch of all processes.
  const loss = last.detach();
  if (group !== null) await dx.distributed.allReduce(loss, { op: "mean" });

  const [testX, testY] = spirals(600, new dx.Generator(options.seed + 1));
  const right = await dx.noGrad(() => model.forward(testX).argmax(1).eq(testY).to("float32").mean()).item();
  const weights = (await Promise.all(model.parameters().map((p) => p.detach().sum().item()))).reduce((a, b) => a + b, 0);
  await dx.distributed.destroyProcessGroup();

  if (rank === 0) say(`Loss ${(await loss.item()).toFixed(4)}, ${(100 * right).toFixed(1)} % of new points right.`);
  if (options.json) console.log(JSON.stringify({ device: String(options.device), rank, size, loss: await loss.item(), right, weights }));
  if (right < options.goal)
    throw new ExampleError(`The goal of ${options.goal} was missed: ${right.toFixed(3)}. More --epochs may reach it.`);
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
