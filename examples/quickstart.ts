/**
 * npm start: lists the devices, trains a small convolutional network on real handwritten digits, eager and then compiled, tests
 * it, saves and reloads it, and classifies some digits.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { SingleBar } from "cli-progress";
import * as dx from "dxtensor";
import { digitsFolder, drawDigit } from "./digits.ts";
import { digitNetwork } from "./network.ts";
import { renderPage } from "./page.ts";

const help = `npm start [-- OPTIONS]

  --device NAME     "cpu", "dml:0", ... (default: the first hardware adapter, else cpu)
  --epochs N        passes through the 60,000 training digits (default 1)
  --batch N         digits a step (default 64)
  --eager N         steps to run eagerly before compiling (default 200)
  --seed N          seed of weights and shuffling (default 1)
  --out FOLDER      where checkpoint and page go (default build/quickstart)
  --json            one line of JSON instead of text
  --help            this text

Exit status 1 when less than 97 % of the held-out digits are recognised.`;

const GOAL = 0.97;
const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

interface Options {
  readonly device: dx.Device;
  readonly epochs: number;
  readonly batch: number;
  readonly eager: number;
  readonly seed: number;
  readonly out: string;
  readonly json: boolean;
}

function whole(name: string, text: string, min: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < min) throw new dx.ValueError("npm start", `--${name}`, `an integer of at least ${min}`, text);
  return value;
}

function readOptions(args: string[]): Options | null {
  const { values } = parseArgs({
    args,
    options: {
      device: { type: "string" },
      epochs: { type: "string", default: "1" },
      batch: { type: "string", default: "64" },
      eager: { type: "string", default: "200" },
      seed: { type: "string", default: "1" },
      out: { type: "string", default: join(root, "build", "quickstart") },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return null;
  const device =
    values.device === undefined
      ? dx.defaultDevice()
      : values.device.startsWith("dml")
        ? dx.dml.device(dx.device(values.device).index)
        : dx.device(values.device);
  return {
    device,
    epochs: whole("epochs", values.epochs, 1),
    batch: whole("batch", values.batch, 1),
    eager: whole("eager", values.eager, 0),
    seed: whole("seed", values.seed, 0),
    out: values.out,
    json: values.json,
  };
}

function listDevices(say: (text: string) => void, chosen: dx.Device): void {
  const names: [string, string][] = [];
  for (let i = 0; i < dx.dml.deviceCount(); i++) names.push([`dml:${i}`, dx.dml.deviceName(i)]);
  names.push(["cpu", "software adapter of dxtensor"]);
  say("Devices:");
  for (const [id, name] of names) say(`  ${id === String(chosen) ? "*" : " "} ${id.padEnd(6)} ${name}`);
}

/** Fraction of digits recognised. */
async function accuracyOf(network: dx.nn.Sequential, digits: dx.data.TensorDataset): Promise<number> {
  network.eval();
  const classify = dx.compile((x: dx.Tensor) => dx.noGrad(() => dx.argmax(network.forward(x), 1)), { name: "classify" });
  let right = 0;
  for await (const [x, y] of dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(digits, { batchSize: 500 })) {
    const found = classify(x!);
    const [guesses, labels] = await Promise.all([found.data(), y!.data()]);
    for (let i = 0; i < labels.length; i++) if (guesses[i] === labels[i]) right++;
    for (const t of [found, x!, y!]) t.dispose();
  }
  classify.dispose();
  return right / digits.length;
}

async function main(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (options === null) {
    console.log(help);
    return 0;
  }
  const { device, json } = options;
  const say = json ? (): void => {} : (text: string): void => console.log(text);
  const started = performance.now();
  listDevices(say, device);
  dx.setDefaultDevice(device);

  const train = await dx.data.mnist(digitsFolder());
  const test = await dx.data.mnist(digitsFolder(), { train: false });
  say(`\n${train.length} digits to learn from, ${test.length} held out.`);
  dx.manualSeed(options.seed);
  const network = digitNetwork(device);
  const optimizer = dx.optim.adam(network.parameters(), { lr: 2e-3 });
  const loader = dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(train, { batchSize: options.batch, shuffle: true, dropLast: true });

  const step = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
    const loss = dx.crossEntropy(network.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const compiled = dx.compile(step, { name: "step" });

  const total = options.epochs * loader.length;
  const eagerSteps = Math.min(options.eager, Math.floor(total / 2));
  const losses: number[] = [];
  const seconds = { eager: 0, compiled: 0 };
  const bar = new SingleBar({
    format: "{phase} {bar} {value}/{total} steps  loss {loss}  {rate} images/s",
    hideCursor: true,
    clearOnComplete: false,
    noTTYOutput: false,
  });
  if (!json) bar.start(total, 0, { phase: "eager   ", loss: "-", rate: "-" });
  network.train();
  let done = 0;
  let pending: Promise<number>[] = [];
  let mark = performance.now();
  const settle = async (): Promise<void> => {
    losses.push(...(await Promise.all(pending)));
    pending = [];
  };
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    for await (const [x, y] of loader) {
      const eager = done < eagerSteps;
      const loss = eager ? dx.scope(() => step(x!, y!)) : compiled(x!, y!);
      pending.push(loss.item());
      for (const t of [loss, x!, y!]) t.dispose();
      done++;
      if (done === eagerSteps || done % 50 === 0 || done === total) {
        await settle();
        const now = performance.now();
        seconds[eager ? "eager" : "compiled"] += (now - mark) / 1000;
        mark = now;
        const rate = eager ? (done * options.batch) / seconds.eager : ((done - eagerSteps) * options.batch) / seconds.compiled;
        if (!json) bar.update(done, { phase: eager ? "eager   " : "compiled", loss: losses.at(-1)!.toFixed(3), rate: Math.round(rate) });
      }
    }
  }
  if (!json) bar.stop();
  const imagesPerSecond = {
    eager: seconds.eager > 0 ? (eagerSteps * options.batch) / seconds.eager : null,
    compiled: ((total - eagerSteps) * options.batch) / seconds.compiled,
  };
  const accuracy = await accuracyOf(network, test);
  say(`\n${(accuracy * 100).toFixed(2)} % of the ${test.length} held-out digits recognised.`);

  mkdirSync(options.out, { recursive: true });
  const checkpoint = join(options.out, "digits.safetensors");
  await dx.io.safetensors.save(checkpoint, network.stateDict());
  const reloaded = digitNetwork(device);
  reloaded.loadStateDict((await dx.io.safetensors.load(checkpoint)).tensors);
  reloaded.eval();
  say(`Saved to ${relative(process.cwd(), checkpoint)} and loaded again:\n`);
  const shown = [0, 1, 2, 3, 4];
  const [images, labels] = await Promise.all(test.batch(shown).map((t) => t.data()));
  const guesses = await dx.noGrad(() => dx.argmax(reloaded.forward(test.batch(shown)[0]!), 1)).data();
  const drawings = shown.map((i) => drawDigit((images as Float32Array).subarray(i * 784, (i + 1) * 784)));
  for (let line = 0; line < drawings[0]!.length; line++) say(drawings.map((d) => d[line]).join("  "));
  say(shown.map((i) => `it is ${labels![i]}, read as ${guesses[i]}`.padEnd(24)).join(""));

  const elapsed = (performance.now() - started) / 1000;
  const summary = {
    device: String(device),
    adapter: device.type === "dml" ? dx.dml.deviceName(device.index) : "software adapter",
    accuracy,
    epochs: options.epochs,
    steps: total,
    imagesPerSecondEager: imagesPerSecond.eager,
    imagesPerSecondCompiled: imagesPerSecond.compiled,
    firstLoss: losses[0],
    lastLoss: losses.at(-1),
    seconds: elapsed,
    checkpoint,
    page: join(options.out, "loss.html"),
    reloadedRead: shown.map((i) => [Number(labels![i]), Number(guesses[i])]),
  };
  const rate = (v: number | null): string => (v === null ? "none" : `${Math.round(v)} images/s`);
  writeFileSync(
    summary.page,
    renderPage({
      device: `${summary.device} (${summary.adapter})`,
      losses,
      eagerSteps,
      facts: [
        ["Held-out digits recognised", `${(accuracy * 100).toFixed(2)} %`],
        ["Eager", rate(imagesPerSecond.eager)],
        ["Compiled", rate(imagesPerSecond.compiled)],
        ["Steps", `${total} of ${options.batch} digits`],
        ["Whole run", `${elapsed.toFixed(1)} s`],
      ],
    }),
  );
  say(`\nLoss curve: ${pathToFileURL(summary.page).href}`);
  if (json) console.log(JSON.stringify(summary));
  else
    console.log(
      `${summary.device}: ${(accuracy * 100).toFixed(2)} % right, eager ${rate(imagesPerSecond.eager)}, compiled ${rate(imagesPerSecond.compiled)}, ${elapsed.toFixed(1)} s`,
    );
  if (accuracy < GOAL) console.error(`The goal is ${GOAL * 100} %.`);
  return accuracy < GOAL ? 1 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isOption = `${(error as { code?: unknown }).code}`.startsWith("ERR_PARSE_ARGS");
  if (!(error instanceof dx.DxError) && !isOption) throw error;
  console.error(isOption ? `${(error as Error).message}\n\n${help}` : (error as Error).message);
  if (error instanceof dx.DeviceError)
    console.error(
      `Devices here: ${["cpu", ...Array.from({ length: dx.dml.deviceCount() }, (_, i) => `dml:${i}`)].join(", ")}. On Linux without WSL, docs/runtimes.md says how to add one.`,
    );
  process.exitCode = 1;
}
