/** Hooks of saved tensors: savedTensorsHooks() and saveOnHost(). */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { leaf } from "../gradgrad.ts";
import { expectClose } from "../tolerance.ts";

const same = (t: dx.Tensor): dx.Tensor => t;
const body = (x: dx.Tensor): dx.Tensor => {
  const h = x.mul(2).matmul(x);
  h.sin_();
  h.select(0, 0).exp_();
  return dx.softmax(h, -1).mul(x).add(dx.max(x, 1).values);
};

eachDevice("hooks of saved tensors", (device) => {
  const alone = (fn: () => void) => (): Promise<void> => clean(device, fn, { collect: true });

  const regions: Record<string, (fn: () => dx.Tensor) => dx.Tensor> = {
    "the tensor itself": (fn) => dx.savedTensorsHooks(same, same, fn),
    "a copy": (fn) => dx.savedTensorsHooks((t) => t.clone(), (t) => t.clone(), fn), // prettier-ignore
    "a structure": (fn) => dx.savedTensorsHooks((t) => ({ list: [t.neg(), 3] as const }), ({ list }) => list[0].neg(), fn), // prettier-ignore
    "the host's memory": (fn) => dx.saveOnHost(fn),
    "hooks inside hooks": (fn) => dx.savedTensorsHooks(() => expect.fail("outer hooks"), same, () => dx.saveOnHost(fn)), // prettier-ignore
  };
  for (const [name, region] of Object.entries(regions))
    test(
      `by ${name}: first and second derivatives, twice`,
      alone(() => {
        const x = leaf([3, 3]);
        const twice = (y: dx.Tensor): dx.Tensor[] => {
          const [first] = dx.grad(y.square().sum(), [x], { createGraph: true });
          const [second] = dx.grad(first.square().sum(), [x], { retainGraph: true });
          return [first, second, ...dx.grad(y.square().sum(), [x])];
        };
        const want = twice(body(x));
        twice(region(() => body(x))).forEach((g, i) => expectClose(g, numbers(want[i]!)));
      }),
    );

  test(
    "pack gets what is saved without a history, and unpack what pack gave, once for each pass",
    alone(() => {
      const seen: unknown[] = [];
      const x = dx.tensor([1, 2], { requiresGrad: true });
      const y = dx.savedTensorsHooks(
        (t) => {
          seen.push([numbers(t), t.requiresGrad, t.isLeaf, dx.isGradEnabled()]);
          return 7;
        },
        (packed) => {
          seen.push(packed);
          return dx.tensor([10, 20]);
        },
        () => x.square().sum(),
      );
      dx.grad(y, [x], { retainGraph: true });
      expect(numbers(dx.grad(y, [x])[0])).toEqual([20, 40]);
      expect(seen).toEqual([[[1, 2], false, true, false], 7, 7]);
      expect(() => dx.grad(y, [x])).toThrow(dx.AutogradError);
    }),
  );

  test(
    "saves nothing more than asked for; kept tensors stay",
    alone(() => {
      const kept: dx.Tensor[] = [];
      const x = leaf([2]);
      const pack = (t: dx.Tensor): dx.Tensor => {
        kept.push(dx.keep(t.clone()), t.add(1));
        return kept.at(-2)!;
      };
      const y = dx.savedTensorsHooks(pack, same, () => x.exp().sum());
      y.backward();
      expect(kept.map((t) => t.isDisposed)).toEqual([false, true]);
      kept[0]!.dispose();
      dx.noGrad(() => dx.savedTensorsHooks(() => expect.fail("nothing is saved"), same, () => x.exp())); // prettier-ignore
    }),
  );

  test("keeps every dtype in the host's memory, and frees the device's", async () => {
    await clean(device, () => {
      for (const dtype of ["float32", "float16"] as const) {
        const x = dx.tensor([0.5, -2, 3], { dtype, requiresGrad: true });
        const y = dx.saveOnHost(() => x.exp().mul(x).sum());
        expectClose(dx.grad(y, [x])[0], numbers(dx.grad(x.exp().mul(x).sum(), [x])[0]));
      }
      // Indices and masks are saved too.
      const x = leaf([2, 3]);
      const index = dx.tensor([2, 0], { dtype: "int64" });
      const pick = (): dx.Tensor => dx.where(x.gt(0), x.indexSelect(1, index).sum(), x.square()).sum();
      expectClose(dx.grad(dx.saveOnHost(pick), [x])[0], numbers(dx.grad(pick(), [x])[0]));
      expect(dx.grad(dx.saveOnHost(() => dx.zeros([0], { requiresGrad: true }).exp().sum()), []).length).toBe(0); // prettier-ignore
    });
    await clean(device, () => {
      const x = dx.ones([1000], { requiresGrad: true });
      const live = (): number => dx.memoryStatistics(device).liveInBytes;
      const before = live();
      const y = dx.scope(() => dx.saveOnHost(() => x.exp().sin().exp().sum()));
      expect(live() - before).toBeLessThan(1024);
      y.backward();
      x.grad!.dispose();
    });
  });

  test(
    "refuses what is no such tensor, changes in pack, and calls inside compile",
    alone(() => {
      const x = leaf([2]);
      const fails = (pack: (t: dx.Tensor) => unknown, unpack: (v: never) => unknown, text: RegExp): void => {
        const run = (): void => dx.savedTensorsHooks(pack, unpack as never, () => x.sin().sum()).backward();
        expect(run).toThrow(text);
        expect(run).toThrow(dx.AutogradError);
      };
      fails(same, () => 3, /unpack's result must be a live tensor .* float32\[2\] .*received number/);
      fails(same, (t: dx.Tensor) => t.slice(0, 0, 1), /received float32\[1\]/);
      fails(same, (t: dx.Tensor) => t.to("float16"), /received float16\[2\]/);
      fails((t) => t.mul_(2), same, /leaves its argument as it is/);
      dx.noGrad(() => x.mul_(0.5));
      expect(() =>
        dx.savedTensorsHooks(
          () => {
            throw new RangeError("mine");
          },
          same,
          () => x.sin(),
        ),
      ).toThrow(RangeError);
      expect(() => (dx.savedTensorsHooks as (...args: unknown[]) => unknown)(same, same)).toThrow(dx.DxError);
      expect(() => (dx.saveOnHost as (...args: unknown[]) => unknown)(x)).toThrow(dx.DxError);
      const inside = dx.compile((t: dx.Tensor) => dx.saveOnHost(() => t.exp()));
      expect(() => inside(x)).toThrow(dx.TraceError);
    }),
  );

  test(
    "a compiled function's saved tensors go through hooks too, and it may be a checkpoint's function",
    alone(() => {
      const x = leaf([3]);
      const fn = dx.compile((t: dx.Tensor) => t.sin().exp().mul(t));
      let count = 0;
      const [want] = dx.grad(x.sin().exp().mul(x).sum(), [x]);
      for (let i = 0; i < 3; i++) {
        const y = dx.savedTensorsHooks((t) => (count++, t), same, () => fn(x).sum()); // prettier-ignore
        expectClose(dx.grad(y, [x])[0], numbers(want));
        expectClose(dx.grad(dx.checkpoint(fn, x).sum(), [x])[0], numbers(want));
      }
      expect(count).toBeGreaterThan(2);
    }),
  );

  test("holds for what fn does until its promise settles", async () => {
    const x = leaf([2]);
    let count = 0;
    const pack = (t: dx.Tensor): dx.Tensor => (count++, t);
    const y = await dx.savedTensorsHooks(pack, same, async () => {
      await Promise.resolve();
      return x.exp();
    });
    x.sin();
    expect(count).toBe(1);
    y.sum().backward();
  });
});
