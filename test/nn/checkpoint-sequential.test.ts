import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const layers = (): dx.nn.Layer[] => [dx.nn.linear(3, 4), dx.nn.tanh(), dx.nn.linear(4, 4), dx.nn.sigmoid(), dx.nn.linear(4, 2)];

eachDevice("checkpointSequential", (device) => {
  test("gives and derives what the chain does, for every number of segments", () => {
    dx.rand([1]).dispose();
    return clean(
      device,
      () => {
        dx.manualSeed(1);
        const chain = dx.nn.sequential(...layers());
        const x = dx.tensor([[0.3, -0.4, 0.5]], { requiresGrad: true });
        const inputs = [x, ...chain.parameters()];
        const want = dx.grad(chain(x).square().sum(), inputs);
        for (const segments of [1, 2, 3, 5])
          for (const functions of [chain, [...chain, (t: dx.Tensor) => t.mul(1)]] as const)
            dx.grad(dx.nn.checkpointSequential(functions, segments, x).square().sum(), inputs).forEach((g, i) =>
              expectClose(g, numbers(want[i]!)),
            );
      },
      { collect: true },
    );
  });

  test("calls all segments but the last again, and refuses other numbers of them", () => {
    const calls: number[] = [];
    const part = (i: number) => (t: dx.Tensor) => (calls.push(i), t.exp());
    const x = dx.tensor([0.1], { requiresGrad: true });
    dx.nn.checkpointSequential([part(0), part(1), part(2), part(3), part(4)], 2, x).backward();
    expect(calls).toEqual([0, 1, 2, 3, 4, 0, 1]);
    for (const segments of [0, -1, 1.5, 6, Number.NaN])
      expect(() => dx.nn.checkpointSequential([part(0), part(1), part(2), part(3), part(4)], segments, x)).toThrow(dx.ValueError);
    expect(() => dx.nn.checkpointSequential(dx.nn.sequential(), 1, x)).toThrow(dx.ValueError);
    expect(() => dx.nn.checkpointSequential(3 as never, 1, x)).toThrow(dx.DxError);
  });
});
