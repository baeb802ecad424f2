import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

type Name = "adam" | "lamb" | "sparseAdam" | "adafactor" | "adam8bit" | "nadam";

/** Launches of the update of two linear layers: the counters of all parameters share some. */
const MAX_LAUNCHES: { readonly [K in Name]: number } = { adam: 2, nadam: 2, lamb: 2, sparseAdam: 2, adafactor: 6, adam8bit: 2 };

eachDevice("the update of two linear layers in few launches", (device) => {
  it.each(Object.entries(MAX_LAUNCHES))("%s", (name, max) => {
    const [eager, fused] = [false, true].map((compiles) => {
      dx.manualSeed(3);
      const network = dx.nn.sequential(dx.nn.linear(8, 16), dx.nn.tanh(), dx.nn.linear(16, 4));
      network.to(device);
      const optimizer = dx.optim[name as Name]([...network.parameters()], { lr: 0.01 });
      const x = dx.randn([5, 8], { device, generator: new dx.Generator(1) });
      const step = (): dx.Tensor => {
        const loss = network.forward(x).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      };
      const compiled = compiles ? dx.compile(step, { fuse: "always", regions: "none" }) : null;
      const losses = [0, 1, 2, 3].map(() => Number((compiled ?? step)().dataSync()[0]));
      // A launch that computes a gradient too is there without the update.
      const own = compiled?.explain().nodes.filter(({ origin }) => origin.includes(name) && !origin.includes("matmul")) ?? [];
      compiled?.dispose();
      return { losses, launches: own.length };
    });
    fused!.losses.forEach((loss, i) => expect(loss).toBeCloseTo(eager!.losses[i]!, 5));
    expect(fused!.launches).toBeLessThanOrEqual(max);
  });
});

/** Launches of a step of two linear layers with Adam: forward, backward, what is done to the gradients, and the update. */
const MAX_LAUNCHES_OF_STEP = { alone: 5, "gradients clipped by their norm": 7, "a scaled loss": 6 } as const;

eachDevice("a step with Adam in few launches", (device) => {
  it.each(Object.entries(MAX_LAUNCHES_OF_STEP))("%s", (kind, max) => {
    const [eager, fused] = [false, true].map((compiles) => {
      dx.manualSeed(3);
      const network = dx.nn.sequential(dx.nn.linear(8, 16), dx.nn.tanh(), dx.nn.linear(16, 4));
      network.to(device);
      const parameters = [...network.parameters()];
      const optimizer = dx.optim.adam(parameters, { lr: 0.01 });
      const scaler = new dx.optim.GradScaler({ initScale: 1024 });
      const x = dx.randn([5, 8], { device, generator: new dx.Generator(1) });
      const step = (): dx.Tensor => {
        const loss = network.forward(x).square().mean();
        if (kind === "a scaled loss") {
          scaler.scale(loss).backward();
          scaler.stepOnDevice(optimizer);
          scaler.update();
        } else {
          loss.backward();
          if (kind !== "alone") dx.nn.utils.clipGradNorm_(parameters, 0.1);
          optimizer.step();
        }
        optimizer.zeroGrad();
        return loss;
      };
      const compiled = compiles ? dx.compile(step, { fuse: "always", regions: "none" }) : null;
      const losses = [0, 1, 2, 3].map(() => Number((compiled ?? step)().dataSync()[0]));
      const launches = compiled?.explain().dispatches ?? 0;
      compiled?.dispose();
      return { losses, launches };
    });
    fused!.losses.forEach((loss, i) => expect(loss).toBeCloseTo(eager!.losses[i]!, 5));
    expect(fused!.losses[3]!).toBeLessThan(fused!.losses[0]!);
    expect(fused!.launches).toBeLessThanOrEqual(max);
  });
});
