/** Branches in a trace: inputs with gradients of their own, writes that depend on a boolean, and tensors that nobody outside may use. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import {
  branchInput,
  branchInputs,
  close,
  inBranch,
  isInBranch,
  isOwn,
  outsideOf,
  takenBranch,
  valueIfTaken,
} from "../../src/autograd/branch.ts";
import { clean, eachDevice, numbers } from "../device.ts";

type T = dx.Tensor;

eachDevice("a branch", (device) => {
  test("sees a tensor through another one, whose gradient is zero where it is not taken", () =>
    clean(
      device,
      () => {
        const run = dx.compile((x: T, k: T) => {
          const taken = k.gt(0).reshape([]);
          const y = inBranch(taken, () => {
            const seen = branchInput(x);
            expect([seen === x, outsideOf(seen) === x, isOwn(seen), isOwn(x), takenBranch() === taken]).toEqual([
              false,
              true,
              true,
              false,
              true,
            ]);
            expect(branchInputs([seen, taken]).every((t, i) => t === [seen, taken][i])).toBe(true);
            return seen.mul(3);
          });
          expect([isInBranch(), isOwn(y), branchInput(x) === x]).toEqual([false, false, true]);
          const sum = y.sum();
          close(taken);
          return dx.grad(sum, [x])[0]!;
        });
        for (const v of [1, -1, 2])
          expect(numbers(run(dx.ones([2], { requiresGrad: true }), dx.tensor([v])))).toEqual(v > 0 ? [3, 3] : [0, 0]);
        expect(run.programs).toBe(1);
      },
      { collect: true },
    ));

  test("writes to what is outside if it is taken, and to its own tensors in any case", () =>
    clean(
      device,
      () => {
        const run = dx.compile((x: T, k: T) => {
          const taken = k.gt(0).reshape([]);
          const own = inBranch(taken, () => {
            const made = x.mul(2);
            expect(valueIfTaken(x, made) === x).toBe(true);
            expect(valueIfTaken(made, x) === made).toBe(false);
            x.add_(1);
            return made.add_(5).sum();
          });
          const result = own.add(x.sum());
          close(taken);
          return result;
        });
        expect([1, -1].map((v) => run(dx.ones([1]), dx.tensor([v])).itemSync())).toEqual([9, 8]);
      },
      { collect: true },
    ));

  test("is nothing outside of a trace", () => {
    const x = dx.ones([1], { requiresGrad: true });
    inBranch(dx.tensor(false), () => {
      expect([isInBranch(), branchInput(x) === x, valueIfTaken(x, x) === x]).toEqual([false, true, true]);
    });
  });
});
