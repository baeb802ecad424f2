import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { isExact } from "./as-eager.ts";

const noise = (n: number, seed: number): Float32Array =>
  Float32Array.from({ length: n }, (_, i) => Math.sin((i + 1) * 12.9898 * (seed + 1)) * 0.9);

interface Case {
  readonly name: string;
  readonly input: readonly number[];
  readonly classes: number;
  readonly make: () => dx.nn.Sequential;
}

/** Convolutions before BatchNorm have no bias: its gradient is rounding errors alone, of which Adam makes steps as large as any. */
const cases: readonly Case[] = [
  {
    name: "the quickstart's convolutions, with BatchNorm and dropout",
    input: [8, 1, 14, 14],
    classes: 10,
    make: () =>
      dx.nn.sequential(
        dx.nn.conv2d(1, 4, 3, { bias: false }),
        dx.nn.batchNorm2d(4),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.conv2d(4, 8, 3),
        dx.nn.relu(),
        dx.nn.maxPool2d(2),
        dx.nn.flatten(),
        dx.nn.dropout(0.25),
        dx.nn.linear(32, 16),
        dx.nn.relu(),
        dx.nn.linear(16, 10),
      ),
  },
  {
    name: "a perceptron with LayerNorm, GELU and dropout",
    input: [16, 12],
    classes: 5,
    make: () =>
      dx.nn.sequential(
        dx.nn.linear(12, 24),
        dx.nn.layerNorm(24),
        dx.nn.gelu(),
        dx.nn.dropout(0.5),
        dx.nn.linear(24, 24),
        dx.nn.tanh(),
        dx.nn.linear(24, 5),
      ),
  },
  {
    name: "average pooling, BatchNorm and a strided convolution",
    input: [6, 2, 9, 9],
    classes: 4,
    make: () =>
      dx.nn.sequential(
        dx.nn.conv2d(2, 6, 3, { stride: 2, padding: 1, bias: false }),
        dx.nn.batchNorm2d(6),
        dx.nn.sigmoid(),
        dx.nn.avgPool2d(2),
        dx.nn.flatten(),
        dx.nn.linear(24, 4),
      ),
  },
];

interface Run {
  readonly losses: readonly number[];
  readonly state: ReadonlyMap<string, readonly number[]>;
}

async function train(device: string, which: Case, compiled: boolean, steps: number): Promise<Run> {
  return dx.withDevice(device, async () => {
    dx.manualSeed(7);
    const network = which.make().to(device);
    const optimizer = dx.optim.adam(network.parameters(), { lr: 0.01 });
    const eager = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
      const loss = dx.crossEntropy(network.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    };
    const step = compiled ? dx.compile(eager, { name: which.name }) : eager;
    const rows = which.input[0]!;
    const size = which.input.reduce((a, b) => a * b, 1);
    const losses: number[] = [];
    for (let i = 0; i < steps; i++) {
      optimizer.lr = 0.01 / (1 + i / 10);
      const x = dx.tensor(noise(size, i % 2), { shape: which.input });
      const y = dx.tensor(Int32Array.from({ length: rows }, (_, k) => (k * 3 + (i % 2)) % which.classes));
      losses.push(await step(x, y).item());
    }
    const state = new Map<string, readonly number[]>();
    for (const [name, t] of Object.entries(network.stateDict() as unknown as Record<string, dx.Tensor>))
      state.set(name, Array.from((await t.data()) as ArrayLike<number | bigint>, Number));
    return { losses, state };
  });
}

describe.each(devices)("training on %s", (device) => {
  it.each(cases)("50 compiled steps agree with 50 eager ones: $name", async (which) => {
    const eager = await train(device, which, false, 50);
    const compiled = await train(device, which, true, 50);
    expect(Math.min(...eager.losses.slice(-10))).toBeLessThan(eager.losses[0]!);
    // Fused arithmetic rounds otherwise; Adam divides by small second moments, which makes the difference grow with the steps. Fused shaders do so from
    // the first step on.
    const [ofLoss, ofState] = isExact(device) ? [2e-3, 5e-3] : [2e-2, 5e-2];
    compiled.losses.forEach((loss, i) =>
      expect(Math.abs(loss - eager.losses[i]!), `loss of step ${i}`).toBeLessThan(ofLoss! * Math.max(1, eager.losses[i]!)),
    );
    expect([...compiled.state.keys()]).toEqual([...eager.state.keys()]);
    for (const [name, values] of compiled.state) {
      const want = eager.state.get(name)!;
      values.forEach((v, i) => expect(Math.abs(v - want[i]!), `${name}[${i}]`).toBeLessThan(ofState! * Math.max(1, Math.abs(want[i]!))));
    }
  });
});
