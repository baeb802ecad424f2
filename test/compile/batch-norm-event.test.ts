/** A batch norm layer is one event of a trace: on what that depends besides the tensors. */
import { describe, expect, it, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const message = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    return (error as Error).message;
  }
  return "no error";
};

eachDevice("a batch norm layer in compile", (device) => {
  describe.each(["x", "weight", "bias", "running_mean", "running_var", "num_batches_tracked"])("whose %s is disposed of", (name) => {
    it.each([0, 1, 2])("is refused as without compile, after %i calls", (calls) => {
      const norm = dx.nn.batchNorm1d(3, { device });
      let isDisposed = false;
      const run = (x: dx.Tensor): dx.Tensor => {
        const y = x.mul(2);
        if (isDisposed && name === "x") y.dispose();
        return norm.forward(y);
      };
      const x = dx.randn([4, 3], { device });
      const compiled = dx.compile(run);
      for (let i = 0; i < calls; i++) compiled(x);
      isDisposed = true;
      for (const [key, t] of [...norm.namedParameters(), ...norm.namedBuffers()]) if (key === name) t.dispose();
      const wanted = message(() => run(x));
      expect(wanted).toContain("batchNorm: ");
      expect(wanted).toContain("after dispose()");
      expect(message(() => compiled(x))).toBe(wanted);
      compiled.dispose();
    });
  });

  test("has a history where grad mode is on, in every order of calls", () => {
    for (const order of [
      [true, false, true, false],
      [false, true, true, false, true],
    ]) {
      const norm = dx.nn.batchNorm1d(3, { device });
      let records = true;
      const run = (x: dx.Tensor): dx.Tensor => (records ? norm.forward(x) : dx.noGrad(() => norm.forward(x)));
      const compiled = dx.compile(run);
      for (records of order) {
        const x = dx.randn([4, 3], { device });
        const y = compiled(x);
        expect(y.requiresGrad).toBe(records);
        if (records) {
          y.square().sum().backward();
          expectClose(norm.bias!.grad!, [0, 0, 0], { rtol: 0, atol: 1e-4 });
          norm.zeroGrad();
        }
      }
      compiled.dispose();
    }
  });

  test("under checkpoint() moves its statistics once, and twice without compile", () => {
    for (const isCompiled of [false, true]) {
      const norm = dx.nn.batchNorm1d(3, { device });
      const step = (x: dx.Tensor): dx.Tensor => {
        const loss = dx
          .checkpoint((h: dx.Tensor) => norm.forward(h), x)
          .square()
          .sum();
        loss.backward();
        norm.zeroGrad();
        return loss.detach();
      };
      const compiled = dx.compile(step);
      const run = isCompiled ? compiled : step;
      const counts = [1, 2, 3].map(() => {
        run(dx.randn([4, 3], { device }));
        return Number(norm.batchesTracked!.itemSync());
      });
      expect(counts).toEqual(isCompiled ? [1, 2, 3] : [2, 4, 6]);
      compiled.dispose();
    }
  });
});
