/** Sums of float64 whose second operand is laid along the first, as operator sets before 7 have it: models that PyTorch exported (Apache-2.0, onnx 1.23.2). */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";

const doubles = (shape: readonly number[]): dx.Tensor =>
  dx.tensor(
    Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => i + 1 / 3),
    { shape, dtype: "float64", device: "cpu" },
  );

test.each([
  // test_operator_add_broadcast: axis 1
  [
    "CAMSB3B5dG9yY2gaAzAuMzp8Ci0KATAKATESATIiA0FkZCoQCglicm9hZGNhc3QYAaABAioLCgRheGlzGAGgAQISEHRvcmNoLWppdC1leHBvcnRaEwoBMBIOCgwICxIICgIIAgoCCANaDwoBMRIKCggICxIECgIIA2ITCgEyEg4KDAgLEggKAggCCgIIA0ICEAY=",
    [3],
    [1 / 3, 4 / 3, 7 / 3],
  ],
  // test_operator_add_size1_broadcast: axis 0
  [
    "CAMSB3B5dG9yY2gaAzAuMzqAAQotCgEwCgExEgEyIgNBZGQqEAoJYnJvYWRjYXN0GAGgAQIqCwoEYXhpcxgAoAECEhB0b3JjaC1qaXQtZXhwb3J0WhMKATASDgoMCAsSCAoCCAIKAggDWhMKATESDgoMCAsSCAoCCAIKAggBYhMKATISDgoMCAsSCAoCCAIKAggDQgIQBg==",
    [2, 1],
    [1 / 3, 1 / 3, 1 / 3, 4 / 3, 4 / 3, 4 / 3],
  ],
])("a model of operator set 6: %#", async (model, shape, added) => {
  const read = await dx.io.onnx.load(Buffer.from(model, "base64"), { device: "cpu" });
  const [x, y] = [doubles([2, 3]), doubles(shape)];
  for (let call = 0; call < 3; call++) {
    const { "2": sum } = read.call({ "0": x, "1": y });
    expect([sum!.dtype, sum!.shape]).toEqual(["float64", [2, 3]]);
    // Exact: float32 would round.
    expect([...((await sum!.data()) as Float64Array)]).toEqual([0, 1, 2, 3, 4, 5].map((i) => i + 1 / 3 + added[i % added.length]!));
    sum!.dispose();
  }
  for (const t of [x, y, read]) t.dispose();
});
