/** One training step of the quickstart's network: eager, and compiled. */
import * as dx from "dxtensor";
import { CASES } from "./device/networks.ts";
import { stepOf, type Step } from "./device/steps.ts";
import { time } from "./measure.ts";

const quickstart = CASES.find(({ name }) => name === "quickstart")!;

export async function trainingStep(device: dx.Device): Promise<{ eager: number; compiled: number }> {
  const batch = 64;
  const build = (): Step => {
    dx.manualSeed(1);
    const network = quickstart.build().to(device);
    return stepOf(network, quickstart.optimizer(network.parameters()));
  };
  const x = dx.tensor(
    Float32Array.from({ length: batch * 784 }, (_, i) => Math.sin(i)),
    { shape: [batch, 1, 28, 28], device },
  );
  const y = dx.tensor(
    Int32Array.from({ length: batch }, (_, i) => i % 10),
    { device },
  );
  const measure = (step: Step): number => {
    let last: dx.Tensor | null = null;
    return time(
      () => {
        last?.dispose();
        last = dx.scope(() => step(x, y));
      },
      () => void last?.dataSync(),
      { rounds: 5, minSeconds: 0.3 },
    ).seconds;
  };
  const eager = measure(build());
  const compiledStep = dx.compile(build(), { name: "step" });
  const compiled = measure(compiledStep);
  compiledStep.dispose();
  await dx.synchronize(device);
  return { eager, compiled };
}
