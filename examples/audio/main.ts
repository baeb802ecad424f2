/** Classification of sound: WAV files, spectrograms on the device, and a convolutional network. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as dx from "dxtensor";
import { ExampleError, exampleCommand, isMain, real, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { frames, kindNames, sampleRate, writeSounds } from "./sounds.ts";

interface Options extends CommonOptions {
  readonly sounds: number;
  readonly epochs: number;
  readonly batch: number;
  readonly goal: number;
}

const command = exampleCommand("audio", "Learns five kinds of sound from WAV files, by their spectrograms.")
  .option("--sounds <n>", "sounds of each kind to learn from", whole(8), 80)
  .option("--epochs <n>", "passes through the sounds", whole(1), 10)
  .option("--batch <n>", "sounds a step", whole(1), 32)
  .option("--goal <share>", "exit status 1 below this share of right answers", real(0, 1), 0.9);

const nFft = 128;

/** How loud each frequency is at each time, in bels: [N, 1, nFft / 2 + 1, 1 + frames / hop] from waves [N, 1, frames]. */
export function spectrogram(waves: dx.Tensor, window: dx.Tensor): dx.Tensor {
  const spectrum = dx.stft(waves.squeeze(1), nFft, { window, returnComplex: false });
  return spectrum.square().sum(-1).add(1e-3).log10().unsqueeze(1);
}

/** Logits [N, kinds] from waves [N, 1, frames]. */
export class Listener extends dx.nn.Module {
  readonly window = dx.hannWindow(nFft);
  readonly layers: dx.nn.Sequential;

  constructor(kinds: number) {
    super();
    const block = (from: number, to: number) => [
      dx.nn.conv2d(from, to, 3, { padding: 1, stride: 2, bias: false }),
      dx.nn.batchNorm2d(to),
      dx.nn.relu(),
    ];
    this.layers = dx.nn.sequential(
      dx.nn.batchNorm2d(1),
      ...block(1, 8),
      ...block(8, 16),
      ...block(16, 32),
      dx.nn.adaptiveAvgPool2d([3, 4]),
      dx.nn.flatten(),
      dx.nn.dropout(0.2),
      dx.nn.linear(32 * 12, kinds),
    );
  }

  override forward(waves: dx.Tensor): dx.Tensor {
    return this.layers.forward(spectrogram(waves, this.window));
  }
}

type File = readonly [path: string, label: number];

/** A file is decoded when a batch needs it. */
const soundsOf = (files: readonly File[]) =>
  dx.data.map(files, async ([path, label]) => [(await dx.io.wav.read(path, { numFrames: frames })).waveform, label] as const);

async function learn(training: readonly File[], heldOut: readonly File[], options: Options) {
  const model = new Listener(kindNames.length);
  const optimizer = dx.optim.adamW(model.parameters(), { lr: 3e-3, weightDecay: 1e-2 });
  const numClasses = kindNames.length;
  const { history } = await dx.train.fit(
    dx.data.dataLoader(soundsOf(training), { batchSize: options.batch, shuffle: true, dropLast: true }),
    {
      model,
      optimizer,
      epochs: options.epochs,
      loss: ([waves, labels]) => {
        const outputs = model.forward(waves);
        return { loss: dx.nn.functional.crossEntropy(outputs, labels), outputs, targets: labels };
      },
      schedule: new dx.optim.lrScheduler.CosineAnnealingLR(optimizer, { tMax: options.epochs }),
      evaluate: {
        loader: dx.data.dataLoader(soundsOf(heldOut), { batchSize: options.batch }),
        metrics: { accuracy: dx.metrics.accuracy({ numClasses }), recall: dx.metrics.recall({ numClasses, average: "none" }) },
      },
      compile: true,
      quiet: options.json,
    },
  );
  return history.map(({ loss, evaluation }) => ({
    loss,
    accuracy: evaluation!["accuracy"]!,
    recall: kindNames.map((_, kind) => evaluation![`recall.${kind}`]!),
  }));
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-audio-"));
  try {
    const generator = new dx.Generator(options.seed);
    const training = await writeSounds(join(folder, "train"), options.sounds, generator);
    const heldOut = await writeSounds(join(folder, "test"), Math.ceil(options.sounds / 4), generator);
    say(`${training.length} sounds of ${frames / sampleRate} s to learn from (${kindNames.join(", ")}), ${heldOut.length} held out.`);
    const curve = await learn(training, heldOut, options);
    const { accuracy, recall } = curve.at(-1)!;
    say(`Of ${heldOut.length} sounds that were held out, ${(accuracy * 100).toFixed(1)} % are told right.`);
    for (const [kind, share] of recall.entries()) say(`  ${kindNames[kind]}: ${(share * 100).toFixed(0)} %`);
    if (options.json) console.log(JSON.stringify({ device: String(options.device), kinds: kindNames, accuracy, recall, curve }));
    if (accuracy < options.goal)
      throw new ExampleError(`The goal of ${options.goal} was missed: ${accuracy.toFixed(4)}. More --epochs or --sounds may reach it.`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
