/** jvp(), vjp(), jacobian(), hessian(), hvp(), vhp(): PyTorch's recorded values (recorded/functional.py), structures, options and errors. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Row {
  readonly name: string;
  readonly inputs: readonly number[][];
  readonly v: readonly number[][];
  readonly w: number[] | number | number[][];
  readonly value: readonly number[][];
  readonly jacobian: readonly number[][];
  readonly jvp: readonly number[][];
  readonly vjp: readonly number[][];
  readonly hessian: readonly number[][][];
  readonly hvp: readonly number[][];
  readonly vhp: readonly number[][];
}
const rows = JSON.parse(readFileSync(new URL("recorded/functional.json", import.meta.url), "utf8")) as readonly Row[];

type Fn = (...inputs: dx.Tensor[]) => dx.Tensor;
const own: Record<string, Fn> = {
  cumsum: (x) => x!.cumsum(0),
  cumprod: (x) => x!.cumprod(0),
  softmax: (x) => dx.softmax(x!, 0),
  logSoftmax: (x) => dx.logSoftmax(x!, 0),
  logsumexp: (x) => dx.logsumexp(x!, 0),
  flip: (x) => x!.flip([0]),
  sort: (x) => dx.sort(x!).values,
  where: (x, y) => dx.where(x!.gt(y!), x!.mul(y!), x!.sub(y!)),
};
const functionOf = (name: string): Fn => own[name] ?? ((...inputs) => (dx as unknown as Record<string, Fn>)[name]!(...inputs));
// Second derivatives of float32 gradients.
const loose = { rtol: 2e-4, atol: 2e-4 };

eachDevice("derivatives of functions", (device) => {
  const alone = (fn: () => void) => (): Promise<void> => clean(device, fn, { collect: true });

  for (const row of rows)
    test(
      `of ${row.name} are PyTorch's`,
      alone(() => {
        const fn = functionOf(row.name);
        const inputs = row.inputs.map((data) => dx.tensor(data));
        const v = row.v.map((data) => dx.tensor(data));
        const w = dx.tensor(row.w);
        const number: Fn = (...xs) => fn(...xs).mul(w).square().sum(); // prettier-ignore
        const compare = (found: readonly dx.Tensor[], want: readonly number[][]): void => {
          expect(found.length).toBe(want.length);
          found.forEach((t, i) => expectClose(t, want[i], loose));
        };
        const [value, forward] = dx.jvp(fn, inputs, v);
        expectClose(value, row.value[0], loose);
        compare([forward], row.jvp);
        compare(dx.vjp(fn, inputs, w)[1], row.vjp);
        const found = dx.jacobian(fn, inputs);
        compare(found, row.jacobian);
        found.forEach((t) => expect(t.shape).toEqual([...value.shape, 3]));
        dx.hessian(number, inputs).forEach((list, i) => compare(list as dx.Tensor[], row.hessian[i]!));
        compare(dx.hvp(number, inputs, v)[1], row.hvp);
        compare(dx.vhp(number, inputs, v)[1], row.vhp);
      }),
    );

  test(
    "have the structures of their inputs and results",
    alone(() => {
      const [x, y] = [dx.tensor([[1, 2]]), dx.tensor([3, 4])];
      const both = (a: dx.Tensor, b: dx.Tensor) => [a.mul(b), b.sum()] as const;
      const [results, pulled] = dx.vjp(both, [x, y], [dx.tensor([[1, 1]]), dx.tensor(2)]);
      expect([results.length, numbers(pulled[0]), numbers(pulled[1])]).toEqual([2, [3, 4], [3, 4]]);
      const all = dx.jacobian(both, [x, y]);
      expect(all.map((list) => list.map((t) => t.shape))).toEqual([[[1, 2, 1, 2], [1, 2, 2]], [[1, 2], [2]]]); // prettier-ignore
      expect(numbers(all[1][0])).toEqual([0, 0]);
      const one: dx.Tensor = dx.jacobian((a: dx.Tensor) => a.square(), y);
      expect(one.toArraySync()).toEqual([[6, 0], [0, 8]]); // prettier-ignore
      const [out, pushed] = dx.jvp(both, [x, y], [dx.tensor([[1, 0]]), dx.tensor([0, 1])]);
      expect([...out, ...pushed].map(numbers)).toEqual([[3, 8], [7], [3, 2], [1]]); // prettier-ignore
      const curve: dx.Tensor = dx.hessian((a: dx.Tensor) => a.pow(3).sum(), y);
      expectClose(curve, [18, 0, 0, 24]);
      expect(numbers(dx.vjp((a: dx.Tensor) => a.sum(), y)[1])).toEqual([1, 1]);
      expect(numbers(dx.jvp((a: dx.Tensor) => a.mul(2), dx.tensor(5))[1])).toEqual([2]);
      // Nothing is left on the inputs, and gradients are computed inside noGrad() too.
      expect([y.requiresGrad, y.grad, one.requiresGrad]).toEqual([false, null, false]);
      expect(numbers(dx.noGrad(() => dx.jacobian((a: dx.Tensor) => a.sum(), y)))).toEqual([1, 1]);
      expect(dx.jacobian((a: dx.Tensor) => a.exp(), dx.zeros([0])).shape).toEqual([0, 0]);
      expectClose(
        dx.jacobian((a: dx.Tensor) => a.square(), y.to("float16")),
        [6, 0, 0, 8],
      );
      expectClose(
        dx.jacobian((a: dx.Tensor) => a.square().sum(), x.transpose(0, 1)),
        [2, 4],
      );
      expect(numbers(dx.jacobian((a: dx.Tensor) => a.sqrt(), dx.tensor([-1])))).toEqual([Number.NaN]);
    }),
  );

  test(
    "have a history with createGraph, and zeros or an error where nothing depends",
    alone(() => {
      const x = dx.tensor([1, 2], { requiresGrad: true });
      const cube = (t: dx.Tensor): dx.Tensor => t.pow(3);
      expectClose(dx.grad(dx.jacobian(cube, x, { createGraph: true }).sum(), [x])[0], [6, 12]);
      expectClose(dx.grad(dx.jvp(cube, x, dx.ones([2]), { createGraph: true })[1].sum(), [x])[0], [6, 12]);
      expectClose(dx.grad(dx.vjp(cube, x, dx.ones([2]), { createGraph: true })[1].sum(), [x])[0], [6, 12]);
      const sum = (t: dx.Tensor): dx.Tensor => cube(t).sum();
      expectClose(dx.grad(dx.hvp(sum, x, dx.ones([2]), { createGraph: true })[1].sum(), [x])[0], [6, 6]);
      expectClose(dx.grad(dx.hessian(sum, x, { createGraph: true }).sum(), [x])[0], [6, 6]);
      const y = dx.tensor([5]);
      const first = (a: dx.Tensor, _: dx.Tensor): dx.Tensor => a.sum();
      expect(numbers(dx.jacobian(first, [x, y])[1])).toEqual([0]);
      expect(dx.hessian(first, [x, y]).flat().map(numbers).flat()).toEqual(Array(9).fill(0));
      expect(numbers(dx.jvp(() => dx.ones([2]), x, dx.ones([2]))[1])).toEqual([0, 0]);
      const strict = { strict: true };
      for (const run of [
        () => dx.jacobian(first, [x, y], strict),
        () => dx.vjp(first, [x, y], undefined, strict),
        () => dx.jvp(first, [x, y], [x, y], strict),
        () => dx.vhp(first, [x, y], [x, y], strict),
        () => dx.hessian(first, [x, y], strict),
        () => dx.hessian((a: dx.Tensor) => a.sum(), x, strict),
        () => dx.jacobian(() => dx.ones([2]), x, strict),
      ])
        expect(run).toThrow(dx.AutogradError);
      dx.jacobian(cube, x, strict);
    }),
  );

  test(
    "refuse complex tensors, integers, missing vectors, other shapes and results",
    alone(() => {
      const x = dx.tensor([1, 2]);
      const z = dx.complex(x, x);
      const wrong = (value: unknown): never => value as never;
      expect(() => dx.jacobian((t: dx.Tensor) => t, wrong(z))).toThrow(dx.DxError);
      expect(() =>
        dx.jacobian(
          wrong((t: dx.Tensor) => dx.complex(t, t)),
          x,
        ),
      ).toThrow(/fn's result must be a tensor of a real floating dtype/);
      expect(() => dx.jacobian((t: dx.Tensor) => t, dx.tensor([1], { dtype: "int32" }))).toThrow(dx.DTypeError);
      expect(() =>
        dx.jacobian(
          wrong(() => 3),
          x,
        ),
      ).toThrow(dx.DTypeError);
      expect(() => dx.vjp((t: dx.Tensor) => t, x)).toThrow(/v must be given/);
      expect(() => dx.jvp((t: dx.Tensor) => t, x)).toThrow(dx.AutogradError);
      expect(() => dx.vjp((t: dx.Tensor) => t, x, dx.ones([3]))).toThrow(dx.ShapeError);
      expect(() => dx.jvp((t: dx.Tensor) => t, x, [dx.ones([2]), dx.ones([2])])).toThrow(/1 tensors/);
      expect(() => dx.hessian((t: dx.Tensor) => t, x)).toThrow(/a tensor of one element/);
      expect(() => dx.hvp((t: dx.Tensor) => t.mul(2), x, x)).toThrow(dx.AutogradError);
      expect(() => dx.jacobian((t: dx.Tensor) => t, x, wrong({ strikt: true }))).toThrow(dx.DxError);
      expect(() => dx.jacobian(wrong(3), x)).toThrow(dx.DxError);
    }),
  );

  test(
    "run in compiled functions",
    alone(() => {
      const fn = dx.compile((x: dx.Tensor) => [
        dx.jacobian((t: dx.Tensor) => t.sin(), x),
        dx.hvp((t: dx.Tensor) => t.sin().sum(), x, x)[1],
      ]);
      for (const data of [
        [0.1, 0.2],
        [0.1, 0.2],
        [0.3, 1],
      ]) {
        const [slopes, product] = fn(dx.tensor(data)) as [dx.Tensor, dx.Tensor];
        expectClose(slopes, [Math.cos(data[0]!), 0, 0, Math.cos(data[1]!)]);
        expectClose(
          product,
          data.map((v) => -Math.sin(v) * v),
        );
      }
    }),
  );
});
