import { inspect } from "node:util";
import { expect, test, vi } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { clean, eachDevice } from "../device.ts";

eachDevice("printing", (device) => {
  /** What stands behind the elements when the device is not cpu. */
  const at = device === "cpu" ? "" : `, device=${device}`;

  test("as PyTorch does: whole, fractional, mixed and scientific numbers", () =>
    clean(device, () => {
      const text = (data: dx.TensorData, dtype?: dx.DType): string => dx.tensor(data, dtype === undefined ? {} : { dtype }).formatSync();
      expect(
        text([
          [1, 2],
          [3, 4],
        ]),
      ).toBe(`tensor([[1., 2.],\n        [3., 4.]]${at})`);
      expect(text([1.5, -2, 100])).toBe(`tensor([  1.5000,  -2.0000, 100.0000]${at})`);
      expect(text([1e-6, 1, 3e5])).toBe(`tensor([1.0000e-06, 1.0000e+00, 3.0000e+05]${at})`);
      expect(text([NaN, Infinity, -Infinity, 1])).toBe(`tensor([ nan,  inf, -inf,   1.]${at})`);
      expect(text(3.14159)).toBe(`tensor(3.1416${at})`);
      expect(text([true, false])).toBe(`tensor([ true, false]${at})`);
      expect(text([1, -20], "int32")).toBe(`tensor([  1, -20], dtype=int32${at})`);
      expect(text([1n, 20n])).toBe(`tensor([ 1, 20]${at})`);
      expect(text([0.5], "float16")).toBe(`tensor([0.5000], dtype=float16${at})`);
      expect(text([])).toBe(`tensor([]${at})`);
    }));

  test("views, several axes, gradients and empty tensors", () =>
    clean(
      device,
      () => {
        expect(dx.arange(8, { dtype: "float32" }).reshape(2, 2, 2).formatSync()).toBe(
          `tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]]${at})`,
        );
        expect(
          dx
            .tensor([
              [1, 2],
              [3, 4],
            ])
            .t()
            .formatSync(),
        ).toBe(`tensor([[1., 3.],\n        [2., 4.]]${at})`);
        expect(dx.zeros([0, 2]).formatSync()).toBe(`tensor([], size=[0, 2]${at})`);
        const x = dx.tensor([1], { requiresGrad: true });
        expect(x.formatSync()).toBe(`tensor([1.]${at}, requiresGrad=true)`);
        expect(x.mul(2).formatSync()).toBe(`tensor([2.]${at}, gradFn=<mul>)`);
      },
      { collect: true },
    ));

  test("long lines are broken, large tensors summarised", () =>
    clean(device, async () => {
      const text = dx.arange(30).formatSync();
      expect(text.split("\n").every((l) => l.length <= 80)).toBe(true);
      expect(text.split("\n").length).toBe(at === "" ? 2 : 3);
      const large = dx.arange(1001 * 4, { dtype: "float32" }).reshape(1001, 4);
      expect(await large.format()).toBe(
        `tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00, 3.0000e+00],\n        [4.0000e+00, 5.0000e+00, 6.0000e+00, 7.0000e+00],\n        [8.0000e+00, 9.0000e+00, 1.0000e+01, 1.1000e+01],\n        ...,\n        [3.9920e+03, 3.9930e+03, 3.9940e+03, 3.9950e+03],\n        [3.9960e+03, 3.9970e+03, 3.9980e+03, 3.9990e+03],\n        [4.0000e+03, 4.0010e+03, 4.0020e+03, 4.0030e+03]]${at})`,
      );
      expect(dx.zeros([2000]).formatSync()).toBe(`tensor([0., 0., 0., ..., 0., 0., 0.]${at})`);
      expect(dx.zeros([2000]).formatSync({ edgeItems: 1 })).toBe(`tensor([0., ..., 0.]${at})`);
    }));

  test("options, and print()", () =>
    clean(device, async () => {
      const x = dx.tensor([1.23456789]);
      expect(x.formatSync({ precision: 2 })).toBe(`tensor([1.23]${at})`);
      dx.setPrintOptions({ precision: 6 });
      expect(x.formatSync()).toBe(`tensor([1.234568]${at})`);
      dx.setPrintOptions(null);
      const log = vi.spyOn(console, "log").mockImplementation(() => {});
      await x.print();
      expect(log).toHaveBeenCalledWith(`tensor([1.2346]${at})`);
      log.mockRestore();
    }));

  test("console.log shows values where they are on the host", () =>
    clean(
      device,
      async () => {
        const x = dx.tensor([1, 2], { requiresGrad: true });
        const [y, nested, long] = [x.mul(3), { loss: dx.tensor(2), big: dx.zeros([17]) }, dx.zeros([2000])];
        const z = dx.complex(dx.tensor([1]), dx.tensor([2]));
        const { binding, id } = nativeDevice(dx.device(device));
        /** Shown when nothing is left to do: then no time is waited for the answer. */
        const shown = async (value: unknown): Promise<string> => {
          await dx.synchronize(device);
          expect(binding.doneWithin(id, 0)).toBe(true);
          return inspect(value);
        };
        expect(await shown(x)).toBe(`tensor([1., 2.]${at}, requiresGrad=true)`);
        expect(await shown(y)).toBe(`tensor([3., 6.]${at}, gradFn=<mul>)`);
        expect(await shown(nested)).toBe(`{ loss: tensor(2.${at}), big: Tensor float32[17] on ${device} }`);
        expect(await shown(long)).toBe(`tensor([0., 0., 0., ..., 0., 0., 0.]${at})`);
        expect(await shown(z)).toBe(`tensor([1.+2.j]${at})`);
        const seen: string[] = [];
        const f = dx.compile((t: dx.Tensor) => {
          const y = t.mul(2);
          seen.push(inspect(y));
          return y;
        });
        for (let i = 0; i < 3; i++) f(x.detach());
        expect(seen).toEqual(seen.map(() => `Tensor float32[2] on ${device}`));
        binding.hold(id, true);
        try {
          expect(inspect(x.detach().add(1))).toBe(
            `Tensor float32[2] on ${device}, not computed yet: await it.print() waits and shows the values`,
          );
        } finally {
          binding.hold(id, false);
        }
      },
      { collect: true },
    ));

  test("JavaScript's operators are refused, with the methods that replace them; text is text", () =>
    clean(
      device,
      () => {
        const real = dx.tensor([3]);
        const tensors: readonly (dx.Tensor | dx.ComplexTensor)[] = [
          real,
          real.reshape([]),
          dx.zeros([0]),
          dx.tensor([1n]),
          new dx.nn.Parameter(dx.ones([2])),
          dx.complex(real, real),
        ];
        // Types refuse them already.
        const operators: Record<string, (x: never) => unknown> = {
          add: (x) => x + 1,
          "add, the other way round": (x) => 1 + x,
          "add text": (x) => x + "",
          sub: (x) => x - 1,
          mul: (x) => x * 2,
          div: (x) => x / 2,
          remainder: (x) => x % 2,
          pow: (x) => x ** 2,
          neg: (x) => -x,
          positive: (x) => +x,
          gt: (x) => x > 1,
          lt: (x) => x < 1,
          ge: (x) => x >= 1,
          le: (x) => x <= 1,
          eq: (x) => x == 3, // oxlint-disable-line eqeqeq
          bitwiseAnd: (x) => x & 1,
          "Number()": (x) => Number(x),
          "Math.max()": (x) => Math.max(x, 1),
        };
        for (const x of tensors) {
          const known = String(x);
          for (const [name, apply] of Object.entries(operators)) {
            const run = (): string => `${name}: ${String(apply(x as never))}`;
            expect(run).toThrow(dx.DTypeError);
            expect(run).toThrow(`JavaScript's operators; received ${known}. Call methods: a.add(b) for +, sub -, mul *`);
          }
          expect(known).toMatch(/^(Complex)?Tensor \w+\[/);
          expect(`${x}`).toBe(known); // oxlint-disable-line typescript/restrict-template-expressions
          expect([x].join()).toBe(known);
          expect(inspect(x)).toContain("tensor(");
          expect(x == null).toBe(false); // oxlint-disable-line eqeqeq
          expect([x].includes(x)).toBe(true);
        }
        expect(JSON.stringify(real)).toBe('{"dtype":"float32","shape":[1],"data":[3]}');
      },
      { collect: true },
    ));
});
