/** bfloat16: float32 arithmetic, rounded after each operation; eagerly, compiled and on old feature levels the same bits. */
process.env.DXTENSOR_SIMULATE ??= "rtx-3070@5.0";
import { expect, test, describe } from "vitest";
import type { Tensor } from "../../src/index.ts";

const dx = await import("../../src/index.ts");
const { fromBfloat16, toBfloat16 } = await import("../../src/core/dtype.ts");
const { clean, eachDevice, eachMode, isMicrosoft, modes, numbers } = await import("../device.ts");

const f32 = new Float32Array(1);
const u32 = new Uint32Array(f32.buffer);
const single = (word: number): number => {
  u32[0] = word;
  return f32[0]!;
};
const half = (values: readonly number[] | Uint16Array, shape?: readonly number[]): Tensor =>
  dx.tensor(values instanceof Uint16Array ? values : Uint16Array.from(values, toBfloat16), {
    dtype: "bfloat16",
    shape: shape ?? [values.length],
  });
const words = (t: Tensor): Uint16Array => t.dataSync() as Uint16Array;
/** NaN has many words. */
const isNanWord = (w: number): boolean => (w & 0x7f80) === 0x7f80 && (w & 0x7f) !== 0;
const same = (got: Uint16Array, want: ArrayLike<number>): number[] =>
  [...got].flatMap((w, i) => (w === want[i] || (isNanWord(w) && isNanWord(want[i]!)) ? [] : [i]));

/** Numbers of every exponent, ties of either side and what lies next to them; without what GPUs flush to zero. */
function patterns(device: string): Float32Array {
  const found: number[] = [];
  for (let exponent = isMicrosoft(device) ? 1 : 0; exponent < 256; exponent++)
    for (const mantissa of [0, 1, 0x7fff, 0x8000, 0x8001, 0x17fff, 0x18000, 0x18001, 0x7effff, 0x7f7fff, 0x7f8000, 0x7fffff])
      for (const sign of [0, 1]) found.push(single(((sign << 31) | (exponent << 23) | mantissa) >>> 0));
  return Float32Array.from(found);
}

eachMode("bfloat16", (device, { run }) => {
  test("every float32 pattern is rounded to nearest, ties to even, overflow to infinity, NaN to NaN", () =>
    clean(device, () => {
      const x = patterns(device);
      const got = run((t) => t.to("bfloat16"), dx.tensor(x));
      expect(same(words(got), Array.from(x, toBfloat16))).toEqual([]);
    }));

  test("every word becomes its number, and comes back as it was", () =>
    clean(device, () => {
      const every = Uint16Array.from({ length: 65536 }, (_, i) => i).filter((w) => !isMicrosoft(device) || (w & 0x7f80) !== 0);
      const wide = run((t) => t.to("float32"), half(every));
      const found = numbers(wide);
      expect(Array.from(every, fromBfloat16).findIndex((v, i) => !Object.is(v, found[i]!))).toBe(-1);
      expect(same(words(run((t) => t.to("float32").to("bfloat16"), half(every))), every)).toEqual([]);
    }));

  test("each operation rounds once: sums, products and quotients are those of float32, rounded", () =>
    clean(device, () => {
      const [a, b] = [0, 1].map((k) =>
        Array.from({ length: 500 }, (_, i) => fromBfloat16(toBfloat16(Math.sin(i * 12.9898 + k) * 10 ** ((i % 13) - 6)))),
      );
      const check = (op: (x: Tensor, y: Tensor) => Tensor, want: (x: number, y: number) => number): void =>
        expect(
          same(
            words(run(op, half(a!), half(b!))),
            a!.map((x, i) => toBfloat16(Math.fround(want(x, b![i]!)))),
          ),
        ).toEqual([]);
      check(dx.add, (x, y) => x + y);
      check(dx.sub, (x, y) => x - y);
      check(dx.mul, (x, y) => x * y);
      check(dx.maximum, Math.max);
      // (a + b) is rounded before it is multiplied.
      check(
        (x, y) => dx.mul(dx.add(x, y), y),
        (x, y) => fromBfloat16(toBfloat16(Math.fround(x + y))) * y,
      );
      check(
        (x, y) => dx.mul(dx.add(x, 0.3), dx.mul(y, 0.3)),
        (x, y) => fromBfloat16(toBfloat16(Math.fround(x + 0.30078125))) * fromBfloat16(toBfloat16(Math.fround(y * Math.fround(0.3)))),
      );
    }));

  test("overflow gives infinity, NaN stays, infinities subtract to NaN", () =>
    clean(device, () => {
      const largest = 3.3895313892515355e38;
      const y = run((x) => dx.add(x, x), half([largest, -largest, NaN, Infinity, -0]));
      expect(numbers(y)).toEqual([Infinity, -Infinity, NaN, Infinity, -0]);
      expect(numbers(run((x) => dx.sub(x, x), half([Infinity, 1])))).toEqual([NaN, 0]);
    }));

  test("views at odd offsets, transposed, broadcast and with gaps", () =>
    clean(device, () => {
      const x = half(
        Array.from({ length: 60 }, (_, i) => i - 20),
        [5, 12],
      );
      const seen = (t: Tensor): Tensor[] => [
        dx.add(t.slice(1, 1, 8).slice(0, 1), 1),
        dx.mul(t.permute(1, 0), 2),
        dx.add(t.select(1, 3).unsqueeze(1).expand(5, 4), t.slice(1, 5, 9)),
        dx.cat([t.slice(1, 1, 12, 3), t.slice(1, 0, 2)], 1),
        t.slice(1, 1, 12, 2).contiguous(),
      ];
      const wide = seen(x.to("float32"));
      run((t) => seen(t), x).forEach((t, i) => {
        expect(t.dtype).toBe("bfloat16");
        expect(t.shape).toEqual(wide[i]!.shape);
        expect(numbers(t)).toEqual(numbers(wide[i]!));
      });
    }));

  test("one result twice, and the input itself", () =>
    clean(device, () => {
      const [a, b, c] = run(
        (x) => {
          const y = dx.mul(x, 3);
          return [y, y, x];
        },
        half([1, 2.5]),
      );
      expect([a!, b!, c!].map(numbers)).toEqual([
        [3, 7.5],
        [3, 7.5],
        [1, 2.5],
      ]);
    }));

  test("what is empty stays so", () =>
    clean(device, () => {
      const y = run((x) => dx.add(x, 1), dx.zeros([0, 3], { dtype: "bfloat16" }));
      expect(y.describe()).toBe("bfloat16[0, 3]");
      expect(numbers(run((x) => dx.sum(x), dx.zeros([0], { dtype: "bfloat16" })))).toEqual([0]);
    }));

  test("dtypes promote as in PyTorch", () =>
    clean(device, () => {
      const x = half([1, 2]);
      const dtypes = (fn: (t: Tensor) => Tensor): string => run(fn, x).dtype;
      expect(dtypes((t) => dx.add(t, dx.ones([2], { dtype: "float16" })))).toBe("float32");
      expect(dtypes((t) => dx.add(t, dx.ones([2])))).toBe("float32");
      expect(dtypes((t) => dx.add(t, dx.ones([])))).toBe("bfloat16");
      expect(dtypes((t) => dx.add(t, dx.ones([2], { dtype: "int64" })))).toBe("bfloat16");
      expect(dtypes((t) => dx.add(dx.ones([2], { dtype: "int32" }), t.select(0, 0)))).toBe("bfloat16");
      expect(dtypes((t) => dx.mul(t, 0.1))).toBe("bfloat16");
      expect(dtypes((t) => dx.mul(0.1, t.select(0, 0)))).toBe("bfloat16");
      expect(dtypes((t) => dx.div(t.select(0, 1), 3))).toBe("bfloat16");
      expect(dtypes((t) => dx.lt(t, 1))).toBe("bool");
      expect(dtypes((t) => dx.where(dx.lt(t, 1), t, dx.ones([2])))).toBe("float32");
    }));

  test("writes in place: the whole, a range, and every second element", () =>
    clean(device, () => {
      const y = run(
        (x) => {
          const t = dx.mul(x, 1);
          t.add_(0.5);
          t.slice(0, 1, 3).mul_(2);
          t.slice(0, 0, 6, 2).mul_(0.1);
          return t;
        },
        half([1, 2, 3, 4, 5, 6]),
      );
      expect(y.dtype).toBe("bfloat16");
      const once = (v: number): number => fromBfloat16(toBfloat16(Math.fround(v)));
      const tenth = Math.fround(0.1);
      expect(numbers(y)).toEqual([once(1.5 * tenth), 5, once(7 * tenth), 4.5, once(5.5 * tenth), 6.5]);
    }));

  test("gradients of bfloat16 leaves are bfloat16, of float32 leaves of the same function float32", () =>
    clean(device, () => {
      const [a, b] = [half([1, 2, 3], [1, 3]).requiresGrad_(), dx.tensor([[0.5], [0.25], [2]]).requiresGrad_()];
      const grads = run((x, w) => dx.grad([dx.sum(dx.square(dx.matmul(x.to("float32"), w)))], [x, w]).map((g) => g!), a, b);
      expect(grads.map((g) => g.describe())).toEqual(["bfloat16[1, 3]", "float32[3, 1]"]);
      expect(numbers(grads[0]!)).toEqual([7, 3.5, 28]);
      expect(numbers(grads[1]!)).toEqual([14, 28, 42]);
    }));
});

eachDevice("bfloat16", (device) => {
  test("compiled programs give the bits that eager calls give", () =>
    clean(
      device,
      () => {
        const body = (x: Tensor, w: Tensor, b: Tensor): Tensor[] => {
          const h = dx.relu(dx.addmm(b, x, w));
          const n = dx.layerNorm(h, [8]);
          return [dx.softmax(n, 1), dx.mean(dx.square(n)), dx.cat([h, n], 1), dx.add(dx.exp(n), h.to("float32"))];
        };
        const generator = new dx.Generator(1);
        const inputs = (): [Tensor, Tensor, Tensor] => [
          dx.randn([4, 6], { dtype: "bfloat16", generator }),
          dx.randn([6, 8], { dtype: "bfloat16", generator }),
          dx.randn([8], { dtype: "bfloat16", generator }),
        ];
        const compiled = dx.compile(body);
        for (let i = 0; i < 3; i++) {
          const operands = inputs();
          const want = body(...operands);
          compiled(...operands).forEach((t, k) => expect(t.dataSync()).toEqual(want[k]!.dataSync()));
        }
        compiled.dispose();
      },
      { collect: true },
    ));

  test("uniform numbers lie in [0, 1) and normal ones have their moments", () =>
    clean(device, () => {
      const generator = new dx.Generator(3);
      const u = numbers(dx.rand([20000], { dtype: "bfloat16", generator }));
      expect(Math.max(...u)).toBeLessThan(1);
      expect(Math.min(...u)).toBeGreaterThanOrEqual(0);
      expect(u.reduce((a, b) => a + b, 0) / u.length).toBeCloseTo(0.5, 1);
      const n = numbers(dx.randn([20000], { dtype: "bfloat16", generator }));
      expect(n.reduce((a, b) => a + b * b, 0) / n.length).toBeCloseTo(1, 1);
      generator.drop(null);
    }));

  test("a model of bfloat16 learns, its parameters and their gradients stay bfloat16", () =>
    clean(
      device,
      () => {
        const generator = dx.manualSeed(7);
        const model = new dx.nn.Sequential(new dx.nn.Linear(4, 16), new dx.nn.Tanh(), new dx.nn.LayerNorm([16]), new dx.nn.Linear(16, 1));
        model.to("bfloat16");
        const x = dx.randn([64, 4], { dtype: "bfloat16" });
        const y = dx.sum(x, 1, { keepDims: true });
        const optimizer = new dx.optim.AdamW([...model.parameters()], { lr: 0.02 });
        const loss = (): Tensor => dx.mseLoss(model.forward(x), y);
        const step = dx.compile(() => {
          optimizer.zeroGrad();
          const l = loss();
          l.backward();
          optimizer.step();
          return l;
        });
        const first = step().itemSync();
        let last = first;
        for (let i = 0; i < 60; i++) last = step().itemSync();
        expect(last).toBeLessThan(first / 4);
        for (const p of model.parameters()) expect([p.dtype, p.grad!.dtype]).toEqual(["bfloat16", "bfloat16"]);
        step.dispose();
        optimizer.dispose();
        for (const p of model.parameters()) {
          p.grad?.dispose();
          p.dispose();
        }
        generator.drop(null);
      },
      { collect: true },
    ));
});

describe("float64", () => {
  const values = [Math.PI, -Math.E, 1e300, -0, NaN, -Infinity, 5e-324];
  for (const { name, run } of modes)
    test(`moves, chooses, casts and turns signs exactly, ${name}`, () =>
      clean(
        "cpu",
        () => {
          const x = dx.tensor(values, { dtype: "float64" });
          const [chosen, mirrored, minus, size, padded] = run(
            (t) => [
              dx.where(dx.tensor([true, false, true, false, true, false, true]), t, t.flip(0)),
              dx.cat([t.slice(0, 1), t.slice(0, 0, 1)]),
              dx.neg(t),
              dx.abs(t.slice(0, 0, 7, 2)),
              dx.pad(t, [0, 1], { value: 0.1 }),
            ],
            x,
          ).map((t) => {
            expect(t.dtype).toBe("float64");
            return t.toArraySync();
          });
          expect(chosen).toEqual(values.map((v, i) => (i % 2 === 0 ? v : values[6 - i])));
          expect(mirrored).toEqual([...values.slice(1), values[0]]);
          expect(minus).toEqual(values.map((v) => -v));
          expect(size).toEqual([0, 2, 4, 6].map((i) => Math.abs(values[i]!)));
          expect(padded).toEqual([...values, 0.1]);
        },
        { collect: true },
      ));

  test("what is zero is false, NaN and the least number are true", () =>
    clean("cpu", () => {
      const x = dx.tensor([0, -0, NaN, 5e-324, -2], { dtype: "float64" });
      expect(x.to("bool").toArraySync()).toEqual([false, false, true, true, true]);
      expect(dx.logicalNot(x).toArraySync()).toEqual([true, true, false, false, false]);
      expect([dx.any(x).toArraySync(), dx.all(x).toArraySync(), dx.any(x.slice(0, 0, 2)).toArraySync()]).toEqual([true, false, false]);
    }));

  test("becomes integers with all its digits, what lies outside as in PyTorch", () =>
    clean("cpu", () => {
      const x = dx.tensor([16777217.9, -16777217.9, 2147483647.5, -2147483648, 2147483648, 2 ** 53 - 1, NaN], { dtype: "float64" });
      const min = -2147483648;
      expect(x.to("int32").toArraySync()).toEqual([16777217, -16777217, 2147483647, min, min, min, min]);
      const long = dx.tensor([2 ** 53 - 1, -(2 ** 63), 2 ** 63 - 1024, 2 ** 63, Infinity], { dtype: "float64" });
      expect(long.to("int64").toArraySync()).toEqual([2n ** 53n - 1n, -(2n ** 63n), 2n ** 63n - 1024n, -(2n ** 63n), -(2n ** 63n)]);
    }));

  test("is refused by name where DirectML has no arithmetic, and never computed in fewer digits", () =>
    clean("cpu", () => {
      const x = dx.tensor([Math.PI, 1], { dtype: "float64" });
      const refused: Record<string, () => unknown> = {
        add: () => dx.add(x, 1),
        exp: () => dx.exp(x),
        sum: () => dx.sum(x),
        matmul: () => dx.matmul(x, x),
        interpolate: () => dx.nn.functional.interpolate(x.reshape(1, 1, 2), { size: 4, mode: "linear" }),
        indexAdd: () => dx.indexAdd(x, 0, dx.tensor([0], { dtype: "int64" }), x.slice(0, 0, 1)),
      };
      for (const [name, fn] of Object.entries(refused)) expect(fn).toThrow(new RegExp(`^${name}: .*float64`));
    }));
});
