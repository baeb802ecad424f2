/** argmax and argmin in regions: the first of equals, NaN before all, rows along any axis, next to other reductions of the same rows. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { devices, eachDevice } from "../../../device.ts";
import { at, count, inside, mulberry, numbers, packedStrides } from "./programs.ts";

const SEEDS = Array.from({ length: Number(process.env.DXTENSOR_FUZZ ?? 14) }, (_, i) => i + 1);

/** PyTorch's: NaN is the extreme, and of equals the first one counts. */
function positionIn(row: readonly number[], isLargest: boolean): number {
  const first = row.findIndex(Number.isNaN);
  if (first >= 0) return first;
  return row.indexOf(row.reduce((a, b) => (isLargest ? Math.max(a, b) : Math.min(a, b))));
}

for (const device of devices)
  describe(`argmax and argmin in regions on ${device}`, () => {
    it.each(SEEDS)("seed %i", (seed) => {
      const plan = mulberry(seed + 60);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(plan() * list.length)]!;
      const shape = [pick([1, 3, 6]), pick([2, 5, 33]), pick([4, 7, 100, 1030])];
      const [axis, dtype, isLargest, isTransposed] = [pick([0, 1, 2, 2]), pick(["float32", "float32", "float16", "int32"] as const), plan() < 0.5, plan() < 0.3]; // prettier-ignore
      const indexDtype = pick(["int32", "uint32"] as const);
      const special = dtype === "int32" ? [-(2 ** 31), 2 ** 31 - 1] : [NaN, Infinity, -Infinity, -0];
      const [rare, data] = [pick([0, 0.02, 0.3]), mulberry(seed + 90)];
      const value = (): number => (data() < rare ? special[Math.floor(data() * special.length)]! : Math.floor(data() * 7) - 3);
      const run = (x: dx.Tensor): dx.Tensor[] => {
        const y = isTransposed ? x.permute(2, 1, 0) : x;
        const at0 = (isLargest ? dx.argmax : dx.argmin)(y, axis, { keepDims: true, dtype: indexDtype });
        return [at0, dx.mul(at0, 2), dx.amax(y, [axis])];
      };
      const compiled = dx.compile(run, { fuse: "always" });
      const own = isTransposed ? [...shape].reverse() : shape;
      for (let call = 0; call < 3; call++) {
        const values = Array.from({ length: count(shape) }, value);
        const ref = isTransposed ? [...at(Float64Array.from(values), own, packedStrides(shape).reverse(), 0)] : values;
        const strides = packedStrides(own);
        const rows = Array.from({ length: count(own) / own[axis]! }, (_, i) => {
          const kept = own.map((d, a) => (a === axis ? 1 : d));
          const start = packedStrides(kept).reduce(
            (n, stride, a) => n + (a === axis ? 0 : (Math.floor(i / stride) % kept[a]!) * strides[a]!),
            0,
          );
          return Array.from({ length: own[axis]! }, (_, k) => ref[start + k * strides[axis]!]!);
        });
        const expected = rows.map((row) => positionIn(row, isLargest));
        const [first, twice] = compiled(dx.tensor(values, { dtype, device: dx.device(device) }).reshape(shape)).map(numbers) as [
          number[],
          number[],
        ];
        expect(first).toEqual(expected);
        expect(twice).toEqual(expected.map((i) => 2 * i));
      }
      // Where all numbers have an order, packed rows take an operator that gives the value too.
      const isOrdered = compiled.explain().nodes.some((n) => n.operator === "TOP_K1");
      if (own[axis]! > 1 && !isOrdered) expect(inside(compiled)).toContain(isLargest ? "ARGMAX" : "ARGMIN");
      compiled.dispose();
    });
  });

eachDevice("argmax and argmin in regions", (name) => {
  const device = dx.device(name);

  it("of all NaN, of equal infinities, and of one row in a long loop", () => {
    const f = dx.compile((x: dx.Tensor) => [dx.argmax(x, 0), dx.argmin(x, 0)] as const, { fuse: "always" });
    const rows = [[NaN, NaN, NaN], [-Infinity, -Infinity, -Infinity], [Infinity, Infinity, NaN], [0, -0, 0]]; // prettier-ignore
    expect(f(dx.transpose(dx.tensor(rows, { device }), 0, 1)).map(numbers)).toEqual([[0, 0, 2, 0], [0, 0, 2, 0]]); // prettier-ignore
    expect(f(dx.transpose(dx.tensor(rows, { device }), 0, 1).contiguous()).map(numbers)).toEqual([[0, 0, 2, 0], [0, 0, 2, 0]]); // prettier-ignore
    f.dispose();
    const long = dx.compile((t: dx.Tensor) => dx.argmax(t, 0).mul(3), { fuse: "always" });
    const row = Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 9973);
    const x = dx.tensor(row.flatMap((v) => [v, -v]), { device }).reshape([20_000, 2]); // prettier-ignore
    expect(numbers(long(x))).toEqual([3 * row.indexOf(9972), 0]);
    expect(long.explain().dispatches).toBe(1);
    long.dispose();
  });

  it("count right answers in one launch behind that of the rows", () => {
    const f = dx.compile((x: dx.Tensor, target: dx.Tensor) => dx.eq(dx.argmax(x, 0), target).to("float32").sum(), { fuse: "always" });
    const [x, target] = [dx.tensor([[1, 5, 1], [3, 0, 1], [2, 5, 4]], { device }), dx.tensor([1, 2, 2], { dtype: "int32", device })]; // prettier-ignore
    expect(f(x, target).itemSync()).toBe(2);
    expect(f.explain().dispatches).toBe(2);
    f.dispose();
  });
});
