/**
 * Gradients of many slices of one tensor. Expected: the derivative of the sum of w times a slice is w at the slice's elements, added in float64; the
 * same slices of 0, 1, 2, … give the elements' indices.
 */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, modes } from "../device.ts";
import { expectClose } from "../tolerance.ts";

type Cut = (x: dx.Tensor) => readonly dx.Tensor[];

const { s } = dx;
const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

/** Of x [6, 4, 5]. */
const CUTS: { readonly [name: string]: Cut } = {
  unbind: (x) => x.unbind(0),
  "unbind of the last axis": (x) => x.unbind(2),
  split: (x) => x.split([1, 3, 2], 0),
  "split of parts of one size": (x) => x.split(2, 1),
  chunk: (x) => x.chunk(4, 0),
  tensorSplit: (x) => dx.tensorSplit(x, [1, 4], 0),
  "select, not of all": (x) => [x.select(0, 4), x.select(0, 1)],
  "narrow with gaps": (x) => [x.narrow(0, 0, 1), x.narrow(0, 2, 2), x.narrow(0, 5, 1)],
  "index in a loop": (x) => times(6, (i) => x.index(i)),
  "at in two loops": (x) => times(24, (k) => x.at(k >> 2, k & 3)),
  "at in three loops": (x) => times(120, (k) => x.at(Math.floor(k / 20), Math.floor(k / 5) % 4, k % 5)),
  "at of a middle axis": (x) => times(4, (i) => x.at(":", i)),
  "the same slice again and again": (x) => times(9, () => x.select(0, 2)),
  "sliding windows": (x) => times(4, (i) => x.narrow(0, i, 3)),
  "windows that lie in each other": (x) => [x.narrow(0, 0, 6), x.narrow(0, 1, 4), x.narrow(0, 2, 1), x.narrow(0, 3, 3)],
  prefixes: (x) => times(6, (i) => x.narrow(0, 0, i + 1)),
  "windows along two axes": (x) => times(6, (k) => x.narrow(0, k, 1).narrow(1, k % 3, 2)),
  "crops that overlap": (x) => [x.at(s(0, 3), s(1, 3)), x.at(s(2, 5), s(2, 4), s(1, 4)), x.at(s(1, 2), ":", 3)],
  "crops that do not fill their bounding box": (x) => [x.at(s(1, 2), s(1, 2)), x.at(s(3, 5), s(2, 3))],
  "steps of two": (x) => [x.at(s(0, null, 2)), x.at(s(1, null, 2)), x.at(s(1, null, 3))],
  "steps of two in a loop": (x) => times(6, (i) => x.at(i, s(i % 2, null, 2))),
  "steps that lie between each other": (x) => times(4, (i) => x.at(":", ":", s(i, null, 4))),
  "steps between each other along two axes": (x) => times(6, (k) => x.at(s(k % 2, null, 2), ":", s(k >> 1, null, 3))),
  "steps with gaps between them": (x) => [x.at(s(1, null, 4)), x.at(s(3, null, 4)), x.at(":", s(0, null, 3)), x.at(":", s(2, null, 3))],
  "parts of steps": (x) => [x.at(s(0, 3, 2)), x.at(s(2, null, 2)), x.at(s(1, 4, 2), s(1, 3)), x.at(s(0, null, 2), s(0, 2))],
  "steps of steps": (x) => times(3, (i) => x.at(s(i & 1, null, 2)).at(s(0, null, 2), s(i, null, 3))),
  "steps of many kinds": (x) => times(10, (k) => x.at(s(k % 3, null, 1 + (k % 4)), s(k & 1, null, 2), s(k % 2, null, 1 + (k % 3)))),
  "steps and single indices": (x) => [x.at(s(0, null, 2)), ...times(6, (i) => x.at(i))],
  "a step over one element": (x) => [x.at(s(5, null, 3)), x.at(s(2, 4))],
  "slices of a transpose": (x) => times(5, (i) => x.transpose(0, 2).select(0, i)),
  "slices of a permutation, in two steps": (x) =>
    times(12, (k) =>
      x
        .permute(1, 2, 0)
        .select(2, k >> 1)
        .narrow(0, k & 1, 2),
    ),
  "slices of slices": (x) =>
    x
      .narrow(0, 1, 4)
      .unbind(0)
      .flatMap((row) => row.narrow(0, 1, 3).unbind(0)),
  "slices with new axes": (x) => times(6, (i) => x.unsqueeze(0).select(1, i).unsqueeze(-1).squeeze(0)),
  "slices of another shape": (x) => times(8, (i) => x.reshape(8, 15).select(0, i)),
  "slices as other shapes": (x) => times(6, (i) => x.select(0, i).reshape(2, 10)),
  "slices with the whole": (x) => [x.mul(1), ...x.unbind(0), x.view(6, 4, 5)],
  "no elements": (x) => [x.narrow(0, 2, 0), x.narrow(1, 4, 0)],
  "empty slices and others": (x) => [x.narrow(0, 2, 0), x.select(0, 1), x.select(0, 3)],
  expanded: (x) => times(6, (i) => x.select(0, i).unsqueeze(0).expand(3, 4, 5)),
  diagonals: (x) => times(5, (i) => x.select(2, i).diagonal()),
};

const shape = [6, 4, 5] as const;
const weight = (k: number, i: number): number => (((k * 31 + i * 17) % 23) - 11) / 4;

/** The numbers of the elements that each slice shows. */
const numbersOf = (cut: Cut): number[][] =>
  dx.withDevice("cpu", () =>
    cut(dx.arange(120, { dtype: "int32" }).reshape(shape)).map((t) => [...(t.contiguous().dataSync() as Iterable<number>)]),
  );

/** Weights for each slice, and the right gradient. */
function expected(cut: Cut): { readonly weights: readonly (readonly number[])[]; readonly gradient: readonly number[] } {
  const gradient = new Array<number>(120).fill(0);
  const weights = numbersOf(cut).map((numbers, k) =>
    numbers.map((n, i) => {
      gradient[n]! += weight(k, i);
      return weight(k, i);
    }),
  );
  return { weights, gradient };
}

const weighted = (parts: readonly dx.Tensor[], weights: readonly (readonly number[])[]): dx.Tensor =>
  parts.map((t, k) => t.mul(dx.tensor(weights[k]!, { dtype: t.dtype }).reshape(t.shape)).sum()).reduce((a, b) => a.add(b));

const flat = (t: dx.Tensor): number[] => [...(t.contiguous().dataSync() as Iterable<number>)];

eachDevice("gradients of slices", () => {
  for (const [name, cut] of Object.entries(CUTS)) {
    const { weights, gradient } = expected(cut);
    for (const mode of modes)
      it(`${name}, ${mode.name}`, () => {
        const x = dx.arange(120, { dtype: "float32" }).reshape(shape);
        const grad = mode.run((t) => {
          const leaf = t.detach().requiresGrad_();
          weighted(cut(leaf), weights).backward();
          return leaf.grad!;
        }, x);
        expect(flat(grad)).toEqual(gradient);
      });

    it(`${name}, of what was computed, by grad(), with second derivatives`, () => {
      const x = dx.arange(120, { dtype: "float32" }).reshape(shape).div(64).requiresGrad_();
      const y = x.mul(2);
      // The sum of w y³ / 6: its second derivative is w y.
      const cubes = weighted(cut(y.mul(y).mul(y).div(6)), weights);
      const [first] = dx.grad(cubes, [y], { createGraph: true });
      const [second] = dx.grad(first!.sum(), [y], { retainGraph: true });
      const values = flat(y.detach());
      expectClose(
        first!.detach(),
        gradient.map((w, i) => (w * values[i]! ** 2) / 2),
      );
      expectClose(
        second!,
        gradient.map((w, i) => w * values[i]!),
      );
    });
  }

  it("float16 and bfloat16", () => {
    for (const dtype of ["float16", "bfloat16"] as const) {
      const { weights, gradient } = expected(CUTS.unbind!);
      const x = dx.zeros(shape, { dtype, requiresGrad: true });
      weighted(x.unbind(0), weights).backward();
      expect(x.grad!.dtype).toBe(dtype);
      expect(flat(x.grad!.to("float32"))).toEqual(gradient);
    }
  });

  it("a second pass with retainGraph adds the same again", () => {
    const x = dx.ones([4, 3], { requiresGrad: true });
    const y = x
      .unbind(0)
      .reduce((a, b) => a.mul(b))
      .sum();
    y.backward({ retainGraph: true });
    y.backward();
    expect(x.grad!.toArraySync()).toEqual(times(4, () => [2, 2, 2]));
  });

  it("hooks and retainGrad of slices see the slice's own gradient, and may change it", () => {
    const x = dx.ones([4, 2], { requiresGrad: true });
    const y = x.mul(1);
    const rows = y.unbind(0);
    const part = y.narrow(0, 1, 2);
    const seen: unknown[] = [];
    rows[1]!.registerHook((g) => {
      seen.push(g.toArraySync());
      return g.mul(10);
    });
    part.retainGrad();
    rows
      .map((r, i) => r.mul(i + 1).sum())
      .reduce((a, b) => a.add(b))
      .add(part.mul(5).sum())
      .backward();
    expect(seen).toEqual([[2, 2]]);
    expect(part.grad!.toArraySync()).toEqual(times(2, () => [5, 5]));
    expect(x.grad!.toArraySync()).toEqual([[1, 1], [25, 25], [8, 8], [4, 4]]); // prettier-ignore
  });

  it("grad() by a slice and by the whole", () => {
    const x = dx.ones([3, 2], { requiresGrad: true });
    const y = x.mul(3);
    const rows = times(3, (i) => y.select(0, i));
    const z = rows.map((r, i) => r.mul(i + 1).sum()).reduce((a, b) => a.add(b));
    const [row, whole, leaf] = dx.grad(z, [rows[1]!, y, x]);
    expect(row!.toArraySync()).toEqual([2, 2]);
    expect(whole!.toArraySync()).toEqual([[1, 1], [2, 2], [3, 3]]); // prettier-ignore
    expect(leaf!.toArraySync()).toEqual([[3, 3], [6, 6], [9, 9]]); // prettier-ignore
  });

  it("slices written in place, and slices of what is written afterwards", () => {
    const x = dx.ones([4, 2], { requiresGrad: true });
    const y = x.mul(2);
    const before = times(4, (i) => y.select(0, i));
    times(4, (i) => y.select(0, i).mul_(i + 1));
    before
      .map((r) => r.sum())
      .reduce((a, b) => a.add(b))
      .backward();
    expect(x.grad!.toArraySync()).toEqual([[2, 2], [4, 4], [6, 6], [8, 8]]); // prettier-ignore
  });

  it("a gradient that was gathered is memory of its own", () => {
    const x = dx.ones([2, 2], { requiresGrad: true });
    const upstream = dx.tensor([3, 4]);
    dx.backward([x.select(0, 0), x.select(0, 1)], { gradient: [upstream, upstream] });
    x.grad!.mul_(0);
    expect(upstream.toArraySync()).toEqual([3, 4]);
  });

  it("leaves' gradients grow, and a leaf that is cut wants one for each of its parts only where asked", () => {
    const x = dx.ones([3, 2], { requiresGrad: true });
    const rows = x.unbind(0);
    rows[0]!.sum().backward();
    dx.noGrad(() => rows[1]!.sum());
    rows[2]!.sum().backward();
    expect(x.grad!.toArraySync()).toEqual([[1, 1], [0, 0], [1, 1]]); // prettier-ignore
  });

  it("an argument with a history, cut inside a compiled function: backward() inside and outside", () => {
    for (const inside of [true, false]) {
      const f = dx.compile((y: dx.Tensor) => {
        const sum = y.unbind(0).map((r, i) => r.mul(i + 1).sum()).reduce((a, b) => a.add(b)); // prettier-ignore
        if (inside) sum.backward();
        return sum;
      });
      for (let k = 1; k <= 3; k++) {
        const x = dx.full([3, 2], k, { requiresGrad: true });
        const sum = f(x.mul(x));
        if (!inside) sum.backward();
        expect(x.grad!.toArraySync()).toEqual(times(3, (i) => times(2, () => 2 * k * (i + 1))));
      }
    }
  });

  it.each<[string, (x: dx.Tensor) => readonly dx.Tensor[]]>([
    ["slices", (x) => x.unbind(0)],
    ["slices with steps", (x) => times(x.shape[0]!, (i) => x.at(i, s(i & 1, null, 2)))],
    ["steps that lie between each other", (x) => times(x.shape[0]! / 2, (i) => x.at(s(i, null, x.shape[0]! / 2)))],
  ])("takes as many dispatches for many %s as for few", async (_, cut) => {
    const dispatches = async (steps: number): Promise<number> => {
      const x = dx.zeros([steps, 4], { requiresGrad: true });
      const parts = cut(x);
      const upstream = parts.map((t) => dx.ones(t.shape));
      await dx.synchronize();
      const before = dx.counters(dx.defaultDevice()).dispatchesRecorded;
      dx.backward(parts, { gradient: upstream });
      await dx.synchronize();
      return dx.counters(dx.defaultDevice()).dispatchesRecorded - before;
    };
    expect(await dispatches(256)).toBe(await dispatches(8));
  });

  it("more slices than one JOIN takes", () => {
    const x = dx.zeros([1100, 2], { requiresGrad: true });
    dx.backward(x.unbind(0), { gradient: times(1100, (i) => dx.tensor([i + 1, -i - 1])) });
    expect(flat(x.grad!)).toEqual(times(2200, (i) => (i % 2 === 0 ? 1 : -1) * ((i >> 1) + 1)));
  });
});
