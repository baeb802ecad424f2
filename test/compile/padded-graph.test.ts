import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

eachDevice("padding", () => {
  it("is neutral for each dtype's extremes, sums and products, whatever lay there before", () => {
    for (const dtype of ["uint8", "int8", "int16", "int32", "int64", "uint32", "float16", "float32", "bfloat16"] as const) {
      const f = dx.compile((x: dx.Tensor) => [x.amax(0), x.amin(0), x.sum(), x.argmin(0), x.argmax(0), x.cumsum(0), x.flip(1).prod(0)], {
        dynamic: [0],
        buckets: [8],
      });
      f(dx.full([8, 2], 3, { dtype }));
      const x = dx.tensor([7, 1, 2, 9, 4, 5], { shape: [3, 2], dtype });
      const got = f(x).map((t) => numbers(t));
      expect([dtype, ...got]).toEqual([dtype, [7, 9], [2, 1], [28], [1, 0], [0, 1], [7, 1, 9, 10, 13, 15], [45, 56]]);
      f.dispose();
    }
  });

  it("does not let what is not a number through", () => {
    const w = dx.tensor([1, 2], { shape: [2, 1], requiresGrad: true });
    const f = dx.compile((x: dx.Tensor) => dx.grad(x.matmul(w).log().mean(), [w])[0]!, { dynamic: [0] });
    f(dx.full([8, 2], NaN));
    const [a, b] = numbers(f(dx.tensor([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], { shape: [5, 2] })));
    expect(a).toBeCloseTo((1 / 5 + 3 / 11 + 5 / 17 + 7 / 23 + 9 / 29) / 5, 6);
    expect(b).toBeCloseTo((2 / 5 + 4 / 11 + 6 / 17 + 8 / 23 + 10 / 29) / 5, 6);
    f.dispose();
  });
});
