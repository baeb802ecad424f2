/** Sums by index in regions: random ones compared with float64 and with DirectML's form, and an embedding that is trained. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { sumsFew } from "../../../src/shader/operations/summed-rows.ts";
import { inside, mulberry, numbers } from "../../graph/passes/fuse/programs.ts";
import { devices, eachDevice } from "../../device.ts";
import { expectNear } from "../../graph/passes/fuse/expect-near.ts";

const SEEDS = Array.from({ length: Number(process.env.DXTENSOR_FUZZ ?? 12) }, (_, i) => i + 1);

it("are taken by threads of their own while all of them compare few indices", () => {
  expect(sumsFew(1024, 1000, 64)).toBe(true);
  expect(sumsFew(1024, 1000, 65)).toBe(false);
  expect(sumsFew(1025, 2, 4)).toBe(false);
});

for (const device of devices)
  describe(`sums by index in regions on ${device}`, () => {
    it.each(SEEDS)("seed %i", (seed) => {
      const plan = mulberry(seed + 240);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const [k, n, columns] = [pick([1, 2, 7, 8, 9, 40, 101]), pick([1, 3, 10, 300]), pick([1, 3, 4, 6, 32])];
      const [dtype, indexDtype] = [pick(["float32", "float32", "float16"] as const), pick(["int32", "int64"] as const)];
      const [isAdded, isMasked, hasSpecial, isTransposed] = [plan() < 0.4, plan() < 0.4, plan() < 0.3, plan() < 0.3];
      const data = mulberry(seed + 280);
      const value = (): number => (hasSpecial && data() < 0.05 ? [NaN, Infinity, -Infinity][Math.floor(data() * 3)]! : Math.round(data() * 64) / 16 - 2); // prettier-ignore
      const run = (x: dx.Tensor, index: dx.Tensor, table: dx.Tensor): dx.Tensor[] => {
        const kept = isMasked ? dx.where(dx.gt(x, -1), x, 0) : x.mul(0.5);
        if (isAdded) return [dx.indexAdd(table, 0, index, kept, { alpha: 2 })];
        const leaf = table.detach().requiresGrad_();
        dx.embedding(index, leaf).mul(kept).sum().backward();
        return [leaf.grad!, table.sub(leaf.grad!.mul(0.25)), leaf.grad!.to("float16")];
      };
      const compiled = (["always", "off"] as const).map((fuse) => dx.compile(run, { fuse }));
      for (let call = 0; call < 3; call++) {
        const [x, at, table] = [Array.from({ length: k * columns }, value), Array.from({ length: k }, () => Math.floor(data() * n)), Array.from({ length: n * columns }, () => Math.round(data() * 64) / 16)]; // prettier-ignore
        const tensorOf = (list: readonly number[], rows: number): dx.Tensor => {
          if (!isTransposed) return dx.tensor([...list], { dtype, device: dx.device(device) }).reshape([rows, columns]);
          const columnsFirst = list.map((_, i) => list[(i % rows) * columns + Math.floor(i / rows)]!);
          return dx.tensor(columnsFirst, { dtype, device: dx.device(device) }).reshape([columns, rows]).transpose(0, 1); // prettier-ignore
        };
        const index = dx.tensor(at, { dtype: "int32", device: dx.device(device) }).to(indexDtype);
        const sums = new Array<number>(n * columns).fill(0);
        x.forEach((v, i) => (sums[at[Math.floor(i / columns)]! * columns + (i % columns)]! += isMasked ? (v > -1 ? v : 0) : v * 0.5));
        const expected = isAdded ? [table.map((v, i) => v + 2 * sums[i]!)] : [sums, table.map((v, i) => v - 0.25 * sums[i]!), sums];
        const results = compiled.map((f) => f(tensorOf(x, k), index, tensorOf(table, n)).map(numbers));
        results.forEach((list, form) =>
          list.forEach((got, i) =>
            expectNear(got, expected[i]!, dtype === "float16" || i === 2 ? 0.01 : 1e-6, `form ${form}, result ${i}`),
          ),
        );
        if (dtype === "float32") expect(results[0]![0]).toEqual(results[1]![0]);
      }
      if (k > 1) expect(inside(compiled[0]!)).toContain("ROI_ALIGN_GRAD");
      for (const f of compiled) f.dispose();
    });
  });

/** PyTorch 2.15 in float64: losses of steps 1, 6, 11, 16 and 20, and the table's fourth row behind them. */
const RECORDED = {
  sgd: {
    losses: [2.4260756, 2.2444749, 2.1272577, 2.045511, 1.9937167],
    row: [-1.0398582874884499, 1.1476768037500225, -0.013820791372217221, -0.9076866786297499, 0.1506910317491427, 0.6195003177713594],
    maxLaunches: 6,
  },
  adam: {
    losses: [2.4260756, 2.0398012, 1.8515925, 1.6628359, 1.5363137],
    row: [-1.4254093476289318, 1.755434703848869, -0.5059637905426976, 0.02041760364329933, 0.6237057647470132, -0.05131104931768458],
    maxLaunches: 9,
  },
} as const;

eachDevice("an embedding that learns", (name) => {
  const device = dx.device(name);
  const wave = (count: number, f: number, scale = 1): number[] => Array.from({ length: count }, (_, i) => scale * Math.sin(f * i + 0.3));

  it.each(["sgd", "adam"] as const)("by %s, with the sum by index and what follows in one launch, as PyTorch's", (kind) => {
    const ids = dx.tensor(Array.from({ length: 24 }, (_, i) => (i * i * 3 + i) % 11), { dtype: "int32", device }); // prettier-ignore
    const target = dx.tensor(Array.from({ length: 24 }, (_, i) => (i * 5 + 2) % 7), { dtype: "int32", device }); // prettier-ignore
    const train = (fuse: "always" | "off"): { losses: number[]; table: number[]; explained: dx.Explanation } => {
      const leaf = (list: number[], rows: number): dx.Tensor => dx.tensor(list, { device }).reshape([rows, list.length / rows]).detach().requiresGrad_(); // prettier-ignore
      const [table, weight] = [leaf(wave(66, 1.7), 11), leaf(wave(66, 0.9, 0.5), 6)];
      const optimizer = kind === "sgd" ? dx.optim.sgd([table, weight], { lr: 0.5 }) : dx.optim.adam([table, weight], { lr: 0.05 });
      const step = dx.compile(
        (x: dx.Tensor, y: dx.Tensor) => {
          optimizer.zeroGrad();
          const loss = dx.crossEntropy(dx.matmul(dx.tanh(dx.embedding(x, table, { paddingIdx: 4 })), weight), y);
          loss.backward();
          optimizer.step();
          return loss.detach();
        },
        { fuse },
      );
      const losses = Array.from({ length: 20 }, () => step(ids, target).itemSync() as number);
      const explained = step.explain();
      step.dispose();
      return { losses, table: numbers(table), explained };
    };
    const [by, plain] = [train("always"), train("off")];
    const { losses, row, maxLaunches } = RECORDED[kind];
    for (const { losses: all, table } of [by, plain]) {
      expectNear([0, 5, 10, 15, 19].map((i) => all[i]!), losses, 3e-5, "losses"); // prettier-ignore
      expectNear(table.slice(18, 24), row, 1e-4, "a row");
      // The row of the padding.
      expectNear(table.slice(24, 30), wave(66, 1.7).slice(24, 30), 1e-6, "padding");
    }
    expectNear(by.losses, plain.losses, 1e-5, "losses of both");
    const summing = by.explained.fused.find(({ nodes }) => nodes.some((n) => n.operator === "ROI_ALIGN_GRAD"))!;
    expect(summing.nodes.length).toBeGreaterThan(1);
    expect(by.explained.dispatches).toBeLessThanOrEqual(maxLaunches);
  });
});
