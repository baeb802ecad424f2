/** One training step of the quickstart's network: eager, and compiled. */
import * as dx from "dxtensor";
import { time } from "./measure.ts";

export async function trainingStep(device: dx.Device): Promise<{ eager: number; compiled: number }> {
  const batch = 64;
  const build = (): { step: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor } => {
    dx.manualSeed(1);
    const network = dx.nn
      .sequential(
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
      )
      .to(device);
    const optimizer = dx.optim.adam(network.parameters(), { lr: 1e-3 });
    return {
      step: (x, y) => {
        const loss = dx.crossEntropy(network.forward(x), y);
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
    };
  };
  const x = dx.tensor(
    Float32Array.from({ length: batch * 784 }, (_, i) => Math.sin(i)),
    { shape: [batch, 1, 28, 28], device },
  );
  const y = dx.tensor(
    Int32Array.from({ length: batch }, (_, i) => i % 10),
    { device },
  );
  const measure = (step: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor): number => {
    let last: dx.Tensor | null = null;
    return time(
      () => {
        last?.dispose();
        last = dx.scope(() => step(x, y));
      },
      () => void last?.dataSync(),
      { rounds: 5, least: 0.3 },
    ).seconds;
  };
  const eager = measure(build().step);
  const compiledStep = dx.compile(build().step, { name: "step" });
  const compiled = measure(compiledStep);
  compiledStep.dispose();
  await dx.synchronize(device);
  return { eager, compiled };
}
