import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

type Name = "adam" | "lamb" | "sparseAdam" | "adafactor" | "adam8bit" | "nadam";

/** Launches of the update of two linear layers: the counters of all parameters share some. */
const MOST: { readonly [K in Name]: number } = { adam: 2, nadam: 2, lamb: 10, sparseAdam: 8, adafactor: 14, adam8bit: 7 };

eachDevice("the update of two linear layers in few launches", (device) => {
  it.each(Object.entries(MOST))("%s", (name, most) => {
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
    expect(fused!.launches).toBeLessThanOrEqual(most);
  });
});
