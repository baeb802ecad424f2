/** Remainders and rounded quotients at the limits of dtypes. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachMode } from "../../device.ts";

const int64 = (...v: bigint[]): dx.Tensor => dx.tensor(BigInt64Array.from(v));

eachMode("division with rounding", (_, mode) => {
  const [min, max] = [-(2n ** 63n), 2n ** 63n - 1n];
  const a = (): dx.Tensor => int64(-4n, 4n, -5n, 5n, min, max, -7n, 0n, min, -6n, 6n);
  const b = (): dx.Tensor => int64(2n, -2n, 3n, -3n, 1n, -5n, -7n, -3n, 3n, 1n, -4n);

  test("remainders of int64 have the sign of the divisor, or of the dividend", () => {
    expect(mode.run(dx.remainder, a(), b()).toArraySync()).toEqual([0n, 0n, 1n, -1n, 0n, -3n, 0n, 0n, 1n, 0n, -2n]);
    expect(mode.run(dx.fmod, a(), b()).toArraySync()).toEqual([0n, 0n, -2n, 2n, 0n, 2n, 0n, 0n, -2n, 0n, 2n]);
  });

  test("quotients near the limits of a dtype do not overflow", () => {
    const found = mode.run(dx.floorDivide, a(), b()).toArraySync();
    expect(found).toEqual([-2n, -2n, -2n, -2n, min, -1844674407370955162n, 1n, 0n, -3074457345618258603n, -6n, -2n]);
    const narrow = mode.run(
      dx.floorDivide,
      dx.tensor([2 ** 31 - 1, -(2 ** 31)], { dtype: "int32" }),
      dx.tensor([-5, 3], { dtype: "int32" }),
    );
    expect(narrow.toArraySync()).toEqual([-429496730, -715827883]);
  });

  test("an infinite divisor leaves the dividend, or itself where the signs differ", () => {
    const [x, y] = [
      dx.tensor([3, -3, 3, -3, 0, Infinity, NaN]),
      dx.tensor([Infinity, Infinity, -Infinity, -Infinity, -Infinity, Infinity, Infinity]),
    ];
    expect(mode.run(dx.remainder, x, y).toArraySync()).toEqual([3, Infinity, -Infinity, -3, 0, NaN, NaN]);
    expect(mode.run(dx.fmod, x, y).toArraySync()).toEqual([3, -3, 3, -3, 0, NaN, NaN]);
  });
});

test("the gradient of a divisor too small for its reciprocal is no NaN where the dividend is zero", () => {
  const b = dx.tensor([6e-5, 2], { dtype: "float16" }).requiresGrad_();
  dx.div(dx.tensor([0, 4], { dtype: "float16" }), b).backward({ gradient: dx.tensor([8, 1], { dtype: "float16" }) });
  expect((dx.to(b.grad!, "float32").toArraySync() as number[]).map(Math.abs)).toEqual([0, 1]);
});
