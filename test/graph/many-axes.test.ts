/** Tensors of more axes than DirectML's eight, packed and permuted, compared with PyTorch 2.15: shapes and weighted sums of results (many-axes.json). */
import { readFileSync } from "node:fs";
import { expect, it, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";

type Checked = readonly [shape: readonly number[], sum: number];
const recorded = JSON.parse(readFileSync(new URL("many-axes.json", import.meta.url), "utf8")) as Readonly<
  Record<string, Readonly<Record<string, Checked>>>
>;

type Call = (a: dx.Tensor, c: dx.Tensor, k: number) => dx.Tensor;
const one = (): dx.Tensor => dx.tensor([1], { dtype: "int64" });
const thirds = (c: dx.Tensor): dx.Tensor => c.to("int64").remainder(3);
const CALLS: Readonly<Record<string, Call>> = {
  add: (a, c) => a.add(c),
  number: (a) => a.mul(2).sub(1),
  relu: (a) => dx.relu(a.sub(50)),
  where: (a, c) => dx.where(a.gt(c), a, c),
  sum: (a) => a.sum(),
  sumOne: (a) => a.sum(4),
  sumSome: (a) => a.sum([1, 3, 5]),
  mean: (a, _, k) => a.mean([0, 2, k !== 0 && k !== 2 ? k : 7]),
  amax: (a) => a.amax([2, 6]),
  argmax: (a, _, k) => a.argmax(k),
  cumsum: (a, _, k) => a.cumsum(k),
  contiguous: (a) => a.contiguous(),
  flip: (a, _, k) => a.flip([k, 4]),
  cat: (a, c, k) => dx.cat([a, c], k),
  stack: (a, c) => dx.stack([a, c], 1),
  narrow: (a, _, k) => a.narrow(k, 1, 2).add(1),
  select: (a, c) => a.select(4, 1).sub(c.select(4, 0)),
  indexSelect: (a, _, k) => dx.indexSelect(a, k, one()),
  gather: (a, c, k) => dx.gather(a, k, thirds(c)),
  scatter: (a, c, k) => dx.scatterAdd(a, k, thirds(c), c),
  softmax: (a, _, k) => dx.softmax(a.div(50), k),
  sort: (a, _, k) => dx.sort(a, k).values,
  topk: (a, _, k) => dx.topk(a, 2, k).values,
  matmul: (a, c) => dx.matmul(a, c.transpose(-1, -2)),
  pad: (a) => dx.pad(a, [1, 2]),
  roll: (a, _, k) => dx.roll(a, 1, k),
  expand: (a, c) =>
    a
      .unsqueeze(0)
      .expand([2, ...a.shape])
      .add(c),
  broadcast: (a) => a.add(dx.ones([2, 1])),
  cast: (a) => a.mul(0.5).to("int32"),
  repeat: (a) => a.repeat([2, ...a.shape.slice(1).map(() => 1)]),
  triu: (a) => dx.triu(a),
  maskedFill: (a) => dx.maskedFill(a, a.gt(30), 0),
  logsumexp: (a) => dx.logsumexp(a.div(50), [1, 4]),
  grad: (a, c) => {
    const z = a.detach().clone().requiresGrad_();
    const reversed = z.mul(c).permute(a.shape.map((_, i) => a.rank - 1 - i));
    return dx.grad(reversed.contiguous().cumsum(2).sum([1, 3]).sum(), [z])[0]!;
  },
};

/** Two tensors of n axes, one of three elements and one of one among those of two. */
function operands(n: number, kind: string): [dx.Tensor, dx.Tensor, number] {
  const shape: number[] = Array.from({ length: n }, (_, i) => (i === 0 ? 1 : i === 3 ? 3 : 2));
  const size = shape.reduce((p, d) => p * d);
  const made = (step: number, end: number): dx.Tensor =>
    dx.tensor(
      Float32Array.from({ length: size }, (_, i) => (i * step) % end),
      { shape },
    );
  const [a, c] = [made(7, 101), made(5, 89)];
  const reversed = shape.map((_, i) => n - 1 - i);
  return kind === "packed" ? [a, c, 3] : [a.permute(reversed), c.permute(reversed), n - 4];
}

const checked = (t: dx.Tensor): number => numbers(t).reduce((total, v, i) => total + v * ((i % 97) + 1), 0);

eachMode("more than eight axes", (device, mode) => {
  it.each(Object.keys(CALLS))("%s", (name) =>
    clean(device, () => {
      const cases = Object.entries(recorded[name]!);
      expect(cases.length).toBe(4);
      for (const [key, [shape, sum]] of cases) {
        const [kind, n] = key.split(" ") as [string, string];
        const [a, c, k] = operands(Number(n), kind);
        const result = mode.run((x, y) => CALLS[name]!(x!, y!, k), a, c);
        expect(result.shape, `for ${key}`).toEqual(shape);
        expect(Math.abs(checked(result) - sum), `for ${key}`).toBeLessThanOrEqual(1e-6 * Math.abs(sum));
      }
    }),
  );
});

eachDevice("more than eight axes, further", (device) => {
  test("all recorded calls are made", () =>
    expect([...Object.keys(CALLS), "nonzero"].toSorted()).toEqual(Object.keys(recorded).toSorted()));

  test("nonzero, and writes in place into views", () =>
    clean(device, () => {
      for (const [key, [shape, sum]] of Object.entries(recorded.nonzero!)) {
        const [kind, n] = key.split(" ") as [string, string];
        const found = dx.nonzeroSync(operands(Number(n), kind)[0].gt(60));
        expect([found.shape, checked(found)], `for ${key}`).toEqual([shape, sum]);
      }
      const x = dx.zeros([2, 1, 2, 2, 2, 2, 2, 2, 2, 2]);
      const part = x.permute([9, 8, 7, 6, 5, 4, 3, 2, 1, 0]).select(4, 1);
      part.add_(3);
      expect(x.sum().itemSync()).toBe(3 * 256);
      expect(numbers(x.select(5, 1)).every((v) => v === 3)).toBe(true);
      expect(numbers(x.select(5, 0)).every((v) => v === 0)).toBe(true);
    }));

  test("flips, padding and repeats of every other axis, as of one axis after the other", () =>
    clean(
      device,
      () => {
        const axes = [0, 2, 4, 6, 8];
        const shape = [2, 1, 3, 2, 2, 2, 1, 2, 2];
        const packed = dx.arange(192).to("float32").reshape(shape);
        const permuted = packed.permute([8, 1, 6, 3, 4, 5, 2, 7, 0]);
        const perAxis = (n: number): number[] => shape.map((_, i) => (axes.includes(i) ? n : 1));
        // Pairs of before and after, of the last axis first.
        const pairs = (chosen: readonly number[]): number[] => shape.flatMap((_, i) => (chosen.includes(8 - i) ? [1, 2] : [0, 0]));
        const calls: readonly (readonly [(t: dx.Tensor) => dx.Tensor, (t: dx.Tensor) => dx.Tensor])[] = [
          [(t) => t.flip(axes), (t) => axes.reduce((x, axis) => x.flip(axis), t)],
          [(t) => dx.pad(t, pairs(axes), { value: -1 }), (t) => axes.reduce((x, axis) => dx.pad(x, pairs([axis]), { value: -1 }), t)],
          [(t) => t.repeat(perAxis(2)), (t) => axes.reduce((x, axis) => x.repeat(shape.map((_, i) => (i === axis ? 2 : 1))), t)],
        ];
        for (const [at, [call, wanted]] of calls.entries())
          for (const t of [packed, permuted]) {
            const want = wanted(t);
            for (const found of [call(t), dx.compile(call)(t)]) {
              expect(found.shape, `call ${at}`).toEqual(want.shape);
              expect(numbers(found), `call ${at}`).toEqual(numbers(want));
            }
            const leaf = t.detach().clone().requiresGrad_();
            const weights = dx.arange(want.size).to("float32").reshape(want.shape);
            const gradient = (fn: (x: dx.Tensor) => dx.Tensor): number[] => numbers(dx.grad(fn(leaf).mul(weights).sum(), [leaf])[0]!);
            expect(gradient(call), `gradient of call ${at}`).toEqual(gradient(wanted));
          }
      },
      { collect: true },
    ));

  test("reductions over every other axis, which no merging makes fewer", () =>
    clean(
      device,
      () => {
        const axes = [0, 2, 4, 6, 8];
        const x = dx.arange(512).to("float32").reshape(new Array<number>(9).fill(2));
        const order = [8, 1, 6, 3, 4, 5, 2, 7, 0];
        const wanted = Array.from({ length: 16 }, (_, k) => {
          // Bits 7, 5, 3 and 1 of an element's index are the kept axes.
          const kept = [3, 2, 1, 0].reduce((n, bit) => n | (((k >> bit) & 1) << (2 * bit + 1)), 0);
          return Array.from({ length: 512 }, (_, i) => i).filter((i) => (i & 0b010101010) === kept);
        });
        const totals = wanted.map((list) => list.reduce((a, b) => a + b));
        for (const t of [x, x.permute(order)]) {
          const swapped = numbers(t.sum(axes, { keepDims: true }));
          expect(swapped.length).toBe(16);
          expect(swapped).toEqual(totals);
          expect(numbers(t.amax(axes))).toEqual(wanted.map((list) => Math.max(...list)));
        }
        const narrow = dx.ones([2, 1, 2, 1, 2, 1, 2, 1, 2]).requiresGrad_();
        narrow.mul(x).sum().backward();
        const others = Array.from({ length: 32 }, (_, k) => {
          const kept = [4, 3, 2, 1, 0].reduce((n, bit) => n | (((k >> bit) & 1) << (2 * bit)), 0);
          return Array.from({ length: 512 }, (_, i) => i).reduce((n, i) => ((i & 0b101010101) === kept ? n + i : n), 0);
        });
        expect(narrow.grad!.shape).toEqual(narrow.shape);
        expect(numbers(narrow.grad!)).toEqual(others);
      },
      { collect: true },
    ));

  test("up to 64 axes, and no more", () => {
    expect(dx.zeros(new Array<number>(64).fill(1)).add(1).sum().itemSync()).toBe(1);
    expect(() => dx.zeros(new Array<number>(65).fill(1))).toThrow("zeros: shape must be of at most 64 axes");
  });
});
