/** autocast(): regions, casts of weights, gradients, refusals. Its lists: test/golden/autocast.test.ts. */
import { beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";
import { truncatesHalves, expectAsEager } from "../compile/as-eager.ts";
import { nearTruncated } from "../tolerance.ts";

const dtypes = ["float16", "bfloat16"] as const;

test("queries tell of the region that code runs in", async () => {
  const state = (): unknown[] => [dx.isAutocastEnabled(), dx.autocastDType(), dx.isAutocastCacheEnabled()];
  expect(state()).toEqual([false, null, false]);
  dx.autocast("float16", () => {
    expect(state()).toEqual([true, "float16", true]);
    dx.autocast("bfloat16", () => expect(state()).toEqual([true, "bfloat16", false]), { cacheWeights: false });
    dx.autocast("bfloat16", () => expect(state()).toEqual([false, "bfloat16", false]), { enabled: false });
    expect(state()).toEqual([true, "float16", true]);
    expect(() =>
      dx.autocast("bfloat16", () => {
        throw new Error("stop");
      }),
    ).toThrow("stop");
    expect(state()).toEqual([true, "float16", true]);
  });
  expect(state()).toEqual([false, null, false]);
  // Several asynchronous regions at once, each with its own dtype.
  const one = async (dtype: dx.AutocastDType | null): Promise<unknown[]> => {
    const seen: unknown[] = [dx.autocastDType()];
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(dx.autocastDType());
    }
    expect(new Set(seen)).toEqual(new Set([dtype]));
    return seen;
  };
  await Promise.all([dx.autocast("float16", () => one("float16")), one(null), dx.autocast("bfloat16", () => one("bfloat16"))]);
  expect(state()).toEqual([false, null, false]);
});

test("what it refuses", () => {
  const autocast = dx.autocast as (...args: unknown[]) => unknown;
  expect(() => autocast("float32", () => 0)).toThrow(dx.ValueError);
  expect(() => autocast("int8", () => 0)).toThrow(/autocast: dtype must be/);
  expect(() => autocast("float16", 3)).toThrow(dx.DxError);
  expect(() => autocast("float16", () => 0, { cache: true })).toThrow(/cache/);
  expect(dx.autocastDType()).toBe(null);
});

// The default generator keeps its state.
const openGenerator = (device: string): void => beforeAll(() => dx.withDevice(device, () => dx.randn([1]).dispose()));

eachMode("autocast", (device, mode) => {
  openGenerator(device);
  test.each(dtypes)("%s: the three lists, in functions, methods and layers", (dtype) =>
    clean(
      device,
      () => {
        const [a, b] = [dx.randn([3, 4]), dx.randn([4, 5])];
        const layer = dx.nn.linear(4, 2);
        const found = mode.run(
          (x, y) =>
            dx.autocast(dtype, () => {
              const product = dx.matmul(x, y);
              return [
                product,
                x.matmul(y),
                layer(x),
                product.exp(),
                dx.sum(product),
                product.relu(),
                dx.addcmul(product, product, product),
              ];
            }),
          a,
          b,
        );
        expect(found.map((t) => t.dtype)).toEqual([dtype, dtype, dtype, "float32", "float32", dtype, dtype]);
        // The product is that of the operands in the lower dtype.
        const expected = a.to(dtype).matmul(b.to(dtype));
        const [got, want] = [numbers(found[0]!), numbers(expected)];
        if (!truncatesHalves(device) || !want.every((v, i) => nearTruncated(got[i]!, v))) expect(got).toEqual(want);
      },
      { collect: true },
    ),
  );

  test("a region inside a region, and a disabled one", () =>
    clean(
      device,
      () => {
        const found = mode.run(
          (x) =>
            dx.autocast("float16", () => [
              x.matmul(x),
              dx.autocast("bfloat16", () => x.matmul(x)),
              dx.autocast("float16", () => x.matmul(x), { enabled: false }),
              dx.autocast("bfloat16", () => dx.autocast("float16", () => x.matmul(x), { enabled: true }), { enabled: false }),
            ]),
          dx.randn([4, 4]),
        );
        expect(found.map((t) => t.dtype)).toEqual(["float16", "bfloat16", "float32", "float16"]);
      },
      { collect: true },
    ));

  test("in-place forms cast nothing; float64, integers and bool stay", () =>
    clean(
      device,
      () => {
        const found = mode.run(
          (x, i) => {
            const half = x.to("float16");
            return dx.autocast("float16", () => [half.exp_(), x.clone().exp_(), i.sum(), i.cumsum(0), i.matmul(i)]);
          },
          dx.randn([4, 4]),
          dx.ones([4, 4], { dtype: "int32" }),
        );
        expect(found.map((t) => t.dtype)).toEqual(["float16", "float32", "int64", "int64", "int32"]);
        expect(dx.autocast("float16", () => dx.cat([dx.zeros([2], { dtype: "float64" })]).dtype)).toBe("float64");
      },
      { collect: true },
    ));
});

eachDevice("autocast", (device) => {
  openGenerator(device);
  test("a weight is cast once until the outermost region ends, and again when it has changed", () =>
    clean(
      device,
      async () => {
        const w = dx.randn([4, 4]).requiresGrad_();
        const x = dx.randn([2, 4]);
        const casts = async (fn: () => void): Promise<number> => {
          await dx.synchronize(device);
          const before = dx.counters(device).dispatchesRecorded;
          dx.autocast("float16", fn);
          await dx.synchronize(device);
          return dx.counters(device).dispatchesRecorded - before;
        };
        const half = x.to("float16");
        // Each product is one dispatch; one more casts the weight.
        expect(await casts(() => void [half.matmul(w), half.matmul(w), half.matmul(w)])).toBe(4);
        expect(await casts(() => void dx.autocast("float16", () => [half.matmul(w), half.matmul(w)], { cacheWeights: false }))).toBe(4);
        expect(
          await casts(() => {
            half.matmul(w);
            dx.autocast("float16", () => half.matmul(w));
            half.matmul(w);
          }),
        ).toBe(4);
        expect(
          await casts(() => {
            half.matmul(w);
            dx.clearAutocastCache();
            half.matmul(w);
          }),
        ).toBe(4);
        // A detached weight and one without a gradient are cast each time.
        expect(await casts(() => void [half.matmul(w.detach()), half.matmul(w.detach())])).toBe(4);
        dx.autocast("float16", () => {
          const before = numbers(half.matmul(w));
          dx.noGrad(() => w.mul_(2));
          const after = numbers(half.matmul(w));
          expect(after.every((v, i) => Math.abs(v - 2 * before[i]!) <= Math.abs(v) * 2 ** -10)).toBe(true);
        });
      },
      { collect: true },
    ));

  test("a cast made under noGrad is not the one that gradients flow through", () =>
    clean(
      device,
      () => {
        const w = dx.ones([2, 2]).requiresGrad_();
        const x = dx.ones([1, 2]);
        dx.autocast("float16", () => {
          const target = dx.noGrad(() => x.matmul(w));
          x.matmul(w).sub(target).add(1).sum().backward();
        });
        expect(w.grad!.dtype).toBe("float32");
        expect(numbers(w.grad!)).toEqual([1, 1, 1, 1]);
      },
      { collect: true },
    ));

  test.each(dtypes)("%s: gradients of weights are float32, of two losses of a region and through a scope", (dtype) =>
    clean(
      device,
      () => {
        const w = dx
          .tensor([
            [1, 2],
            [3, 4],
          ])
          .requiresGrad_();
        const x = dx.tensor([[1, -1]]);
        const [first, second] = dx.autocast(dtype, () => [x.matmul(w).sum(), dx.scope(() => x.matmul(w).mul(2).sum())]);
        first!.backward();
        second!.backward();
        expect(w.grad!.dtype).toBe("float32");
        expect(numbers(w.grad!)).toEqual([3, 3, -3, -3]);
        // The weight's cast of the scope was freed with it: the next use casts again.
        dx.autocast(dtype, () => {
          dx.scope(() => void x.matmul(w));
          expect(numbers(x.matmul(w))).toEqual([-2, -2]);
        });
      },
      { collect: true },
    ),
  );

  test("backward() and grad() run outside of the region: hooks and own gradient rules cast nothing", () =>
    clean(
      device,
      () => {
        const seen: unknown[] = [];
        const own = dx.defineFunction({
          forward: (_, x: dx.Tensor) => x.mul(1),
          backward: (_, dy) => {
            seen.push(dx.isAutocastEnabled(), dy.matmul(dy).dtype);
            return dy;
          },
        });
        const w = dx.ones([2, 2]).requiresGrad_();
        w.registerHook((g) => void seen.push(dx.autocastDType(), g.dtype));
        dx.autocast("float16", () => {
          own(w).sum().backward();
          expect(dx.grad(own(w).sum(), [w])[0]!.dtype).toBe("float32");
          expect(dx.isAutocastEnabled()).toBe(true);
        });
        expect(seen.filter((v) => typeof v === "string")).toEqual(["float32", "float32", "float32", "float32"]);
        expect(seen).not.toContain(true);
        expect(seen).not.toContain("float16");
      },
      { collect: true },
    ));

  test("probabilities in half precision are refused, as is another lower dtype than the region's", () => {
    const p = dx.full([3], 0.5);
    expect(() => dx.autocast("float16", () => dx.nn.functional.binaryCrossEntropy(p, p))).toThrow(/binaryCrossEntropyWithLogits/);
    expect(() => dx.autocast("float16", () => new dx.nn.BCELoss().forward(p, p))).toThrow(dx.DTypeError);
    const off = dx.autocast("float16", () => dx.autocast("float16", () => dx.nn.functional.binaryCrossEntropy(p, p), { enabled: false }));
    expect(off.dtype).toBe("float32");
    const b = dx.ones([2], { dtype: "bfloat16" });
    expect(() => dx.autocast("float16", () => dx.addcmul(b, b, b))).toThrow(/addcmul: inputs must be/);
    expect(dx.autocast("float16", () => dx.dot(b.to("float16"), dx.ones([2]))).dtype).toBe("float32");
  });

  describe("compiled", () => {
    test("a region around a compiled function is one of its paths", () =>
      clean(
        device,
        () => {
          const w = dx.randn([4, 4]).requiresGrad_();
          const run = dx.compile((x: dx.Tensor) => x.matmul(w).add(x.matmul(w)));
          const eager = (x: dx.Tensor): dx.Tensor => x.matmul(w).add(x.matmul(w));
          for (let i = 0; i < 3; i++) {
            const x = dx.randn([2, 4]);
            for (const dtype of [...dtypes, null]) {
              const inside = <T>(fn: () => T): T => (dtype === null ? fn() : dx.autocast(dtype, fn));
              const [found, expected] = [inside(() => run(x)), inside(() => eager(x))];
              expect(found.dtype).toBe(dtype ?? "float32");
              expectAsEager(numbers(found), numbers(expected), dtype === null ? undefined : { rtol: 2e-2, atol: 2e-2 });
            }
          }
          run.dispose();
        },
        { collect: true },
      ));

    test.each([{}, { check: false }])("the option of compile: %o", (options) =>
      clean(
        device,
        () => {
          const w = dx.randn([4, 4]).requiresGrad_();
          const body = (x: dx.Tensor): dx.Tensor => dx.nn.functional.mseLoss(x.matmul(w), x);
          for (const dtype of dtypes) {
            const run = dx.compile(body, { ...options, autocast: dtype });
            for (let i = 0; i < 3; i++) {
              const x = dx.randn([2, 4]);
              const found = run(x);
              const expected = dx.autocast(dtype, () => body(x));
              expect(found.dtype).toBe("float32");
              const [got, want] = [found, expected].map((t) => Number(t.itemSync()));
              if (!truncatesHalves(device) || !nearTruncated(got!, want!)) expect(got).toBeCloseTo(want!, 5);
              found.backward();
              const own = numbers(w.grad!);
              w.grad = null;
              expected.backward();
              expect(w.grad!.dtype).toBe("float32");
              numbers(w.grad!).forEach((v, k) => expect(own[k]!).toBeCloseTo(v, 2));
              w.grad = null;
            }
            // Inside another compiled function it casts as well.
            const outer = dx.compile((x: dx.Tensor) => run(x.matmul(w)));
            const nested = outer(dx.randn([2, 4]));
            expect(nested.dtype).toBe("float32");
            outer.dispose();
            expect(run.programs).toBe(1);
            run.dispose();
          }
          expect(() => dx.compile(body, { autocast: "float64" as "float16" })).toThrow(/autocast/);
        },
        { collect: true },
      ),
    );

    test("without checks, a call sees the region around it", () =>
      clean(
        device,
        () => {
          const run = dx.compile((x: dx.Tensor) => x.matmul(x), { check: false });
          const x = dx.randn([3, 3]);
          for (let i = 0; i < 3; i++) {
            expect(run(x).dtype).toBe("float32");
            expect(dx.autocast("float16", () => run(x)).dtype).toBe("float16");
            expect(dx.autocast("bfloat16", () => run(x)).dtype).toBe("bfloat16");
            expect(dx.autocast("bfloat16", () => run(x), { enabled: false }).dtype).toBe("float32");
          }
          expect(run.programs).toBe(3);
          run.dispose();
        },
        { collect: true },
      ));

    test("a weight is cast once in a call, whatever the region around holds", () =>
      clean(
        device,
        () => {
          const w = dx.randn([4, 4]).requiresGrad_();
          const run = dx.compile((x: dx.Tensor) => x.matmul(w).add(x.matmul(w)));
          dx.autocast("float16", () => {
            const x = dx.randn([2, 4], { dtype: "float16" });
            const first = x.matmul(w);
            for (let i = 0; i < 3; i++) {
              expect(numbers(run(x))).toEqual(numbers(first.add(first)));
              dx.noGrad(() => w.add_(0));
            }
          });
          const { nodes } = run.explain();
          // Other devices may cast elsewhere too: openreg adds float16 numbers in float32.
          const isOfWeight = (inputs: readonly string[]): boolean => inputs[0]!.endsWith(":float32[4, 4]");
          expect(nodes.filter(({ operator, inputs }) => operator === "CAST" && isOfWeight(inputs)).length).toBe(1);
          run.dispose();
        },
        { collect: true },
      ));
  });
});
