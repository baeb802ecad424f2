import { afterEach, expect, it, vi } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";

afterEach(() => void vi.unstubAllEnvs());

eachDevice("a launch of one group", (device) => {
  it("is proven to stay inside of an odd number of elements that parts of it read by pairs and one by one", () => {
    vi.stubEnv("DXTENSOR_VERIFY", "1");
    dx.manualSeed(3);
    const p = new dx.nn.Parameter(dx.randn([7], { device }).to("float16"));
    const optimizer = dx.optim.radam([p], { lr: 1e-3, masterWeights: true });
    const step = dx.compile(
      () => {
        const loss = p.to("float32").square().sum();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      },
      { fuse: "always", regions: "none" },
    );
    const losses = [0, 1, 2, 3].map(() => Number(step().dataSync()[0]));
    step.dispose();
    expect(losses[3]!).toBeLessThan(losses[0]!);
  });

  it("has more elements than threads, joins pieces, and gives what operators give in three calls", () => {
    const [eager, fused] = [false, true].map((compiles) => {
      const state = dx.arange(1, 1501, { device, dtype: "float32" }).reshape([30, 50]);
      const step = (): void => {
        const pieces = [state.square().sum(1), state.sum(0)];
        const norm = dx.cat(pieces).square().sum().sqrt();
        state.copy_(dx.add(dx.div(state, dx.div(norm, 1000)), 1));
      };
      const compiled = compiles ? dx.compile(step, { fuse: "always", regions: "none" }) : null;
      for (let i = 0; i < 3; i++) (compiled ?? step)();
      const launches = compiled?.explain().dispatches ?? 0;
      compiled?.dispose();
      return { values: [...(state.dataSync() as Float32Array)], launches };
    });
    expect(fused!.launches).toBe(1);
    fused!.values.forEach((x, i) => expect(Math.abs(x - eager!.values[i]!)).toBeLessThanOrEqual(1e-5 * Math.abs(eager!.values[i]!)));
  });
});
