/** The call in which a compiled function turns out to have an operation that no program holds runs its JavaScript once, as every other. */
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const matrix = (d: number): dx.Tensor => dx.tensor([[d, 1], [0, d]], { requiresGrad: true }); // prettier-ignore

/** Each call's results, and what it left of the state outside; the first is the interpreted one. */
function inBoth(make: () => { readonly body: (...args: dx.Tensor[]) => dx.Tensor[]; readonly state: dx.Tensor[] }, calls = 3): void {
  const run = (isCompiled: boolean): { readonly seen: number[][]; readonly runs: number } => {
    const { body, state } = make();
    let runs = 0;
    const counted = (...args: dx.Tensor[]): dx.Tensor[] => {
      runs++;
      return body(...args);
    };
    const fn = isCompiled ? dx.compile(counted) : counted;
    const seen = Array.from({ length: calls }, (_, i) => {
      const [m, x] = [matrix(i + 2), dx.tensor([i + 1, -2], { requiresGrad: true })];
      const results = fn(m, x);
      const leaving = results.filter((t) => t.requiresGrad);
      if (leaving.length > 0) leaving.map((t) => t.sum()).reduce((a, b) => a.add(b)).backward(); // prettier-ignore
      return [...results, m, x, ...state].flatMap((t) => [...numbers(t.detach()), ...(t.isLeaf && t.grad !== null ? numbers(t.grad) : [])]);
    });
    return { seen, runs };
  };
  const [want, got] = [run(false), run(true)];
  expect(got.runs).toBe(calls);
  got.seen.forEach((values, i) => {
    expectClose(dx.tensor(values), want.seen[i]!, { rtol: 1e-5, atol: 1e-6 });
  });
}

eachDevice("a function with a host operation", (device) => {
  const silent = (): void => {};
  beforeAll(() => void process.on("warning", silent));
  afterAll(() => void process.off("warning", silent));

  const isolated = async (body: () => void): Promise<void> => {
    // The default generator's state stays.
    dx.rand([1], { device }).dispose();
    await clean(device, body, { collect: true });
  };

  test("steps its schedule once: w is 0, -0.5, -0.75, -0.875", () =>
    isolated(() => {
      const w = dx.tensor([1], { requiresGrad: true });
      const optimizer = dx.optim.sgd([w], { lr: 1 });
      const schedule = new dx.optim.lrScheduler.ExponentialLR(optimizer, { gamma: 0.5 });
      let runs = 0;
      const step = dx.compile((m: dx.Tensor) => {
        runs++;
        dx.linalg.inv(m);
        w.sum().backward();
        optimizer.step();
        optimizer.zeroGrad();
        schedule.step();
      });
      const got = Array.from({ length: 4 }, () => {
        step(matrix(2));
        return w.itemSync();
      });
      expect(got).toEqual([0, -0.5, -0.75, -0.875]);
      expect(runs).toBe(4);
    }));

  test("results, their histories, and views of them", () =>
    isolated(() => {
      inBoth(() => ({
        body: (m, x) => {
          const inverse = dx.linalg.inv(m);
          const y = inverse.matmul(x).mul(3);
          return [y, inverse.narrow(0, 0, 1), x, dx.tensor([1, 2, 3])];
        },
        state: [],
      }));
    }));

  test("gradients that need a host operation themselves", () =>
    isolated(() => {
      inBoth(() => ({ body: (m, x) => [dx.linalg.solve(m, x), dx.linalg.cholesky(m.matmul(m.t()))], state: [] }));
    }));

  test("writes to state, to arguments and to views of both, read again behind the write", () =>
    isolated(() => {
      inBoth(() => {
        const mean = dx.zeros([4]);
        const weight = dx.tensor([2, 3], { requiresGrad: true });
        return {
          body: (m, x) => {
            const half = mean.narrow(0, 1, 2);
            half.add_(x.detach());
            mean.mul_(2);
            const det = dx.linalg.det(m.detach().clone());
            dx.noGrad(() => {
              m.narrow(1, 0, 1).add_(mean.narrow(0, 0, 2).reshape([2, 1]));
              x.mul_(2);
            });
            weight.mul(half).sum().backward();
            return [det, half.clone(), weight.mul(mean.narrow(0, 2, 2))];
          },
          state: [mean, weight],
        };
      });
    }));

  test("random numbers, numbers that change, batch norm, a training step", () =>
    isolated(() => {
      let k = 0;
      inBoth(() => {
        const generator = new dx.Generator(3);
        const norm = dx.nn.batchNorm1d(2);
        const optimizer = dx.optim.radam(norm.parameters(), { lr: 0.1 });
        k = 0;
        return {
          body: (m, x) => {
            const noise = dx.rand([2, 2], { generator }).add(dx.randperm(2, { generator, dtype: "float32" }));
            const loss = norm.forward(dx.linalg.inv(m).add(noise).mul(++k)).square().mul(x).sum();
            loss.backward({ retainGraph: false });
            optimizer.step();
            optimizer.zeroGrad();
            return [loss.detach()];
          },
          state: [...norm.parameters(), ...norm.buffers()],
        };
      });
    }));

  test("changes nothing where the operation itself fails", () =>
    isolated(() => {
      const state = dx.zeros([2]);
      const w = dx.tensor([1], { requiresGrad: true });
      const optimizer = dx.optim.adam([w], { lr: 0.1 });
      const schedule = new dx.optim.lrScheduler.ExponentialLR(optimizer, { gamma: 0.5 });
      const fn = dx.compile((m: dx.Tensor) => {
        state.add_(1);
        w.sum().backward();
        optimizer.step();
        schedule.step();
        return dx.linalg.inv(m);
      });
      expect(() => fn(dx.zeros([2, 2]))).toThrow(dx.DxError);
      expect(numbers(state)).toEqual([0, 0]);
      expect([w.itemSync(), w.grad, optimizer.lr]).toEqual([1, null, 0.1]);
      expect(optimizer.stateDict().state).toEqual({});
      expect(state.version).toBe(0);
    }));

  test("is refused in strict mode, with everything as it was", () =>
    isolated(() => {
      const state = dx.zeros([2]);
      const fn = dx.compile((m: dx.Tensor) => {
        state.add_(1);
        return dx.linalg.inv(m);
      });
      dx.setStrict(true);
      try {
        expect(() => fn(matrix(2))).toThrow(dx.UnsupportedError);
      } finally {
        dx.setStrict(null);
      }
      expect(numbers(state)).toEqual([0, 0]);
    }));
});
