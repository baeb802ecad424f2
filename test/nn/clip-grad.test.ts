/** Clipped gradients, compared with PyTorch's formula in float64. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { utils } = dx.nn;
const lists = [[3, -4, 12], [0.5], []];

/** Parameters whose gradients are the lists; one more has none. */
function parameters(): dx.nn.Parameter[] {
  const all = lists.map((g) => {
    const p = new dx.nn.Parameter(dx.zeros([g.length]));
    p.grad = dx.keep(dx.tensor(g));
    return p;
  });
  return [...all, new dx.nn.Parameter(dx.zeros([2]))];
}

const finish = (params: readonly dx.nn.Parameter[]): void => {
  for (const p of params) {
    p.grad?.dispose();
    p.dispose();
  }
};

const flat = lists.flat();

eachDevice("clipped gradients", (device) => {
  for (const normType of [2, 1, 3, Infinity])
    test(`clipGradNorm_ with the norm of order ${normType}`, async () => {
      await clean(device, () => {
        const want =
          normType === Infinity ? Math.max(...flat.map(Math.abs)) : flat.reduce((n, v) => n + Math.abs(v) ** normType, 0) ** (1 / normType);
        for (const maxNorm of [1, 1000]) {
          const params = parameters();
          const total = utils.clipGradNorm_(params, maxNorm, { normType });
          expectClose(total, want, { rtol: 1e-6, atol: 0 });
          const factor = Math.min(1, maxNorm / (want + 1e-6));
          params.slice(0, 2).forEach((p, i) => {
            expectClose(
              p.grad!,
              lists[i]!.map((v) => v * factor),
              { rtol: 1e-6, atol: 0 },
            );
          });
          expect(params[3]!.grad).toBeNull();
          finish(params);
        }
      });
    });

  test("clipGradValue_ limits each element", async () => {
    await clean(device, () => {
      const params = parameters();
      utils.clipGradValue_(params, 3.5);
      expect(params.map((p) => (p.grad === null ? null : numbers(p.grad)))).toEqual([[3, -3.5, 3.5], [0.5], [], null]);
      utils.clipGradValue_(params[0]!, 1);
      expect(numbers(params[0]!.grad!)).toEqual([1, -1, 1]);
      finish(params);
    });
  });

  test("a negative limit, which would turn gradients round, is refused before anything is changed", async () => {
    await clean(device, () => {
      const params = parameters();
      const before = params.map((p) => (p.grad === null ? null : numbers(p.grad)));
      for (const limit of [-1, -Infinity, NaN]) {
        expect(() => utils.clipGradNorm_(params, limit)).toThrow("clipGradNorm_: maxNorm must be a number of at least 0");
        expect(() => utils.clipGradValue_(params, limit)).toThrow("clipGradValue_: clipValue must be a number of at least 0");
        expect(() => utils.clipGradsWithNorm_(params, limit, dx.tensor(1))).toThrow("maxNorm must be a number of at least 0");
      }
      expect(params.map((p) => (p.grad === null ? null : numbers(p.grad)))).toEqual(before);
      finish(params);
    });
  });

  test("a norm that is not finite is refused only on request; nothing to clip has norm 0", async () => {
    await clean(device, () => {
      const p = new dx.nn.Parameter(dx.zeros([2]));
      expect(utils.clipGradNorm_([p], 1).itemSync()).toBe(0);
      p.grad = dx.keep(dx.tensor([Infinity, 1]));
      expect(() => utils.clipGradNorm_(p, 1, { errorIfNonfinite: true })).toThrow(/of a finite norm of order 2/);
      expect(numbers(p.grad)).toEqual([Infinity, 1]);
      utils.clipGradNorm_(p, 1);
      expect(numbers(p.grad)).toEqual([NaN, 0]);
      finish([p]);
    });
  });

  test("inside a compiled step", async () => {
    await clean(
      device,
      () => {
        const p = new dx.nn.Parameter(dx.tensor([1, 1]));
        const optimizer = dx.optim.sgd([p], { lr: 1 });
        const step = dx.compile((x: dx.Tensor) => {
          dx.mul(p, x).sum().backward();
          const norm = utils.clipGradNorm_([p], 5);
          optimizer.step();
          optimizer.zeroGrad();
          return norm;
        });
        let want = [1, 1];
        for (const x of [
          [3, 4],
          [30, 40],
          [1, 0],
        ] as const) {
          const norm = Math.hypot(...x);
          expectClose(step(dx.tensor(x)), norm, { rtol: 1e-6, atol: 0 });
          want = want.map((w, i) => w - x[i]! * Math.min(1, 5 / (norm + 1e-6)));
          expectClose(p, want, { rtol: 1e-5, atol: 1e-6 });
        }
        step.dispose();
        optimizer.dispose();
        p.dispose();
      },
      { collect: true },
    );
  });
});
