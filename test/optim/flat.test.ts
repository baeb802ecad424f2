/** The flat layout of an optimizer keeps PyTorch's rules for missing gradients, and for shared and moved parameters. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import * as internal from "../../src/runtime/device-statistics.ts";
import { clean, eachDevice, numbers, storageOf } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { nn, optim } = dx;
const tolerance = { rtol: 1e-5, atol: 1e-6 };

/** Adam in float64 for one element list: what PyTorch computes. */
class Reference {
  readonly p: number[];
  readonly m: number[];
  readonly v: number[];
  t = 0;

  constructor(p: readonly number[]) {
    this.p = [...p];
    this.m = p.map(() => 0);
    this.v = p.map(() => 0);
  }

  step(g: readonly number[], lr: number, [b1, b2]: readonly [number, number] = [0.9, 0.999], eps = 1e-8): void {
    this.t++;
    g.forEach((d, i) => {
      this.m[i] = b1 * this.m[i]! + (1 - b1) * d;
      this.v[i] = b2 * this.v[i]! + (1 - b2) * d * d;
      this.p[i]! -= (lr * (this.m[i]! / (1 - b1 ** this.t))) / (Math.sqrt(this.v[i]! / (1 - b2 ** this.t)) + eps);
    });
  }
}

const parameter = (data: readonly number[]): dx.nn.Parameter => {
  const t = dx.tensor(data);
  const p = new nn.Parameter(t);
  t.dispose();
  return p;
};

const give = (p: dx.Tensor, g: readonly number[]): void => {
  p.grad?.dispose();
  p.grad = dx.keep(dx.tensor(g, { shape: p.shape }));
};

const finish = (optimizer: { dispose(): void }, ...params: dx.Tensor[]): void => {
  optimizer.dispose();
  for (const p of params) {
    p.grad?.dispose();
    p.dispose();
  }
};

const dispatches = (device: string): number => internal.counters(device).dispatchesRecorded;

eachDevice("flat optimizers", (device) => {
  test("parameters share one buffer, at multiples of 16 bytes, and stay the same objects", async () => {
    await clean(device, () => {
      const [a, b] = [parameter([1, 2, 3]), parameter([4, 5])];
      const optimizer = optim.adam([a, b]);
      expect(storageOf(a)).toBe(storageOf(b));
      expect([a.storageOffset, b.storageOffset]).toEqual([0, 4]);
      expect([numbers(a), numbers(b)]).toEqual([
        [1, 2, 3],
        [4, 5],
      ]);
      expect([a.isLeaf, a.requiresGrad]).toEqual([true, true]);
      finish(optimizer, a, b);
    });
  });

  test("an update takes as many dispatches for fifty parameters as for two", async () => {
    await clean(device, async () => {
      const count = async (n: number): Promise<number> => {
        const params = Array.from({ length: n }, (_, i) => parameter([i, 1, 2]));
        const optimizer = optim.adam(params);
        for (const p of params) give(p, [1, 2, 3]);
        optimizer.step();
        await dx.synchronize(device);
        const before = dispatches(device);
        optimizer.step();
        await dx.synchronize(device);
        const made = dispatches(device) - before;
        finish(optimizer, ...params);
        return made;
      };
      const few = await count(2);
      expect(few).toBeGreaterThan(0);
      expect(await count(50)).toBe(few);
    });
  });

  test("a parameter without a gradient stays untouched, and its bias correction counts only its own steps", async () => {
    await clean(device, () => {
      const starts = [
        [1, 2, 3],
        [4, 5],
        [6, 7, 8, 9, 10],
      ];
      const params = starts.map(parameter);
      const references = starts.map((s) => new Reference(s));
      const optimizer = optim.adam(params, { lr: 0.1 });
      const present = [[0, 1, 2], [0, 2], [0, 2], [1], [0, 1, 2], [2]];
      present.forEach((list, step) => {
        params.forEach((p, i) => {
          p.grad?.dispose();
          p.grad = null;
          if (!list.includes(i)) return;
          const g = starts[i]!.map((s) => Math.sin(s * (step + 1)));
          give(p, g);
          references[i]!.step(g, 0.1);
        });
        optimizer.step();
        params.forEach((p, i) => {
          expectClose(p, references[i]!.p, tolerance);
        });
      });
      finish(optimizer, ...params);
    });
  });

  test("weight decay leaves a parameter without a gradient alone", async () => {
    await clean(device, () => {
      const [a, b] = [parameter([1, 2]), parameter([3, 4])];
      const optimizer = optim.sgd([a, b], { lr: 0.5, weightDecay: 0.1 });
      give(a, [1, 1]);
      optimizer.step();
      expectClose(a, [1 - 0.5 * 1.1, 2 - 0.5 * 1.2], tolerance);
      expect(numbers(b)).toEqual([3, 4]);
      finish(optimizer, a, b);
    });
  });

  test("a parameter that two optimizers share is updated by both", async () => {
    await clean(device, () => {
      const starts = [
        [1, 2, 3],
        [4, 5],
        [6, 7],
      ] as const;
      const [a, b, c] = starts.map(parameter) as [dx.nn.Parameter, dx.nn.Parameter, dx.nn.Parameter];
      const first = optim.adam([a, b], { lr: 0.1 });
      const second = optim.adam([b, c], { lr: 0.01 });
      const one = [new Reference(starts[0]), new Reference(starts[1])];
      const two = [new Reference(starts[1]), new Reference(starts[2])];
      for (let i = 0; i < 4; i++) {
        const g = (n: number): number[] => Array.from({ length: n }, (_, j) => Math.cos(i + 2 * j));
        for (const p of [a, b, c]) give(p, g(p.size));
        one.forEach((r) => {
          r.step(g(r.p.length), 0.1);
        });
        two[0]!.p.splice(0, 2, ...one[1]!.p);
        two.forEach((r) => {
          r.step(g(r.p.length), 0.01);
        });
        one[1]!.p.splice(0, 2, ...two[0]!.p);
        first.step();
        second.step();
        expectClose(a, one[0]!.p, tolerance);
        expectClose(b, one[1]!.p, tolerance);
        expectClose(c, two[1]!.p, tolerance);
      }
      first.dispose();
      finish(second, a, b, c);
    });
  });

  test("parameters that are replaced, loaded or cast afterwards are still updated", async () => {
    // The default generator's state stays.
    dx.withDevice(device, () => {
      dx.rand([1]).dispose();
    });
    await clean(device, () => {
      const layer = nn.linear(2, 1);
      layer.loadStateDict({ weight: dx.tensor([[1, 2]]), bias: dx.tensor([3]) });
      const optimizer = optim.adam(layer.parameters(), { lr: 0.1 });
      const references = [new Reference([1, 2]), new Reference([3])];
      const step = (): void => {
        give(layer.weight, [0.5, -1]);
        give(layer.bias!, [2]);
        references[0]!.step([0.5, -1], 0.1);
        references[1]!.step([2], 0.1);
        optimizer.step();
        expectClose(layer.weight, references[0]!.p, tolerance);
        expectClose(layer.bias!, references[1]!.p, tolerance);
      };
      step();
      // Another storage behind the same object.
      layer.to("float16").to("float32");
      references.forEach((r, i) => {
        r.p.splice(0, r.p.length, ...numbers(i === 0 ? layer.weight : layer.bias!));
      });
      step();
      layer.loadStateDict({ weight: dx.tensor([[7, 8]]), bias: dx.tensor([9]) });
      references[0]!.p.splice(0, 2, 7, 8);
      references[1]!.p.splice(0, 1, 9);
      step();
      expect(storageOf(layer.weight)).toBe(storageOf(layer.bias!));
      finish(optimizer, layer.weight, layer.bias!);
    });
  });

  test("float16 parameters are updated in float32 and stored as they are", async () => {
    await clean(device, () => {
      const p = new nn.Parameter(dx.tensor([1, 2, 3], { dtype: "float16" }));
      const optimizer = optim.adam([p], { lr: 0.1 });
      p.grad = dx.keep(dx.tensor([0.5, -0.25, 1], { dtype: "float16" }));
      optimizer.step();
      expectClose(p, [0.9, 2.1, 2.9], { rtol: 2e-3, atol: 1e-3 });
      finish(optimizer, p);
    });
  });

  test("a changed learning rate takes effect, also in a compiled step, without another program", async () => {
    await clean(device, () => {
      const w = parameter([1, 2]);
      const optimizer = optim.sgd([w], { lr: 1 });
      const step = dx.compile((x: dx.Tensor) => {
        const loss = dx.mul(w, x).sum();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        return loss;
      });
      const x = dx.tensor([1, 1]);
      let expected = 1;
      for (const lr of [1, 0.5, 0.25, 0.125]) {
        optimizer.lr = lr;
        step(x).dispose();
        expected -= lr;
        expectClose(w, [expected, expected + 1], tolerance);
      }
      expect(step.programs).toBe(1);
      step.dispose();
      finish(optimizer, w);
    });
  });

  test("compiled steps still work after a parameter was moved, shared or left without a gradient", async () => {
    await clean(
      device,
      () => {
        const starts = [
          [1, 2, 3],
          [4, 5],
          [6, 7],
        ] as const;
        const [a, b, c] = starts.map(parameter) as [dx.nn.Parameter, dx.nn.Parameter, dx.nn.Parameter];
        const first = optim.adam([a, b], { lr: 0.1 });
        const second = optim.adam([b, c], { lr: 0.01 });
        const references = starts.map((s) => new Reference(s));
        const shared = new Reference(starts[1]);
        const step = dx.compile((x: dx.Tensor, all: boolean) => {
          let loss = dx.mul(a, x).sum().add(dx.mul(b, 2).sum());
          if (all) loss = loss.add(dx.mul(c, -3).sum());
          loss.backward();
          first.step();
          second.step();
          first.zeroGrad();
          second.zeroGrad();
          return loss;
        });
        const x = dx.tensor([1, -1, 2]);
        for (let i = 0; i < 6; i++) {
          const all = i !== 2;
          if (i === 3) {
            // The same object over another storage, as Module.to() leaves it.
            class One extends nn.Module {
              p = a;
              forward(): void {}
            }
            new One().to("float16").to("float32");
          }
          step(x, all).dispose();
          references[0]!.step([1, -1, 2], 0.1);
          references[1]!.step([2, 2], 0.1);
          shared.p.splice(0, 2, ...references[1]!.p);
          shared.step([2, 2], 0.01);
          references[1]!.p.splice(0, 2, ...shared.p);
          if (all) references[2]!.step([-3, -3], 0.01);
          [a, b, c].forEach((p, k) => {
            expectClose(p, references[k]!.p, { rtol: 1e-3, atol: 1e-3 });
          });
        }
        step.dispose();
        first.dispose();
        finish(second, a, b, c);
      },
      { collect: true },
    );
  });

  test("momentum, dampening, Nesterov and maximize follow PyTorch's formulas", async () => {
    await clean(device, () => {
      for (const o of [
        { momentum: 0.9 },
        { momentum: 0.9, nesterov: true, weightDecay: 0.1 },
        { momentum: 0.8, dampening: 0.3 },
        { maximize: true, weightDecay: 0.2 },
      ]) {
        const { momentum = 0, dampening = 0, nesterov = false, weightDecay = 0, maximize = false } = o as Partial<dx.optim.SGDOptions>;
        const start = [1, -2, 3];
        const p = parameter(start);
        const optimizer = optim.sgd([p], { lr: 0.1, ...o });
        const want = [...start];
        let buffer: number[] | null = null;
        for (let i = 0; i < 4; i++) {
          const g = start.map((s) => Math.cos(s + i));
          give(p, g);
          optimizer.step();
          const d = g.map((v, j) => (maximize ? -v : v) + weightDecay * want[j]!);
          buffer = buffer === null ? [...d] : buffer.map((b, j) => momentum * b + (1 - dampening) * d[j]!);
          want.forEach((w, j) => {
            want[j] = w - 0.1 * (momentum === 0 ? d[j]! : nesterov ? d[j]! + momentum * buffer![j]! : buffer![j]!);
          });
          expectClose(p, want, tolerance);
        }
        finish(optimizer, p);
      }
    });
  });

  test("state goes into another optimizer and the runs agree", async () => {
    await clean(device, () => {
      const [a, b] = [parameter([1, 2, 3]), parameter([1, 2, 3])];
      const [one, two] = [optim.adam([a], { lr: 0.1 }), optim.adam([b], { lr: 0.5 })];
      for (let i = 0; i < 3; i++) {
        give(a, [1, i, -1]);
        one.step();
      }
      b.dispose();
      const c = parameter(numbers(a));
      const three = optim.adam([c], { lr: 0.5 });
      three.loadStateDict(one.stateDict());
      expect(three.lr).toBe(0.1);
      for (let i = 0; i < 2; i++) {
        give(a, [2, 1, i]);
        give(c, [2, 1, i]);
        one.step();
        three.step();
        expectClose(c, numbers(a), tolerance);
      }
      two.dispose();
      one.dispose();
      finish(three, a, c);
    });
  });

  test("groups have options of their own", async () => {
    await clean(device, () => {
      const [a, b] = [parameter([1]), parameter([1])];
      const optimizer = optim.sgd([{ params: [a] }, { params: [b], lr: 0.5 }], { lr: 0.1 });
      give(a, [1]);
      give(b, [1]);
      optimizer.step();
      expectClose(a, [0.9], tolerance);
      expectClose(b, [0.5], tolerance);
      finish(optimizer, a, b);
    });
  });

  test("zeroGrad takes gradients away or fills them with zeros", async () => {
    await clean(device, () => {
      const a = parameter([1, 2]);
      const optimizer = optim.sgd([a], { lr: 1 });
      give(a, [3, 4]);
      optimizer.zeroGrad({ setToNull: false });
      expect(numbers(a.grad!)).toEqual([0, 0]);
      optimizer.zeroGrad();
      expect(a.grad).toBeNull();
      finish(optimizer, a);
    });
  });

  test("bad options and parameters are refused", async () => {
    await clean(
      device,
      () => {
        const p = parameter([1]);
        expect(() => optim.adam([])).toThrow(/Adam: params must be at least one parameter/);
        expect(() => optim.adam([p, p])).toThrow(dx.ValueError);
        expect(() => optim.adam([p], { betas: [0.9, 1] })).toThrow(/betas must be two numbers in \[0, 1\)/);
        expect(() => optim.sgd([p], { lr: -1 })).toThrow(/lr must be at least 0; received -1/);
        expect(() => optim.sgd([p], { lr: 1, nesterov: true })).toThrow(/nesterov/);
        expect(() => optim.adam([dx.mul(p, 2)])).toThrow(dx.AutogradError);
        expect(() => optim.adam([dx.tensor(Int32Array.of(1))])).toThrow(dx.DTypeError);
        p.dispose();
      },
      { collect: true },
    );
  });
});
