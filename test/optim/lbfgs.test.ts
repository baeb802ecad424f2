/** LBFGS compared with PyTorch's recorded results in float64 (pytorch/record-lbfgs.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

interface Recorded {
  readonly start: readonly (readonly number[])[];
  readonly runs: readonly {
    readonly options: Readonly<Record<string, number | string>>;
    readonly losses: readonly number[];
    readonly after: readonly (readonly (readonly number[])[])[];
    readonly counts: readonly [number, number];
  }[];
}
const recorded = JSON.parse(readFileSync(new URL("pytorch/lbfgs.json", import.meta.url), "utf8")) as Recorded;

function optionsOf(options: Readonly<Record<string, number | string>>): Partial<dx.optim.LBFGSOptions> {
  const { line_search_fn: search, lr, max_iter: maxIter, history_size: historySize, tolerance_change: toleranceChange } = options;
  return {
    ...(search === undefined ? {} : { lineSearchFn: "strongWolfe" as const }),
    ...Object.fromEntries(Object.entries({ lr, maxIter, historySize, toleranceChange }).filter(([, v]) => v !== undefined)),
  };
}

/** Rosenbrock's valley and a quartic. */
function lossOf(a: dx.Tensor, b: dx.Tensor): dx.Tensor {
  const [x, y] = [dx.select(a, 0, 0), dx.select(a, 0, 1)];
  const valley = dx.add(dx.square(dx.sub(1, x)), dx.mul(dx.square(dx.sub(y, dx.square(x))), 20));
  return dx.add(dx.add(valley, dx.sum(dx.square(dx.square(dx.sub(b, 2))))), dx.sum(dx.mul(x, b)));
}

const make = (options: Partial<dx.optim.LBFGSOptions>) => {
  const params = recorded.start.map((s) => new dx.nn.Parameter(dx.tensor(s))) as [dx.nn.Parameter, dx.nn.Parameter];
  const optimizer = dx.optim.lbfgs(params, options);
  const closure = (): dx.Tensor => {
    optimizer.zeroGrad();
    const loss = lossOf(...params);
    loss.backward();
    return loss;
  };
  return { params, optimizer, closure };
};

eachDevice("LBFGS", (device) => {
  for (const [i, { options, losses, after, counts }] of recorded.runs.entries())
    for (const waits of [false, true])
      test(`run ${i}: ${JSON.stringify(options)}${waits ? ", waiting" : ""}`, async () => {
        await clean(device, async () => {
          const { params, optimizer, closure } = make(optionsOf(options));
          for (let s = 0; s < losses.length; s++) {
            const before = waits ? await optimizer.step(closure) : optimizer.stepSync(closure);
            expect(before).toBeCloseTo(losses[s]!, 2);
            params.forEach((p, j) => {
              numbers(p).forEach((v, k) => {
                expect(v).toBeCloseTo(after[s]![j]![k]!, 1.7);
              });
            });
          }
          // float32 decides ties of the line search otherwise: as many directions, about as many evaluations.
          expect(Math.abs(optimizer.counts.directions - counts[0])).toBeLessThanOrEqual(6);
          optimizer.dispose();
          optimizer.zeroGrad();
          for (const p of params) p.dispose();
        });
      });

  test("finds the minimum of a compiled loss; a step in compile, wrong options and parameters are refused", () => {
    const { params, optimizer } = make({ lineSearchFn: "strongWolfe" });
    const loss = dx.compile(() => {
      for (const p of params) p.grad = null;
      const l = lossOf(...params);
      l.backward();
      return l;
    });
    for (let s = 0; s < 4; s++) optimizer.stepSync(loss);
    for (const p of params) expect(Math.max(...numbers(dx.abs(p.grad!)))).toBeLessThan(2e-3);
    expect(() => dx.compile(() => optimizer.stepSync(loss))()).toThrow(dx.TraceError);
    expect(() => dx.optim.lbfgs([])).toThrow(dx.ValueError);
    expect(() => dx.optim.lbfgs(params, { maxIter: 0 })).toThrow("LBFGS: maxIter");
    expect(() => dx.optim.lbfgs([dx.zeros([2], { dtype: "float16" })])).toThrow(dx.DTypeError);
    expect(() => dx.optim.lbfgs([dx.mul(params[0], 2)])).toThrow(dx.AutogradError);
    optimizer.dispose();
    loss.dispose();
  });
});
