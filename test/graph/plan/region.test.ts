import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, numbers } from "../../device.ts";

/** Losses and the last weights of six steps, so that state, flat gradients and statistics all count. */
function train(
  device: string,
  regions: "whole" | "head" | "none" | undefined,
): { losses: number[]; weights: number[]; dispatches: number } {
  dx.manualSeed(3);
  const network = dx.nn.sequential(
    dx.nn.conv2d(1, 3, 3),
    dx.nn.batchNorm2d(3),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.flatten(),
    dx.nn.linear(27, 5),
  );
  network.to(device);
  const optimizer = dx.optim.adam(network.parameters(), { lr: 0.01 });
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.crossEntropy(network.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step", ...(regions === undefined ? {} : { regions }) },
  );
  const generator = new dx.Generator(5);
  const x = dx.randn([8, 1, 8, 8], { device, generator });
  const y = dx.tensor([0, 1, 2, 3, 4, 0, 1, 2], { device, dtype: "int32" });
  const losses = Array.from({ length: 6 }, () => numbers(step(x, y))[0]!);
  const weights = network.parameters().flatMap((p) => numbers(p));
  const { dispatches } = step.explain();
  step.dispose();
  for (const t of [x, y, ...network.parameters(), ...network.buffers()]) t.dispose();
  return { losses, weights, dispatches };
}

eachDevice("regions", (device) => {
  it("give the same training whatever is one graph", () => {
    const none = train(device, "none");
    const others = (["head", "whole"] as const).map((regions) => train(device, regions));
    expect(none.losses[5]!).toBeLessThan(none.losses[0]!);
    // Fewer dispatches each time: all alone, those before the first update together, all together.
    expect(others[0]!.dispatches).toBeLessThan(none.dispatches);
    expect(others[1]!.dispatches).toBe(1);
    for (const other of others) {
      other.losses.forEach((loss, i) => expect(loss).toBeCloseTo(none.losses[i]!, 4));
      other.weights.forEach((w, i) => expect(w).toBeCloseTo(none.weights[i]!, 3));
    }
  });

  it.each(["whole", "head", "none"] as const)("read the first part of a value, as it lies and otherwise: %s", (regions) => {
    const x = dx.tensor([1, 2, 3, 4, 5, 6], { device, dtype: "int32" });
    const f = dx.compile(
      (t: dx.Tensor) => {
        const whole = dx.cat([t.slice(0, 3, 6), t.slice(0, 0, 3)]);
        const first = whole.slice(0, 0, 3);
        return [
          t.slice(0, 0, 3).clone(),
          t.add(0),
          first.add(1),
          first.neg(),
          first.mul(first),
          whole.reshape([2, 3]).select(0, 0).clamp(5, 9),
          whole.slice(0, 0, 1).abs(),
        ];
      },
      { regions },
    );
    const want = [[1, 2, 3], [1, 2, 3, 4, 5, 6], [5, 6, 7], [-4, -5, -6], [16, 25, 36], [5, 5, 6], [4]];
    for (let call = 0; call < 3; call++) expect(f(x).map((t) => numbers(t))).toEqual(want);
    f.dispose();
    x.dispose();
  });
});
