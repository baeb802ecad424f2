/** Classification of images in folders: decoded in worker threads, augmented on the device, learned by dx.train.fit. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as dx from "dxtensor";
import { imageFolder } from "dxtensor/images";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { writeShapes } from "./shapes.ts";

interface Options extends CommonOptions {
  readonly folder?: string;
  readonly images: number;
  readonly size: number;
  readonly epochs: number;
  readonly batch: number;
  readonly workers: number;
  readonly goal: number;
}

const command = exampleCommand("images", "Learns classes of images from folders, one folder for each class. Needs the package sharp.")
  .option("--folder <path>", "a folder with train/ and test/, each with a folder of images for each class (default: made-up shapes)")
  .option("--images <n>", "made-up images of each class to learn from", whole(8), 120)
  .option("--size <n>", "height and width that images are resized to", whole(8, 512), 32)
  .option("--epochs <n>", "passes through the images", whole(1), 12)
  .option("--batch <n>", "images a step", whole(1), 32)
  .option("--workers <n>", "threads that decode", whole(0, 64), 2)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.9);

const { augment } = dx.data;

/** Logits [N, classes] from bytes [N, 3, H, W]; while it learns, from images that are moved, mirrored and coloured at random. */
export class Network extends dx.nn.Module {
  readonly layers: dx.nn.Sequential;

  constructor(classes: number) {
    super();
    const block = (from: number, to: number) => [
      dx.nn.conv2d(from, to, 3, { padding: 1, bias: false }),
      dx.nn.batchNorm2d(to),
      dx.nn.relu(),
    ];
    this.layers = dx.nn.sequential(
      ...block(3, 16),
      dx.nn.maxPool2d(2),
      ...block(16, 32),
      dx.nn.maxPool2d(2),
      ...block(32, 64),
      dx.nn.adaptiveAvgPool2d(1),
      dx.nn.flatten(),
      dx.nn.linear(64, classes),
    );
  }

  override forward(images: dx.Tensor): dx.Tensor {
    let x = images;
    if (this.training) {
      const cropped = augment.randomCrop(x, x.shape[3]!, { padding: 3, paddingMode: "reflect" });
      x = augment.colorJitter(augment.horizontalFlip(cropped), { brightness: 0.2, contrast: 0.2, hue: 0.1 });
    }
    return this.layers.forward(augment.normalize(x, [0.5, 0.5, 0.5], [0.25, 0.25, 0.25]));
  }
}

async function learn(root: string, options: Options, say: (text: string) => void): Promise<void> {
  const { size, batch, epochs, goal } = options;
  const decoded = { resize: size, crop: [size, size] } as const;
  const [training, heldOut] = await Promise.all([imageFolder(join(root, "train"), decoded), imageFolder(join(root, "test"), decoded)]);
  if (training.classes.join() !== heldOut.classes.join())
    throw new ExampleError(`train/ has ${training.classes.join(", ")}, but test/ has ${heldOut.classes.join(", ")}.`);
  const { classes } = training;
  say(`${training.length} images of ${classes.length} classes to learn from (${classes.join(", ")}), ${heldOut.length} held out.`);

  const workers = { numWorkers: options.workers, persistentWorkers: options.workers > 0 };
  const model = new Network(classes.length);
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 5e-3, weightDecay: 1e-2 });
  const confusion = dx.metrics.confusionMatrix({ numClasses: classes.length });
  const loader = dx.data.dataLoader(training, { batchSize: batch, shuffle: true, dropLast: true, ...workers });
  const testLoader = dx.data.dataLoader(heldOut, { batchSize: batch, ...workers });
  try {
    const { history } = await dx.train.fit(loader, {
      model,
      optimizer,
      epochs,
      loss: ([images, labels]) => {
        const outputs = model.forward(images);
        return { loss: dx.nn.functional.crossEntropy(outputs, labels), outputs, targets: labels };
      },
      schedule: new dx.optim.lrScheduler.CosineAnnealingLR(optimizer, { tMax: epochs }),
      evaluate: { loader: testLoader, metrics: { accuracy: dx.metrics.accuracy({ numClasses: classes.length }) } },
      monitor: "accuracy",
      mode: "max",
      compile: true,
      quiet: options.json,
    });
    model.eval();
    for await (const [images, labels] of testLoader) {
      dx.noGrad(() => dx.scope(() => confusion.update(model.forward(images), labels)));
      for (const tensor of [images, labels]) tensor.dispose();
    }
    const counts = (await confusion.compute()) as number[][];
    const accuracy = history.at(-1)!.evaluation!["accuracy"]!;
    say(`Of ${heldOut.length} images that were held out, ${(accuracy * 100).toFixed(1)} % are told right.`);
    for (const [i, row] of counts.entries()) say(`  ${classes[i]}: ${row.map((count, k) => `${count} as ${classes[k]}`).join(", ")}`);
    const curve = history.map(({ loss, evaluation }) => ({ loss, accuracy: evaluation!["accuracy"]! }));
    if (options.json) console.log(JSON.stringify({ device: String(options.device), classes, accuracy, confusion: counts, curve }));
    if (accuracy < goal)
      throw new ExampleError(`The goal of ${goal} was missed: ${accuracy.toFixed(4)}. More --epochs or --images may reach it.`);
  } finally {
    await Promise.all([loader.close(), testLoader.close()]);
  }
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  if (options.folder !== undefined) return learn(options.folder, options, say);
  const root = await mkdtemp(join(tmpdir(), "dxtensor-images-"));
  try {
    const generator = new dx.Generator(options.seed);
    await writeShapes(join(root, "train"), options.images, generator);
    await writeShapes(join(root, "test"), Math.ceil(options.images / 4), generator);
    await learn(root, options, say);
  } finally {
    await rm(root, { recursive: true });
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
