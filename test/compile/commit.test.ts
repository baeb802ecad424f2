/** The tensors that replace traced ones after a call have the same autograd state as after an eager call. */
import { describe, expect, it, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices, eachDevice, numbers, settledBuffers } from "../device.ts";
import { agrees } from "./agrees.ts";
import { expectAsEager } from "./as-eager.ts";

describe.each(devices)("what a compiled function hands out on %s", (device) => {
  const at = (values: number[], requiresGrad = false): dx.Tensor => dx.tensor(values, { device, requiresGrad });
  const input = (i: number): dx.Tensor => at([i + 1, 2 * i - 3]);
  const weights = (): { w: dx.Tensor; last: unknown } => ({ w: at([0.5, -0.25], true), last: null });
  /** What fn throws, or null. */
  const thrown = (fn: () => unknown): string | null => {
    try {
      fn();
      return null;
    } catch (error) {
      return (error as Error).name;
    }
  };

  it("a value and its view, whose writes are each other's", () =>
    agrees(
      weights,
      (s, x) => {
        const y = x.mul(s.w);
        return [y, y.view(2, 1), y.select(0, 1)];
      },
      input,
      {
        after: (s, result) => {
          const [y, v, part] = result as [dx.Tensor, dx.Tensor, dx.Tensor];
          v.mul_(3);
          part.mul_(2);
          y.sum().backward();
          s.last = y.clone();
        },
        programs: 1,
      },
    ));
  it("views of one value that is not handed out", () =>
    agrees(
      weights,
      (s, x) => {
        const y = x.mul(s.w);
        return [y.view(2, 1), y.select(0, 1)];
      },
      input,
      {
        after: (_, result) => {
          const [v, part] = result as [dx.Tensor, dx.Tensor];
          part.mul_(5);
          v.sum().backward();
        },
        programs: 1,
      },
    ));
  it("a view of an argument, which may be one itself", () => {
    let leaf = at([0], true);
    let base = leaf;
    return agrees(
      weights,
      (_, x) => x.view(2, 1).select(0, 1),
      (i) => {
        leaf = dx.tensor(
          [
            [i, 1],
            [2, 3],
          ],
          { device, requiresGrad: true },
        );
        base = leaf.mul(2);
        return base.select(0, 1);
      },
      {
        after: (s, result) => {
          (result as dx.Tensor).mul_(3);
          base.sum().backward();
          s.last = [leaf.grad, base.detach()];
        },
      },
    );
  });
  it("a view of a tensor outside, which takes a history by it", () =>
    agrees(
      () => ({ ...weights(), outer: at([1, 2]) }),
      (s) => s.outer.view(2, 1),
      input,
      {
        after: (s, result) => {
          (result as dx.Tensor).mul_(s.w.view(2, 1));
          s.outer.sum().backward();
          s.last = s.outer.detach();
          s.outer = at([1, 2]);
        },
      },
    ));
  it("views that must not be written to", () =>
    agrees(
      weights,
      (s, x) => {
        const y = x.mul(s.w);
        return [...y.split(1), dx.noGrad(() => y.view(2, 1)), s.w.view(2, 1), x.mul(s.w).unbind(0)[1]!];
      },
      input,
      { after: (s, result) => void (s.last = (result as dx.Tensor[]).map((t) => thrown(() => t.mul_(2)))), programs: 1 },
    ));
  it("leaves made inside, with their hooks and gradients", () =>
    agrees(
      weights,
      (_, x) => {
        const leaf = x.mul(2).detach().requiresGrad_();
        leaf.registerHook((g) => g.mul(3));
        leaf.square().sum().backward();
        return [leaf, leaf.square()];
      },
      input,
      {
        after: (s, result) => {
          const [leaf, square] = result as [dx.Tensor, dx.Tensor];
          square.sum().backward();
          s.last = leaf.grad;
        },
        programs: 1,
      },
    ));
  it("the gradient that a result keeps", () =>
    agrees(
      weights,
      (s, x) => {
        const y = x.mul(s.w);
        y.retainGrad();
        y.exp().sum().backward({ retainGraph: true });
        return y;
      },
      input,
      {
        after: (s, result) => {
          (result as dx.Tensor).sum().backward();
          s.last = (result as dx.Tensor).grad;
        },
      },
    ));

  it("zeroGrad() before backward() disposes of the last call's gradients, as it does eagerly", () =>
    clean(
      device,
      () => {
        const build = (): { step: (x: dx.Tensor) => dx.Tensor; weight: dx.nn.Parameter } => {
          const layer = dx.nn.linear(3, 2, { bias: false });
          dx.noGrad(() => layer.weight.fill_(0.5));
          const optimizer = dx.optim.sgd([layer.weight], { lr: 0.1 });
          return {
            weight: layer.weight,
            step: (x) => {
              optimizer.zeroGrad();
              const loss = layer(x).square().sum();
              loss.backward();
              optimizer.step();
              return loss;
            },
          };
        };
        const [eager, traced] = [build(), build()];
        for (const check of [true, false]) {
          const compiled = dx.compile(traced.step, { check });
          const live = [settledBuffers(device)];
          for (let i = 0; i < 6; i++) {
            const x = dx.tensor([[1, i, -i]]);
            const [held, heldEager] = [traced.weight.grad, eager.weight.grad];
            const [a, b] = [compiled(x), dx.scope(() => eager.step(x))];
            expectAsEager(a.dataSync(), b.dataSync());
            expectAsEager(traced.weight.grad!.dataSync(), eager.weight.grad!.dataSync());
            expect([held?.isDisposed, heldEager?.isDisposed]).toEqual(held === null ? [undefined, undefined] : [true, true]);
            for (const t of [x, a, b]) t.dispose();
            live.push(dx.memoryStatistics(device).liveBuffers);
          }
          expect(new Set(live.slice(3)).size).toBe(1);
          compiled.dispose();
        }
        for (const { weight } of [eager, traced]) {
          weight.grad?.dispose();
          weight.dispose();
        }
      },
      { collect: true },
    ));
});

eachDevice("gradients that grow over several calls", (device) => {
  const isolated = (body: () => void): Promise<void> => clean(device, body, { collect: true });

  /** By call: d of the loss by w is x; every third call steps with the sum of three. */
  const train = (options: dx.CompileOptions, step: "inside" | "outside", clear: "zeroGrad" | "null") => {
    const w = dx.tensor([0, 0], { requiresGrad: true });
    const optimizer = dx.optim.sgd([w], { lr: 1 });
    const update = (): void => {
      optimizer.step();
      if (clear === "null") w.grad = null;
      else optimizer.zeroGrad();
    };
    const call = dx.compile((x: dx.Tensor, isLast: boolean) => {
      w.mul(x).sum().backward();
      if (isLast && step === "inside") update();
    }, options);
    const [sum, want] = [
      [0, 0],
      [0, 0],
    ];
    for (let i = 0; i < 18; i++) {
      const x = [i + 1, -2 * i - 1];
      call(dx.tensor(x), i % 3 === 2);
      x.forEach((v, k) => {
        sum[k]! += v;
      });
      if (i % 3 < 2) expect(numbers(w.grad!)).toEqual(sum);
      else {
        if (step === "outside") update();
        sum.forEach((v, k) => {
          want[k]! -= v;
          sum[k] = 0;
        });
        expect(w.grad).toBeNull();
      }
      expect(numbers(w)).toEqual(want.map((v) => v + 0));
    }
    return call.programs;
  };

  test("are added to by programs that are there already", () =>
    isolated(() => {
      for (const options of [{}, { lists: 3 }, { check: false }])
        for (const step of ["inside", "outside"] as const) expect(train(options, step, "zeroGrad")).toBeLessThanOrEqual(3);
    }));

  test("are right where the function takes them away itself", () =>
    isolated(() => {
      for (const step of ["inside", "outside"] as const) expect(train({}, step, "null")).toBeGreaterThan(0);
    }));

  test("stay as they are for whoever holds them", () =>
    isolated(() => {
      const w = dx.tensor([1], { requiresGrad: true });
      const call = dx.compile((x: dx.Tensor) => {
        w.mul(x).sum().backward();
      });
      const held: dx.Tensor[] = [];
      for (let i = 0; i < 4; i++) {
        call(dx.tensor([i + 1]));
        call(dx.tensor([10]));
        held.push(w.grad!.detach());
        w.grad!.dispose();
        w.grad = null;
      }
      expect(held.map((t) => t.itemSync())).toEqual([11, 12, 13, 14]);
    }));
});
