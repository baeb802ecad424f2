/** Numbers at equal distances in whole dtypes. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";

eachDevice("linspace and logspace of integers", () => {
  test("are counted from the nearer end and rounded towards zero", () => {
    expect(dx.linspace(0, 10, 4, { dtype: "int32" }).toArraySync()).toEqual([0, 3, 6, 10]);
    expect(dx.linspace(-2.9, 3.9, 6, { dtype: "int64" }).toArraySync()).toEqual([-2n, -1n, 0n, 1n, 2n, 3n]);
    expect(dx.linspace(5, 9, 1, { dtype: "uint8" }).toArraySync()).toEqual([5]);
    expect(dx.logspace(0, 3.5, 4, { dtype: "int32" }).toArraySync()).toEqual([1, 10, 100, 1000]);
    expect(dx.logspace(2, 1.2, 2, { base: 5, dtype: "int64" }).toArraySync()).toEqual([25n, 5n]);
  });
});
