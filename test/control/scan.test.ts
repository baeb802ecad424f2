/** scan(): PyTorch's recorded values, gradients, trees, lengths of zero, and what is refused; eagerly and compiled. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";
import { expectClose, ofLargest } from "../tolerance.ts";
import { expectRecorded } from "./recorded.ts";

type T = dx.Tensor;

eachMode("scan", (device, mode) => {
  test.each([false, true])("gives PyTorch's values and gradients, reverse: %s", (reverse) =>
    clean(
      device,
      () => {
        expectRecorded(mode, reverse ? "scan, reverse" : "scan", (x, w) => {
          const step = (h: T, v: T): [T, T] => {
            const next = h.mul(w).add(v).tanh();
            return [next, next.mul(v)];
          };
          return dx.scan(step, x, dx.stack([x, x.mul(x), x.sin(), w]), { reverse });
        });
      },
      { collect: true },
    ),
  );

  test.each([1, -1])("along another axis, dim: %d", (dim) =>
    clean(
      device,
      () => {
        expectRecorded(mode, "scan along columns", (x, w) => {
          const step = (h: T, v: T): [T, T] => {
            const next = h.mul(0.5).add(v);
            return [next, next.cos()];
          };
          return dx.scan(step, w, dx.stack([x, w, x.mul(w)]), { dim });
        });
      },
      { collect: true },
    ),
  );

  test("takes and gives trees", () =>
    clean(
      device,
      () => {
        const run = (a: T, b: T): T[] => {
          const [{ sum, n }, [last, { twice }]] = dx.scan(
            (carry: { sum: T; n: T }, [u, { v }]: [T, { v: T }]) => [{ sum: carry.sum.add(u), n: carry.n.add(1) }, [carry.sum, { twice: v.mul(2) }]] as const, // prettier-ignore
            { sum: dx.zeros([2]), n: dx.tensor(0, { dtype: "int32" }) },
            [a, { v: b }],
          );
          return [sum, n, last, twice];
        };
        const found = mode.run(run, dx.tensor([[1, 2], [3, 4], [5, 6]]), dx.tensor([1, 2, 3], { dtype: "int32" })); // prettier-ignore
        expect(found.map(numbers)).toEqual([[9, 12], [3], [0, 0, 1, 2, 4, 6], [2, 4, 6]]); // prettier-ignore
        expect(found.map((t) => t.dtype)).toEqual(["float32", "int32", "float32", "int32"]);
      },
      { collect: true },
    ));

  test("without slices, with one, and of a view in float16", () =>
    clean(
      device,
      () => {
        const run = (xs: T, init: T): T[] => dx.scan((h: T, x: T) => [h.add(x), h.mul(x)] as const, init, xs, { dim: 1 });
        const [carry, ys] = mode.run(run, dx.zeros([3, 0]), dx.tensor([1, 2, 3]));
        expect([numbers(carry!), ys!.shape]).toEqual([
          [1, 2, 3],
          [3, 0],
        ]);
        expect(mode.run(run, dx.ones([3, 1]), dx.tensor([1, 2, 3])).map(numbers)).toEqual([[2, 3, 4], [1, 2, 3]]); // prettier-ignore
        const half = mode.run(run, dx.ones([2, 3], { dtype: "float16" }).t(), dx.zeros([3], { dtype: "float16" }));
        expect([half[0]!.dtype, half.map(numbers)]).toEqual(["float16", [[2, 2, 2], [0, 1, 0, 1, 0, 1]]]); // prettier-ignore
      },
      { collect: true },
    ));
});

eachDevice("scan", (device) => {
  test("has second derivatives, with cond inside, in a compiled function", () => {
    const w = dx.tensor([0.5, -1.5], { device, requiresGrad: true });
    const fn = (xs: T): T[] => {
      const step = (h: T, x: T): [T, T] => {
        const next = dx.cond(x.sum().gt(0), () => h.mul(w).add(x).tanh(), () => h.sub(x.mul(w)), []); // prettier-ignore
        return [next, next.square()];
      };
      const [last, ys] = dx.scan(step, dx.zeros([2]), xs);
      const first = dx.grad(ys.sum().add(last.sum()), [xs, w], { createGraph: true });
      return [ys, ...first, ...dx.grad(first[0]!.square().sum().add(first[1]!.sum()), [xs, w])];
    };
    const compiled = dx.compile(fn);
    for (const sign of [1, -1]) {
      const xs = (): T => dx.tensor([[1, 0.5], [-1, -2], [0.25, 3]], { requiresGrad: true }).mul(sign).detach().requiresGrad_(); // prettier-ignore
      const want = fn(xs()).map(numbers);
      // One element of the second derivatives cancels to a ten-thousandth of its terms; PyTorch in float64 has -0.00106979 there.
      compiled(xs()).forEach((t, i) => {
        expectClose(t, want[i], ofLargest(want[i]!));
      });
    }
    expect(compiled.programs).toBe(1);
  });

  test("refuses what does not fit, by the path of the leaf", () =>
    clean(device, () => {
      const xs = dx.ones([3, 2]);
      const run =
        (fn: (h: T, x: T) => unknown, init: unknown = dx.zeros([2]), over: unknown = xs, options = {}) =>
        () =>
          dx.scan(fn as never, init, over, options);
      expect(run((h) => [h.sum(), h])).toThrow("scan: carry must be of shape [2], like init; received []");
      expect(run((h) => [h.to("int32"), h])).toThrow(dx.DTypeError);
      expect(run((h) => h)).toThrow("scan: fn must be a function that returns [carry, y]");
      expect(run(() => Promise.resolve())).toThrow("scan: fn must be a function that returns no promise");
      let n = 0;
      expect(run((h) => [h, { y: dx.zeros([n++]) }])).toThrow("scan: y.y must be of shape [0], like that of the first slice; received [1]");
      expect(run((h) => [h, h], dx.zeros([2]), null)).toThrow(dx.ValueError);
      expect(run((h) => [h, h], dx.zeros([2]), [xs, dx.ones([2])])).toThrow("scan: xs[1] must be of length 3 along axis 0, like xs[0]");
      expect(run((h) => [h, h], dx.zeros([2]), xs, { dim: 2 })).toThrow(dx.ShapeError);
      expect(run((h) => [h, h], dx.zeros([2]), xs, { dims: 1 })).toThrow(dx.DxError);
      expect(run((h) => [h, h.sum()], dx.zeros([3]), xs, { dim: 1 })).toThrow("scan: y must be of a rank that has an axis 1");
      expect(run(() => { throw new Error("own"); })).toThrow("own"); // prettier-ignore
    }));
});
