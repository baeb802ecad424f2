/** checkpoint(): gradients as without it, what is the same in the second call, and what is refused. Its memory: test/runtime/checkpoint-memory.test.ts. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";
import { leaf } from "../gradgrad.ts";
import { expectClose } from "../tolerance.ts";

// Generators keep a state on each device.
const warm = (): void => dx.rand([1]).dispose();

type Body = (...inputs: dx.Tensor[]) => dx.Tensor;

/** Gradients of the sum of fn's results' squares, by the inputs. */
const gradients = (fn: Body, inputs: readonly dx.Tensor[]): dx.Tensor[] => dx.grad(fn(...inputs).square().sum(), inputs); // prettier-ignore

const bodies: Record<string, Body> = {
  "a chain": (x) => x.sin().exp().mul(x).tanh(),
  "two inputs": (x, y) => x!.matmul(y!).relu().square(),
  softmax: (x) => dx.softmax(x!, -1).mul(x!),
  "in-place operations": (x) => {
    const h = x!.mul(2);
    h.sin_().mul_(x!);
    h.select(0, 0).exp_();
    return h.square();
  },
  views: (x) => x!.transpose(0, 1).reshape([-1]).exp().slice(0, 1, 4),
  indices: (x) => dx.max(x!, 1).values.square(),
  "a part without gradients": (x) => dx.noGrad(() => x!.exp()).mul(x!.sin()),
  "a gradient inside": (x) => {
    const [slope] = dx.grad(x!.pow(3).sum(), [x!], { createGraph: true });
    return slope!.mul(x!).sin();
  },
  "a checkpoint inside": (x) => dx.checkpoint((h: dx.Tensor) => dx.checkpoint((g: dx.Tensor) => g.exp().sin(), h.cos()).mul(h), x!.sin()),
};

eachMode("checkpoint of", (device, mode) => {
  for (const [name, body] of Object.entries(bodies))
    test(`${name}: first and second derivatives`, () => {
      warm();
      return clean(
        device,
        () => {
          const inputs = [leaf([3, 3]), leaf([3, 3], { from: 9 })].slice(0, Math.max(1, body.length));
          const saving: Body = (...own) => dx.checkpoint(body, ...own);
          const twice =
            (fn: Body) =>
            (...own: dx.Tensor[]): dx.Tensor[] => {
              const first = dx.grad(fn(...own).square().sum(), own, { createGraph: true }); // prettier-ignore
              return [
                ...first,
                ...dx.grad(
                  first.map((g) => g.square().sum()).reduce((a, b) => a.add(b)),
                  own,
                ),
              ];
            };
          const found = mode.run(twice(saving), ...inputs);
          twice(body)(...inputs).forEach((want, i) => expectClose(found[i]!, numbers(want)));
        },
        { collect: true },
      );
    });
});

eachDevice("checkpoint", (device) => {
  const alone = (body: () => void) => (): Promise<void> => {
    warm();
    return clean(device, body, { collect: true });
  };

  test(
    "drops the same elements again, and leaves the generator as it was",
    alone(() => {
      const x = leaf([64]);
      dx.manualSeed(3);
      const y = dx.checkpoint((t: dx.Tensor) => dx.dropout(t.sin(), { p: 0.5 }).square(), x);
      const next = numbers(dx.rand([2]));
      dx.manualSeed(3);
      const [want] = gradients((t) => dx.dropout(t!.sin(), { p: 0.5 }), [x]);
      const [found] = dx.grad(y.sum(), [x]);
      expectClose(found!, numbers(want!));
      // The next draw is the one after fn's.
      dx.manualSeed(3);
      dx.dropout(x, { p: 0.5 });
      expect(numbers(dx.rand([2]))).toEqual(next);
    }),
  );

  test(
    "leaves the generator as backward() finds it, again and again",
    alone(() => {
      const x = leaf([32]);
      const y = dx.checkpoint((t: dx.Tensor) => dx.dropout(t.exp()).square(), x).sum();
      dx.manualSeed(8);
      const first = numbers(dx.grad(y, [x], { retainGraph: true })[0]);
      const drawn = numbers(dx.rand([3]));
      dx.manualSeed(8);
      expect(numbers(dx.rand([3]))).toEqual(drawn);
      expect(numbers(dx.grad(y, [x], { retainGraph: true })[0])).toEqual(first);
      expect(numbers(dx.grad(y, [x])[0])).toEqual(first);
      expect(() => dx.grad(y, [x])).toThrow(dx.AutogradError);
    }),
  );

  test(
    "computes again in the autocast region and on the default device of the call",
    alone(() => {
      const [x, w] = [leaf([4, 4]), leaf([4, 4], { from: 20 })];
      const seen: unknown[] = [];
      const body = (t: dx.Tensor): dx.Tensor => {
        const y = dx.nn.functional.linear(t, w);
        seen.push([y.dtype, dx.autocastDType(), String(dx.defaultDevice())]);
        return y.exp().to("float32");
      };
      const y = dx.autocast("float16", () => dx.checkpoint(body, x));
      const found = dx.withDevice("meta", () => dx.grad(y.sum(), [x, w]));
      const want = dx.grad(dx.autocast("float16", () => body(x)).sum(), [x, w]);
      expect(seen).toEqual([...Array(3)].map(() => ["float16", "float16", device.replace(/^(cpu)$/, "$1")]).map((row) => [row[0], row[1], String(dx.device(device))])); // prettier-ignore
      found.forEach((g, i) => expectClose(g, numbers(want[i]!), { rtol: 2e-3, atol: 2e-3 }));
    }),
  );

  test(
    "takes and gives any structure; parameters of closures get gradients",
    alone(() => {
      const [x, w] = [leaf([3]), leaf([3], { from: 5 })];
      const fn = (pair: { a: dx.Tensor; list: readonly (dx.Tensor | number)[] }, text: string, none: null) => {
        expect([text, none]).toEqual(["text", null]);
        return { sum: pair.a.exp().mul(pair.list[0] as dx.Tensor), more: [pair.a.sin().mul(w), pair.list[1]] as const };
      };
      const args = () => [{ a: x, list: [x.square(), 7] }, "text", null] as const;
      const loss = (r: ReturnType<typeof fn>) => r.sum.add(r.more[0]).sum();
      const result = dx.checkpoint(fn, ...args());
      expect(result.more[1]).toBe(7);
      const found = dx.grad(loss(result), [x, w]);
      dx.grad(loss(fn(...args())), [x, w]).forEach((g, i) => expectClose(found[i]!, numbers(g)));
    }),
  );

  test(
    "takes complex tensors, empty ones, float16 and views; gives inputs back as they are",
    alone(() => {
      const x = leaf([2, 2]);
      const complexSum = (z: dx.ComplexTensor): dx.Tensor => z.mul(z).exp().abs().sum();
      const z = (): dx.ComplexTensor => dx.complex(x, x.mul(0.5));
      expectClose(dx.grad(dx.checkpoint(complexSum, z()), [x])[0], numbers(dx.grad(complexSum(z()), [x])[0]));
      const empty = dx.zeros([0, 3], { requiresGrad: true });
      expect(dx.grad(dx.checkpoint((t: dx.Tensor) => t.exp(), empty).sum(), [empty])[0].shape).toEqual([0, 3]);
      const half = leaf([4]).detach().to("float16").requiresGrad_();
      const slope = (t: dx.Tensor): dx.Tensor => t.sin().exp();
      expectClose(dx.grad(dx.checkpoint(slope, half).sum(), [half])[0], numbers(dx.grad(slope(half).sum(), [half])[0]));
      expect(dx.checkpoint((t: dx.Tensor) => t, x)).toBe(x);
      expectClose(dx.grad(dx.checkpoint(slope, x.transpose(0, 1)).sum(), [x])[0], numbers(dx.grad(slope(x).sum(), [x])[0]));
      // NaN stays where it is.
      const nan = dx.tensor([Number.NaN, 1], { requiresGrad: true });
      expectClose(dx.grad(dx.checkpoint(slope, nan).sum(), [nan])[0], [Number.NaN, numbers(dx.grad(slope(nan).sum(), [nan])[0])[1]!]);
    }),
  );

  test(
    "runs fn once where nothing is recorded, and once more for each pass that needs it",
    alone(() => {
      let calls = 0;
      const fn = (t: dx.Tensor): dx.Tensor => {
        calls++;
        return t.exp().sin();
      };
      const x = leaf([2]);
      expect(dx.noGrad(() => dx.checkpoint(fn, x)).requiresGrad).toBe(false);
      expect(calls).toBe(1);
      const y = dx.checkpoint(fn, x).sum();
      expect(calls).toBe(2);
      dx.grad(y, [x], { retainGraph: true });
      expect(calls).toBe(3);
      y.backward();
      expect(calls).toBe(4);
      // A sum saves nothing: nothing has to be computed again.
      const sum = dx.checkpoint((t: dx.Tensor) => (calls++, t.sum()), x);
      sum.backward();
      expect(calls).toBe(5);
    }),
  );

  test(
    "disposes of what fn makes, but for its results and what it keeps",
    alone(() => {
      const made: dx.Tensor[] = [];
      const y = dx.checkpoint(
        (t: dx.Tensor) => {
          made.push(t.exp(), dx.keep(t.sin()));
          return made.at(-1)!.add(made.at(-2)!);
        },
        leaf([2]),
      );
      expect([y, ...made].map((t) => t.isDisposed)).toEqual([false, true, false]);
      made[1]!.dispose();
    }),
  );

  test(
    "refuses a function that computes something else later",
    alone(() => {
      const x = leaf([4]);
      let isLater = false;
      const fails = (fn: (t: dx.Tensor) => dx.Tensor, text: RegExp): void => {
        isLater = false;
        const y = dx.checkpoint(fn, x).sum();
        isLater = true;
        expect(() => y.backward()).toThrow(dx.CheckpointError);
        expect(() => dx.grad(y, [x], { retainGraph: true })).toThrow(text);
      };
      fails((t) => (isLater ? t.mul(1) : t.exp().sin()), /checkpoint: fn must be .*3 tensors were saved, and \d now|\d tensors were saved/);
      fails((t) => (isLater ? t.exp().sin().cos() : t.exp()), /1 tensors were saved, and 3 now/);
      fails((t) => (isLater ? t.slice(0, 0, 2) : t).exp(), /tensor 0 was float32\[4\] on .*, and is float32\[2\] on .* now/);
      fails((t) => (isLater ? t.to("float16") : t).exp(), /and is float16\[4\]/);
      fails((t) => {
        if (isLater) throw new dx.CheckpointError({ operation: "mine", received: "an error" });
        return t.exp();
      }, /mine: received an error/);
    }),
  );

  test(
    "refuses promises, wrong arguments, and inputs that were changed in place",
    alone(() => {
      const x = leaf([2]);
      expect(() => dx.checkpoint(async (t: dx.Tensor) => Promise.resolve(t), x)).toThrow(dx.ValueError);
      expect(() => dx.checkpoint(x as never)).toThrow(dx.DxError);
      expect(() => (dx.checkpoint as () => unknown)()).toThrow(dx.DxError);
      const h = x.mul(1);
      const y = dx.checkpoint((t: dx.Tensor) => t.exp(), h).sum();
      h.add_(1);
      expect(() => y.backward()).toThrow(/unchanged since checkpoint saved it/);
      expect(() =>
        dx.checkpoint(() => {
          throw new RangeError("mine");
        }),
      ).toThrow(RangeError);
    }),
  );
});
