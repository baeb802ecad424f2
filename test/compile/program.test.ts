/** A compiled program: state, results, and the buffers that it keeps alive. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, isDirectml, isMicrosoft, liveBuffers, settledBuffers } from "../device.ts";

it("state whose buffer was replaced is found again, and is kept while the program lives", () => {
  const state = dx.tensor([1, 2]);
  const f = dx.compile((x: dx.Tensor) => x.add(state));
  expect(f(dx.ones([2])).toArraySync()).toEqual([2, 3]);
  state.mul_(10);
  expect(f(dx.ones([2])).toArraySync()).toEqual([11, 21]);
  state.copy_(dx.tensor([5, 6]));
  expect(f(dx.ones([2])).toArraySync()).toEqual([6, 7]);
  f.dispose();
});

it("gives back all that it held", () => {
  const x = dx.ones([64]);
  const run = (): void => {
    const f = dx.compile((t: dx.Tensor) => t.mul(2).add(t));
    dx.scope(() => void f(x));
    f.dispose();
  };
  run();
  const before = settledBuffers("cpu");
  for (let i = 0; i < 5; i++) run();
  expect(liveBuffers("cpu")).toBe(before);
});

it("two results that are equal have a buffer each", () => {
  const f = dx.compile((x: dx.Tensor) => [x.mul(2), x.mul(2)] as const);
  for (let i = 0; i < 3; i++) {
    const [a, b] = f(dx.tensor([i]));
    a.add_(100);
    expect([a.itemSync(), b.itemSync()]).toEqual([100 + 2 * i, 2 * i]);
  }
  f.dispose();
});

it("a profile between calls that run and calls that are replayed leaves each its own argument", () => {
  dx.withDevice("cpu", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(2));
    const all = dx.tensor([1, 2, 3, 4, 5, 6, 7, 8]);
    // An offset of one element cannot be bound: the argument is copied and the program replayed. An offset of four can.
    const [odd, even] = [all.slice(0, 1, 3), all.slice(0, 4, 6)];
    for (let i = 0; i < 3; i++) {
      expect(f(odd).toArraySync()).toEqual([4, 6]);
      expect(f(even).toArraySync()).toEqual([10, 12]);
      f.profileSync();
    }
    expect(f(odd).toArraySync()).toEqual([4, 6]);
    f.profileSync();
    expect(f(odd).toArraySync()).toEqual([4, 6]);
    f.dispose();
  });
});

eachDevice("large results of several dispatches", (device) => {
  const N = 2 ** 18;
  const apart = { regions: "none", fuse: "off" } as const;
  const onlyFirst = (t: dx.Tensor): number => Number(t.reshape([-1]).slice(0, 0, 1).itemSync());
  const isUniform = (t: dx.Tensor): boolean => {
    const [low, high] = [t.min().itemSync(), t.max().itemSync()];
    return low === high;
  };
  /** Six dispatches: 2 x + 3. */
  const body = (x: dx.Tensor): dx.Tensor => x.mul(4).add(4).div(2).sub(1).add(6).sub(4);
  const replays = (fn: () => void): { replays: number; copies: number } => {
    dx.zeros([1], { device }).dataSync();
    const before = dx.counters(device);
    fn();
    dx.zeros([1], { device }).dataSync();
    const after = dx.counters(device);
    return { replays: after.replays - before.replays, copies: after.replayCopies - before.replayCopies };
  };
  const inScope = (fn: () => void): void => dx.withDevice(device, () => dx.scope(fn));

  it("are written where the caller reads them; small ones are copied out of a recording", () => {
    inScope(() => {
      const [large, small, recorded] = [dx.compile(body, apart), dx.compile(body, apart), dx.compile(body, { ...apart, lists: 3 })];
      // A GPU runtime takes more bytes for each dispatch.
      const [x, y] = [dx.full([isMicrosoft(device) ? 2 ** 23 : N], 2), dx.full([4], 2)];
      for (const [f, t] of [
        [large, x],
        [small, y],
        [recorded, x],
      ] as const)
        f(t).dataSync();
      const of = (f: typeof large, t: dx.Tensor): { replays: number; copies: number } =>
        replays(() => {
          for (let i = 0; i < 3; i++) expect(onlyFirst(f(t))).toBe(7);
        });
      if (isDirectml(device)) {
        expect(of(large, x)).toEqual({ replays: 0, copies: 0 });
        expect(of(small, y)).toEqual({ replays: 3, copies: 3 });
        expect(of(recorded, x)).toEqual({ replays: 3, copies: 3 });
      }
      for (const f of [large, small, recorded]) f.dispose();
    });
  });

  it("stay as they are, whether kept, written to or disposed of at once", () => {
    inScope(() => {
      const f = dx.compile(body, apart);
      const kept: dx.Tensor[] = [];
      const x = dx.zeros([N]);
      for (let i = 0; i < 12; i++) {
        f(x).dispose();
        const y = f(x);
        if (i % 3 === 1) y.add_(1000);
        kept.push(y);
        // In the queue's order: the call before has read it.
        x.add_(1);
      }
      kept.forEach((y, i) => {
        expect(isUniform(y)).toBe(true);
        expect(onlyFirst(y)).toBe(2 * i + 3 + (i % 3 === 1 ? 1000 : 0));
      });
      f.dispose();
    });
  });

  it("may come of many arguments and states, in one dispatch too", () => {
    const n = 2 ** 20;
    const states = Array.from({ length: 24 }, (_, i) => dx.full([1], i, { device }));
    const body = (...all: dx.Tensor[]): dx.Tensor => [...all.slice(1), ...states].reduce((sum, t) => dx.add(sum, t), all[0]!);
    const compiled = [dx.compile(body), dx.compile(body, { regions: "whole", fuse: "off" })];
    for (let call = 0; call < 3; call++) {
      const all = Array.from({ length: 20 }, (_, i) => dx.full([i === 0 ? n : 1], call + i, { device }));
      const results = compiled.map((f) => f(...all).dataSync());
      const expected = 20 * call + (19 * 20) / 2 + (23 * 24) / 2;
      for (const r of results) expect([r.length, r[0], r[n - 1]]).toEqual([n, expected, expected]);
    }
    for (const f of compiled) f.dispose();
  });

  it("may be views, equal, arguments, states, NaN", () => {
    inScope(() => {
      const make = (): ((x: dx.Tensor, y: dx.Tensor) => dx.Tensor[]) => {
        const state = dx.zeros([512, 512]);
        return (x, y) => {
          const z = body(x);
          state.add_(z);
          y.mul_(2);
          return [z.transpose(0, 1), z.slice(0, 1, 9), body(y), body(y), state, x, z.log(), dx.cat([z, y])];
        };
      };
      const [eager, compiled] = [make(), dx.compile(make(), apart)];
      const whole = dx.rand([1024, 512]).sub(0.5);
      for (let i = 0; i < 4; i++) {
        // Views that start at a buffer's middle, other tensors, views across.
        const x = i === 3 ? whole.slice(0, 0, 512).transpose(0, 1) : whole.slice(0, i, 512 + i).sub(i % 2 === 0 ? 2 : 0);
        const [y, other] = [dx.full([512, 512], i), dx.full([512, 512], i)];
        const [expected, received] = [eager(x, y), compiled(x, other)];
        expect(received.map((t) => t.shape)).toEqual(expected.map((t) => t.shape));
        [...expected, y].forEach((t, k) => {
          const wanted = t.dataSync();
          const differs = [...[...received, other][k]!.dataSync()].findIndex((v, n) => {
            const [a, b] = [Number(v), Number(wanted[n])];
            return !(Number.isNaN(b) ? Number.isNaN(a) : a === b || Math.abs(a - b) <= 1e-5 * (1 + Math.abs(b)));
          });
          expect({ call: i, result: k, differs }).toEqual({ call: i, result: k, differs: -1 });
        });
      }
      compiled.dispose();
    });
  });

  it("of an argument that is a state, or two arguments at once, are as eager calls give them", () => {
    inScope(() => {
      const make = (): { state: dx.Tensor; fn: (x: dx.Tensor, y: dx.Tensor) => dx.Tensor } => {
        const state = dx.ones([N]);
        const fn = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
          state.add_(x);
          const z = body(y).add(x);
          y.add_(1);
          return z.add(x).add(state);
        };
        return { state, fn };
      };
      const [eager, other] = [make(), make()];
      const compiled = dx.compile(other.fn, apart);
      const [a, b] = [dx.full([N], 3), dx.full([N], 3)];
      const [c, d] = [dx.full([N], 5), dx.full([N], 5)];
      for (const [mine, theirs] of [
        [
          [a, c],
          [b, d],
        ],
        [
          [a, a],
          [b, b],
        ],
        [
          [eager.state, c],
          [other.state, d],
        ],
        [
          [a, eager.state],
          [b, other.state],
        ],
        [
          [a, c],
          [b, d],
        ],
      ] as const) {
        const [expected, received] = [eager.fn(...mine), compiled(...theirs)];
        for (const [e, r] of [
          [expected, received],
          [eager.state, other.state],
          [a, b],
          [c, d],
        ] as const) {
          expect(isUniform(r)).toBe(true);
          expect(onlyFirst(r)).toBe(onlyFirst(e));
        }
      }
      compiled.dispose();
    });
  });

  it("have gradients, inside and through the call", () => {
    inScope(() => {
      const inside = dx.compile((x: dx.Tensor) => {
        const t = x.detach().requiresGrad_();
        return dx.grad(body(t).mul(t).sum(), [t])[0]!;
      }, apart);
      const through = dx.compile(body, apart);
      for (let i = 0; i < 3; i++) {
        const x = dx.full([N], i);
        const g = inside(x);
        expect([isUniform(g), onlyFirst(g)]).toEqual([true, 4 * i + 3]);
        const leaf = dx.full([N], i).requiresGrad_();
        through(leaf).mul(leaf.detach()).sum().backward();
        expect([isUniform(leaf.grad!), onlyFirst(leaf.grad!)]).toEqual([true, 2 * i]);
      }
      inside.dispose();
      through.dispose();
    });
  });

  it("and the program's memory are given back", () => {
    const before = settledBuffers(device);
    inScope(() => {
      const f = dx.compile(body, apart);
      const x = dx.ones([N]);
      for (let i = 0; i < 4; i++) f(x);
      f.dispose();
    });
    expect(settledBuffers(device)).toBe(before);
  });
});
