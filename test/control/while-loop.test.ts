/** whileLoop(): PyTorch's recorded values, gradients, no rounds, and what is refused; eagerly and in compiled functions. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, modes, numbers } from "../device.ts";
import { expectRecorded } from "./recorded.ts";

type T = dx.Tensor;

eachDevice("whileLoop", (device) => {
  const halve = (x: T, w: T): T[] => {
    const [last, n] = dx.whileLoop(
      (a: T) => a.abs().sum().gt(0.5),
      (a: T, k: T) => [a.mul(0.5).add(w.mul(0.01)), k.add(1)],
      [x, dx.tensor(0, { dtype: "int32" })],
    );
    return [last, n];
  };

  test("gives PyTorch's values and gradients", () =>
    clean(device, () => { expectRecorded(modes[0]!, "whileLoop", halve); }, { collect: true })); // prettier-ignore

  test("replays compiled functions for any number of rounds", () =>
    clean(
      device,
      () => {
        const improves = dx.compile((x: T, a: T) => x.square().sub(a).abs().max().gt(1e-4));
        const newton = dx.compile((x: T, a: T): [T, T] => [x.add(a.div(x)).mul(0.5), a]);
        for (const a of [2, 900, 1]) {
          const [root] = dx.whileLoop(improves, newton, [dx.ones([1]), dx.tensor([a])]);
          expect(numbers(root)[0]).toBeCloseTo(Math.sqrt(a), 3);
        }
        expect([improves.programs, newton.programs]).toEqual([1, 1]);
      },
      { collect: true },
    ));

  test("is two programs in a compiled function, between writes to state, for any number of rounds", () => {
    const [total, rate] = [dx.zeros([1], { device }), dx.tensor([2], { device })];
    const run = dx.compile((x: T) => {
      total.add_(1);
      const [last, n] = dx.whileLoop((a: T) => a.lt(8), (a: T, k: T): [T, T] => [a.mul(rate), k.add(1)], [x, dx.tensor(0, { dtype: "int32" })]); // prettier-ignore
      total.add_(last);
      return [last.add(1), n];
    });
    const found = [1, 3, 9, 2].map((v) => run(dx.tensor([v])).map((t) => t.itemSync()));
    expect(found).toEqual([[9, 3], [13, 2], [10, 0], [9, 2]]); // prettier-ignore
    expect(numbers(total)).toEqual([41]);
    expect(run.programs).toBe(1);
    expect(run.explain().loops).toEqual([
      { name: "whileLoop", origin: expect.stringMatching(/^whileLoop at /) as string, steps: 2, reverse: false, programs: 2 },
    ]);
    const x = dx.tensor([9]);
    const same = dx.compile((a: T) => dx.whileLoop((b: T) => b.lt(8), (b: T): [T] => [b.mul(2)], [a])[0])(x); // prettier-ignore
    dx.noGrad(() => same.add_(1));
    expect([numbers(same), numbers(x)]).toEqual([[10], [9]]);
    run.dispose();
  });

  test("in scan, and scan in it", () =>
    clean(
      device,
      () => {
        const fn = (xs: T): T[] => {
          const [last, ys] = dx.scan((c: T, x: T) => {
            const [y] = dx.whileLoop((a: T) => a.lt(20), (a: T): [T] => [a.mul(2).add(x)], [c.add(x).abs().add(1)]); // prettier-ignore
            return [y.mul(0.1), y] as const;
          }, dx.zeros([1]), xs); // prettier-ignore
          const [sum] = dx.whileLoop((a: T) => a.lt(50), (a: T): [T] => [dx.scan((c: T, x: T) => [c.add(x), x] as const, a, xs)[0].add(1)], [last]); // prettier-ignore
          return [last, ys, sum];
        };
        const compiled = dx.compile(fn);
        for (const k of [1, 2]) {
          const xs = dx.arange(6, { dtype: "float32" }).mul(k).reshape(6, 1);
          expect(dx.noGrad(() => compiled(xs)).map(numbers)).toEqual(fn(xs).map(numbers));
        }
        expect(compiled.explain().loops.map((l) => l.name)).toEqual(["scan", "whileLoop", "whileLoop", "scan"]);
      },
      { collect: true },
    ));

  test("makes a compiled function run eagerly where it needs gradients, or draws random numbers, and leaves no trace", () => {
    const total = dx.zeros([1], { device });
    const run = dx.compile((x: T) => {
      dx.noGrad(() => total.add_(1));
      return dx.whileLoop((a: T) => a.lt(8), (a: T): [T] => [a.mul(2)], [x])[0]; // prettier-ignore
    });
    const x = dx.tensor([1, 3].slice(0, 1), { requiresGrad: true });
    run(x).sum().backward();
    expect([numbers(x.grad!), numbers(total)]).toEqual([[8], [1]]);
    const drawn = dx.compile((a: T) => dx.whileLoop((b: T) => b.lt(3), (b: T): [T] => [b.add(dx.rand([1]))], [a])[0]); // prettier-ignore
    expect(drawn(dx.zeros([1])).itemSync()).toBeGreaterThanOrEqual(3);
  });

  test("without a round gives copies; the condition may be a boolean, and false for NaN", () =>
    clean(device, () => {
      const x = dx.tensor([NaN]);
      const [y] = dx.whileLoop((a: T) => a.gt(0), (a: T): [T] => [a], [x]); // prettier-ignore
      expect([y === x, numbers(y)]).toEqual([false, [NaN]]);
      let n = 0;
      expect(numbers(dx.whileLoop((_: T) => n++ < 3, (a: T): [T] => [a.add(1)], [dx.zeros([1])])[0])).toEqual([3]); // prettier-ignore
    }));

  test("refuses what does not fit, by the path of the leaf", () =>
    clean(device, () => {
      const run = (cond: unknown, body: unknown, carried: unknown = [dx.ones([2])]) => () => dx.whileLoop(cond as never, body as never, carried as never); // prettier-ignore
      const once = (a: T): T => a.sum().lt(5);
      expect(run(once, (a: T) => [a.sum()])).toThrow("whileLoop: result of bodyFn[0] must be of shape [2], like carried; received []");
      expect(run(once, (a: T) => a)).toThrow("whileLoop: result of bodyFn must be an array of length 1, like carried; received float32[2]");
      expect(run((a: T) => a.sum(), (a: T) => [a])).toThrow("whileLoop: result of condFn must be a boolean, or a bool tensor of one element"); // prettier-ignore
      expect(run(() => Promise.resolve(true), (a: T) => [a])).toThrow("whileLoop: condFn must be a function that returns no promise"); // prettier-ignore
      expect(run(once, () => Promise.resolve([]))).toThrow("whileLoop: bodyFn must be a function that returns no promise");
      expect(run(once, once, dx.ones([1]))).toThrow(dx.DxError);
      expect(run(once, () => { throw new Error("own"); })).toThrow("own"); // prettier-ignore
    }));
});
