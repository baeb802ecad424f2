/** noGrad, enableGrad, withDevice and scope with functions that return promises, several at once. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { Ambient } from "../../src/core/ambient.ts";
import { clean, eachDevice } from "../device.ts";

/** Lets everything else that waits run, n times. */
async function ticks(n: number): Promise<void> {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe("an ambient value", () => {
  test("holds while a function runs, and is the outer one after a return and after a throw", () => {
    const ambient = new Ambient("outside");
    const seen = ambient.run("a", () => [ambient.value, ambient.run("b", () => ambient.value), ambient.value]);
    expect(seen).toEqual(["a", "b", "a"]);
    expect(() =>
      ambient.run("a", () => {
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect(ambient.value).toBe("outside");
  });

  test("holds for each of many asynchronous functions, whichever ends first", async () => {
    const ambient = new Ambient(-1);
    const one = async (n: number): Promise<number[]> => {
      const seen = [ambient.value];
      for (let i = 0; i < 3; i++) {
        await ticks((n * 7 + i) % 4);
        seen.push(ambient.value, await ambient.run(n + 100, async () => (await ticks(n % 3), ambient.value)));
      }
      return seen;
    };
    const all = Array.from({ length: 20 }, (_, n) => ambient.run(n, () => one(n)));
    expect(ambient.value).toBe(-1);
    expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, (_, n) => [n, n, n + 100, n, n + 100, n, n + 100]));
    expect(ambient.value).toBe(-1);
  });

  test("is the outer one in what runs meanwhile, and after a rejection", async () => {
    const ambient = new Ambient("outside");
    const failing = ambient.run("inside", async () => {
      await ticks(2);
      throw new Error(ambient.value);
    });
    await ticks(1);
    expect(ambient.value).toBe("outside");
    await expect(failing).rejects.toThrow("inside");
    expect(ambient.value).toBe("outside");
  });

  test("that is set holds until the innermost function is over", async () => {
    const ambient = new Ambient(0);
    await ambient.run(1, async () => {
      await ticks(1);
      ambient.value = 2;
      await ticks(1);
      expect(ambient.value).toBe(2);
      ambient.run(3, () => {
        ambient.value = 4;
      });
      expect(ambient.value).toBe(2);
    });
    expect(ambient.value).toBe(0);
    ambient.value = 5;
    expect(ambient.value).toBe(5);
  });

  test("does not hold for what a function left running, whatever else is pending", async () => {
    const ambient = new Ambient("outside");
    const later: string[] = [];
    const leaveRunning = (): void => {
      void ticks(2).then(() => later.push(ambient.value));
    };
    ambient.run("left", leaveRunning);
    const pending = ambient.run("pending", () => ticks(6));
    ambient.run("left too", leaveRunning);
    await ambient.run("around", async () => {
      ambient.run("left inside", leaveRunning);
      await ticks(4);
    });
    await pending;
    expect(later).toEqual(["outside", "outside", "around"]);
  });

  test("holds for any thenable", async () => {
    const ambient = new Ambient(0);
    // Does its work when it is awaited, as the queries of a database do.
    const lazily = async (done: (value: number) => void): Promise<void> => {
      await ticks(1);
      done(ambient.value);
    };
    const thenable: unknown = new Proxy({}, { has: () => true, get: () => lazily });
    expect(await ambient.run(1, () => thenable)).toBe(1);
  });

  test("ends once, with the result", async () => {
    const ambient = new Ambient(0);
    const ends: unknown[] = [];
    const end = (result: unknown): void => void ends.push([result, ambient.value]);
    ambient.run(1, () => "now", end);
    await ambient.run(1, async () => (await ticks(1), "later"), end);
    await expect(ambient.run(1, () => Promise.reject(new Error("no")), end)).rejects.toThrow("no");
    expect(ends).toEqual([
      ["now", 0],
      ["later", 0],
      [undefined, 0],
    ]);
  });
});

eachDevice("asynchronous", (device) => {
  test("noGrad and enableGrad", () =>
    clean(device, async () => {
      const w = dx.tensor([1, 2], { requiresGrad: true });
      const evaluate = async (n: number): Promise<boolean> => {
        await ticks(n);
        const loss = w.mul(2).sum();
        await loss.item();
        return loss.requiresGrad;
      };
      const results = await Promise.all([
        dx.noGrad(() => evaluate(1)),
        evaluate(2),
        dx.noGrad(async () => [await evaluate(3), await dx.enableGrad(() => evaluate(1)), await evaluate(1)]),
        dx.noGrad(() => evaluate(0)),
        evaluate(5),
      ]);
      expect(results).toEqual([false, true, [false, true, false], false, true]);
      expect(dx.isGradEnabled()).toBe(true);
      w.dispose();
    }));

  test("a training loop at the same time as an evaluation", () =>
    clean(device, async () => {
      const train = async (steps: number): Promise<number[]> => {
        const w = dx.tensor([0, 0], { requiresGrad: true });
        const optimizer = dx.optim.sgd([w], { lr: 0.5 });
        for (let i = 0; i < steps; i++)
          await dx.scope(async () => {
            const loss = w
              .sub(dx.tensor([1, 2]))
              .square()
              .sum();
            await loss.item();
            loss.backward();
            optimizer.step();
            optimizer.zeroGrad();
          });
        const end = [...(await w.data())].map(Number);
        optimizer.dispose();
        w.dispose();
        return end;
      };
      const evaluate = (): Promise<void> =>
        dx.noGrad(async () => {
          for (let i = 0; i < 5; i++) await dx.scope(async () => void (await dx.ones([3]).mul(2).data()));
        });
      const [trained] = await Promise.all([train(4), evaluate(), evaluate()]);
      expect(trained).toEqual([1, 2]);
    }));

  test("withDevice", async () => {
    const made = async (n: number): Promise<string> => {
      await ticks(n);
      const x = dx.ones([2]);
      const name = x.device.toString();
      await x.data();
      x.dispose();
      return name;
    };
    const before = dx.defaultDevice().toString();
    const results = await Promise.all([dx.withDevice(device, () => made(2)), dx.withDevice("cpu", () => made(1)), made(1)]);
    expect(results).toEqual([device, "cpu", before]);
    expect(dx.defaultDevice().toString()).toBe(before);
  });

  test("scopes at once dispose of their own tensors only", () =>
    clean(device, async () => {
      const inner: dx.Tensor[] = [];
      const one = (n: number): Promise<dx.Tensor> =>
        dx.scope(async () => {
          const x = dx.ones([4]).mul(n);
          inner.push(x);
          await ticks(n);
          const y = x.add(1);
          await dx.scope(async () => void (await y.mul(3).sum().data()));
          await ticks(5 - n);
          expect(x.isDisposed || y.isDisposed).toBe(false);
          return y;
        });
      const [outside, ...results] = await Promise.all([ticks(2).then(() => dx.ones([4])), one(1), one(4), one(2)]);
      expect(results.map((t) => t.sum().itemSync())).toEqual([8, 20, 12]);
      expect(outside.isDisposed).toBe(false);
      expect(inner.map((x) => x.isDisposed)).toEqual([true, true, true]);
    }));

  test("keep() saves from all scopes around it, across an await too", () =>
    clean(device, async () => {
      let kept: dx.Tensor | undefined;
      let lost: dx.Tensor | undefined;
      await dx.scope(async () => {
        kept = dx.ones([2]);
        lost = dx.ones([2]);
        await dx.scope(async () => {
          await ticks(1);
          dx.keep(kept!);
        });
      });
      expect([kept!.isDisposed, lost!.isDisposed]).toEqual([false, true]);
      kept!.dispose();
    }));

  test("what a scope left running belongs to the scope around", () =>
    clean(device, async () => {
      let left: Promise<dx.Tensor> | undefined;
      await dx.scope(async () => {
        dx.scope(() => {
          left = ticks(2).then(() => dx.ones([2]));
        });
        expect((await left!).isDisposed).toBe(false);
      });
      expect((await left!).isDisposed).toBe(true);
    }));

  test("a compiled function called inside noGrad after an await does not record", () =>
    clean(device, async () => {
      const double = dx.compile((x: dx.Tensor) => x.mul(2));
      const x = dx.tensor([1, 2], { requiresGrad: true });
      const flags = await Promise.all([
        dx.noGrad(async () => (await ticks(1), double(x).requiresGrad)),
        ticks(1).then(() => x.mul(2).requiresGrad),
      ]);
      expect(flags).toEqual([false, true]);
      x.dispose();
      double.dispose();
    }));
});
