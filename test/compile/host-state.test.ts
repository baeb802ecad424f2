/** The library's host state is up to date in each call of a compiled function, also if its JavaScript does not run. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectAsEager } from "./as-eager.ts";

const { lrScheduler } = dx.optim;
const CALLS = 5;

/** What body leaves of w in each call: eagerly, and compiled without checks, which must not differ. */
function inBoth(
  make: () => { readonly body: () => void; readonly between?: (call: number) => void; readonly w: dx.Tensor | (() => number[]) },
): void {
  const run = (check: boolean | null): number[][] => {
    const { body, between, w } = make();
    const fn = check === null ? body : dx.compile(body, { check });
    return Array.from({ length: CALLS }, (_, call) => {
      fn();
      between?.(call);
      return w instanceof dx.Tensor ? numbers(w) : w();
    });
  };
  const want = run(null);
  expectAsEager(run(false), want);
  expectAsEager(run(true), want);
}

const leaf = (values: number[] = [1]): dx.Tensor => dx.tensor(values, { requiresGrad: true });

eachDevice("state on the host in compiled calls without checks", (device) => {
  const isolated = async (body: () => void): Promise<void> => {
    // The default generator's state stays.
    dx.rand([1], { device }).dispose();
    await clean(device, body, { collect: true });
  };

  test("a schedule outside: 0, -0.1, -0.11, as PyTorch", () =>
    isolated(() => {
      const w = leaf();
      const optimizer = dx.optim.sgd([w], { lr: 1 });
      const schedule = new lrScheduler.ExponentialLR(optimizer, { gamma: 0.1 });
      const step = dx.compile(
        () => {
          w.sum().backward();
          optimizer.step();
          optimizer.zeroGrad();
        },
        { check: false },
      );
      const got = Array.from({ length: 3 }, () => {
        step();
        schedule.step();
        return w.itemSync();
      });
      expect(got[0]).toBeCloseTo(0, 6);
      expect(got[1]).toBeCloseTo(-0.1, 6);
      expect(got[2]).toBeCloseTo(-0.11, 6);
      expect(step.programs).toBe(1);
    }));

  test("schedules inside, of all kinds, with momentum too", () =>
    isolated(() => {
      const schedules: ((o: dx.optim.Optimizer) => () => void)[] = [
        (o) => {
          const s = new lrScheduler.OneCycleLR(o, { maxLr: 0.5, totalSteps: 20 });
          return () => s.step();
        },
        (o) => {
          const s = new lrScheduler.ReduceLROnPlateau(o, { patience: 0, factor: 0.5 });
          return () => s.step(1);
        },
        (o) => {
          const s = new lrScheduler.ChainedScheduler({
            schedulers: [new lrScheduler.LinearLR(o), new lrScheduler.StepLR(o, { stepSize: 2 })],
          });
          return () => s.step();
        },
      ];
      for (const schedule of schedules)
        inBoth(() => {
          const w = leaf([1, -2]);
          const optimizer = dx.optim.adam([w], { lr: 0.25 });
          const next = schedule(optimizer);
          const body = (): void => {
            for (let i = 0; i < 2; i++) {
              w.square().sum().backward();
              optimizer.step();
              optimizer.zeroGrad();
              next();
            }
          };
          return { body, w };
        });
    }));

  test("rates that the function itself sets between its steps", () =>
    isolated(() => {
      inBoth(() => {
        const w = leaf();
        const optimizer = dx.optim.sgd([w], { lr: 0.5 });
        const body = (): void => {
          for (const lr of [0.5, 0.125]) {
            optimizer.lr = lr;
            w.sum().backward();
            optimizer.step();
            optimizer.zeroGrad();
          }
        };
        return { body, w };
      });
    }));

  test("an option that changes between calls", () =>
    isolated(() => {
      inBoth(() => {
        const w = leaf();
        const optimizer = dx.optim.sgd([w], { lr: 0.5 });
        const body = (): void => {
          w.sum().backward();
          optimizer.step();
          optimizer.zeroGrad();
        };
        const between = (call: number): void => {
          if (call === 1) optimizer.paramGroups[0]!.options.weightDecay = 0.5;
          if (call === 2) optimizer.paramGroups[0]!.options.momentum = 0.5;
        };
        return { body, between, w };
      });
    }));

  test("a parameter that takes its first step later, and one that takes none for a while", () =>
    isolated(() => {
      for (const kind of ["adam", "radam", "nadam", "asgd"] as const)
        inBoth(() => {
          const [a, w] = [leaf(), leaf([1, 2])];
          const optimizer = dx.optim[kind]([a, w], { lr: 0.1 });
          const body = (): void => {
            w.square().sum().backward();
            optimizer.step();
            w.square().add(a).sum().backward();
            optimizer.step();
            optimizer.zeroGrad();
          };
          return { body, w: () => [...numbers(a), ...numbers(w)] };
        });
    }));

  test("permutations and random numbers are drawn again, seeds are set again", () =>
    isolated(() => {
      inBoth(() => {
        const generator = new dx.Generator(7);
        const w = dx.zeros([9]);
        const body = (): void => {
          w.copy_(dx.cat([dx.randperm(4, { generator, dtype: "float32" }), dx.rand([5], { generator })]));
        };
        return { body, w };
      });
      inBoth(() => {
        const generator = new dx.Generator(7);
        const w = dx.zeros([6]);
        const body = (): void => {
          const before = dx.randperm(4, { generator, dtype: "float32" });
          generator.manualSeed(3);
          w.copy_(dx.cat([before.narrow(0, 0, 2), dx.randperm(4, { generator, dtype: "float32" })]));
        };
        return { body, w };
      });
    }));

  test("train() and eval() are seen", () =>
    isolated(() => {
      inBoth(() => {
        const norm = dx.nn.batchNorm1d(2);
        const x = dx.tensor([[1, 2], [3, 5]]); // prettier-ignore
        const w = dx.zeros([2, 2]);
        const body = (): void => {
          w.copy_(norm.forward(x).detach());
        };
        return { body, w, between: (call) => void norm.train(call % 2 === 1) };
      });
    }));
});
