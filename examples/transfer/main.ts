/** Gives MobileNetV2 a new head that answers another question about digits, and writes the whole as an ONNX file. */
import * as dx from "dxtensor";
import { digitsFolder } from "../digits.ts";
import { ExampleError, exampleCommand, isMain, real, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly model?: string;
  readonly width?: number;
  readonly pretrain: number;
  readonly pictures: number;
  readonly steps: number;
  readonly batch: number;
  readonly goal: number;
  readonly out: string;
}

const command = exampleCommand(
  "transfer",
  "Gives MobileNetV2 a new head that tells even digits from odd ones, and writes the whole as an ONNX file.",
)
  .option(
    "--model <file>",
    "weights of torchvision's mobilenet_v2, .pth or .safetensors (default: the network learns to read digits first)",
  )
  .option("--width <share>", "share of the channels: 1 for torchvision's weights (default: 1 with --model, else 0.25)", real(0.1, 2))
  .option("--pretrain <n>", "steps of reading digits, without --model", whole(1), 500)
  .option("--pictures <n>", "digits to learn from; a quarter as many are held out", whole(40, 8000), 6000)
  .option("--steps <n>", "training steps of the head", whole(1), 200)
  .option("--batch <n>", "digits at a time", whole(1), 32)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.8)
  .option("--out <file>", "where the ONNX file goes", "transfer.onnx");

/** Length and height of a picture. */
const SIZE = 32;

interface Digits {
  /** [count, 3, SIZE, SIZE] */
  readonly x: dx.Tensor;
  /** What each shows, 0 to 9. */
  readonly y: dx.Tensor;
}

/** MNIST's digits with a margin, as pictures of three channels. */
async function digitsOf(count: number, train: boolean): Promise<Digits> {
  const digits = await dx.data.mnist(digitsFolder(), { train, limit: count });
  const loader = dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(digits, { batchSize: count });
  for await (const [x, y] of loader) {
    const grey = x!.pad([2, 2, 2, 2]).sub(0.13).div(0.31);
    return { x: grey.expand([count, 3, SIZE, SIZE]).contiguous(), y: y! };
  }
  throw new ExampleError("There are no digits.");
}

/** MobileNetV2 with weights of a file, or one that has learned to read the digits. Its layers stay as they are from now on. */
async function frozenModel(options: Options, { x, y }: Digits, say: (text: string) => void): Promise<dx.models.MobileNetV2> {
  const { model: file, width = file === undefined ? 0.25 : 1 } = options;
  const config = { model_type: "mobilenet_v2", depth_multiplier: width, ...(file === undefined ? { num_labels: 10 } : {}) };
  const model =
    file === undefined
      ? await dx.models.fromConfig(config, { family: "mobilenet_v2", generator: dx.defaultGenerator() })
      : await saying("The weights can't be read", dx.models.fromPretrained(file, { family: "mobilenet_v2", config }));
  if (file === undefined) {
    model.train();
    const losses = await learn(model, x, y, { ...options, steps: options.pretrain });
    model.eval();
    say(`The network has learned to read digits: loss ${losses[0]!.toFixed(2)} to ${losses.at(-1)!.toFixed(2)}.`);
  }
  dx.nn.utils.freeze(model);
  return model;
}

/** Trains a module on rows that are drawn at random, and gives the losses. */
async function learn(
  module: dx.nn.Layer,
  all: dx.Tensor,
  labels: dx.Tensor,
  { steps, batch, json }: Pick<Options, "steps" | "batch" | "json">,
): Promise<number[]> {
  const optimizer = dx.optim.adamW(module.parameters(), { lr: 3e-3, weightDecay: 0.01 });
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.nn.functional.crossEntropy(module.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  const generator = dx.defaultGenerator();
  const bar = progress(steps, json);
  const losses: number[] = [];
  for (let i = 1; i <= steps; i++) {
    const rows = dx.tensor(Int32Array.from({ length: batch }, () => generator.nextBelow(all.shape[0]!)));
    const [x, y] = [all.indexSelect(0, rows), labels.indexSelect(0, rows)];
    const loss = step(x, y);
    if (i % 10 === 0 || i === 1 || i === steps) {
      losses.push(await loss.item());
      bar.update(i, { loss: losses.at(-1)!.toFixed(3) });
    }
    for (const t of [loss, x, y, rows]) t.dispose();
  }
  bar.stop();
  step.dispose();
  return losses;
}

/** What the head learns from, [N, C]: computed once, since the layers before it do not change. */
function featuresOf(model: dx.models.MobileNetV2, x: dx.Tensor, batch: number): dx.Tensor {
  const run = dx.compile((part: dx.Tensor) => dx.noGrad(() => model.pooledFeatures(part)), { name: "features" });
  const parts: dx.Tensor[] = [];
  for (let at = 0; at < x.shape[0]!; at += batch) parts.push(run(x.narrow(0, at, Math.min(batch, x.shape[0]! - at))));
  run.dispose();
  return dx.cat(parts, 0);
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const [seen, heldOut] = await Promise.all([digitsOf(options.pictures, true), digitsOf(Math.ceil(options.pictures / 4), false)]);
  const model = await frozenModel(options, seen, say);
  const isOdd = ({ y }: Digits): dx.Tensor => y.remainder(2);
  say(`${options.pictures} digits for the new head, on ${String(options.device)}.`);
  const [known, unknown] = [featuresOf(model, seen.x, options.batch), featuresOf(model, heldOut.x, options.batch)];
  const head = dx.nn.sequential(dx.nn.dropout(0.2), dx.nn.linear(known.shape[1]!, 2));
  const losses = await learn(head, known, isOdd(seen), options);
  head.eval();
  model.classifier = head;
  const accuracy = Number(await dx.noGrad(() => head.forward(unknown).argmax(1).eq(isOdd(heldOut)).to("float32").mean().item()));
  say(`${(accuracy * 100).toFixed(1)} % of the digits held out are told right: even or odd.`);

  await dx.io.onnx.export(model, dx.zeros([1, 3, SIZE, SIZE]), options.out, {
    names: { inputs: ["pictures"], outputs: ["logits"] },
    dynamicAxes: { pictures: { 0: "batch" } },
  });
  const exported = await dx.io.onnx.load(options.out);
  const some = heldOut.x.narrow(0, 0, Math.min(8, heldOut.x.shape[0]!));
  const [own, theirs] = dx.noGrad(() => [model.forward(some), exported.call({ pictures: some })["logits"]!]);
  const difference = Number(await dx.sub(own, theirs).abs().max().item());
  exported.dispose();
  say(`${options.out} gives the same logits within ${difference.toExponential(1)}.`);
  if (options.json)
    console.log(
      JSON.stringify({
        device: String(options.device),
        steps: options.steps,
        firstLoss: losses[0],
        lastLoss: losses.at(-1),
        accuracy,
        out: options.out,
        difference,
      }),
    );
  if (difference > 1e-3) throw new ExampleError(`The ONNX file differs from the model by ${difference}.`);
  if (accuracy < options.goal)
    throw new ExampleError(
      `The goal of ${(options.goal * 100).toFixed(1)} % was missed: ${(accuracy * 100).toFixed(1)} %. More --pictures or --steps may reach it.`,
    );
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
