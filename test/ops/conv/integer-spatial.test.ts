/** Convolution and pooling of integers compared with float32, whose results are exact here, and with their own overflow. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers } from "../../device.ts";

const some = (shape: readonly number[], dtype: dx.DType, low = -4): dx.Tensor =>
  dx.tensor(
    Int32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => ((i * i * 7 + 3 * i) % 9) + low),
    { shape, dtype },
  );

eachMode("windows of integers", (device, mode) => {
  for (const dtype of ["int32", "int64", "int16"] as const)
    test(`convolution of ${dtype}: stride, padding, dilation, groups, one to three axes`, async () => {
      await clean(
        device,
        () => {
          for (const [f, x, w, options] of [
            [dx.conv1d, [2, 2, 7], [3, 2, 3], { stride: 2, padding: 1 }],
            [dx.conv2d, [1, 4, 5, 6], [4, 2, 2, 3], { groups: 2, dilation: [2, 1], padding: [0, 2] }],
            [dx.conv2d, [3, 4, 4], [2, 3, 3, 3], { padding: "same" }],
            [dx.conv3d, [1, 1, 3, 3, 3], [2, 1, 2, 2, 2], {}],
          ] as const) {
            const inputs = [some(x, dtype), some(w, dtype), some([w[0]], dtype)] as const;
            const want = f(...(inputs.map((t) => t.to("float32")) as [dx.Tensor, dx.Tensor, dx.Tensor]), options);
            const got = mode.run((a, b, c) => f(a, b, c, options), ...inputs);
            expect([got.dtype, got.shape]).toEqual([dtype, want.shape]);
            expect(numbers(got)).toEqual(numbers(want));
          }
        },
        { collect: mode.name === "compiled" },
      );
    });

  test("transposed convolution", async () => {
    await clean(
      device,
      () => {
        for (const [f, x, w, bias, options] of [
          [dx.convTranspose1d, [2, 2, 4], [2, 3, 3], 3, { stride: 3, padding: 1, outputPadding: 2 }],
          [dx.convTranspose2d, [1, 4, 3, 2], [4, 2, 2, 3], 4, { groups: 2, stride: [1, 2], dilation: [2, 1] }],
          [dx.convTranspose2d, [2, 3, 3], [2, 1, 2, 2], 1, { padding: 1 }],
        ] as const) {
          const inputs = [some(x, "int32"), some(w, "int32"), some([bias], "int32")] as const;
          const want = f(...(inputs.map((t) => t.to("float32")) as [dx.Tensor, dx.Tensor, dx.Tensor]), options);
          const got = mode.run((a, b, c) => f(a, b, c, options), ...inputs);
          expect(got.shape).toEqual(want.shape);
          expect(numbers(got)).toEqual(numbers(want));
        }
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("means are rounded towards zero, with and without the padding; maxima", async () => {
    await clean(
      device,
      () => {
        for (const dtype of ["int32", "int64", "uint8"] as const) {
          const x = some([2, 2, 5, 5], dtype, dtype === "uint8" ? 0 : -4);
          const wide = x.to("float32");
          for (const options of [
            { padding: 1, stride: 2 },
            { padding: 1, stride: 2, countIncludePad: false, ceilMode: true },
            { stride: 2, ceilMode: true, divisorOverride: 3 },
          ])
            expect(numbers(mode.run((t) => dx.avgPool2d(t, 3, options), x))).toEqual(
              numbers(dx.avgPool2d(wide, 3, options)).map((v) => Math.trunc(Number(v.toFixed(4))) + 0),
            );
          expect(numbers(mode.run((t) => dx.maxPool2d(t, 2, { padding: 1, dilation: 2 }), x))).toEqual(
            numbers(dx.maxPool2d(wide, 2, { padding: 1, dilation: 2 })),
          );
        }
      },
      { collect: mode.name === "compiled" },
    );
  });

  test("convolutions wrap as the dtype does", async () => {
    await clean(
      device,
      () => {
        const x = dx.tensor([[[2 ** 30, 3, 5]]], { dtype: "int32" });
        const got = mode.run((a, b) => dx.conv1d(a, b), x, dx.tensor([[[4, 1]]], { dtype: "int32" }));
        expect(numbers(got)).toEqual([3, 17]);
      },
      { collect: mode.name === "compiled" },
    );
  });
});
