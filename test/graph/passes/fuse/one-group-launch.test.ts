import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";

eachDevice("a launch of one group", (device) => {
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
