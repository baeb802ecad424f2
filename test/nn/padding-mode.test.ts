/** Padding modes of convolution layers. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachMode } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const firsts = {
  circular: { numbers: [-1.211, 1.3989, 1.2307], same: [1.3989, 1.2307, -1.3417] },
  reflect: { numbers: [-2.0411, -1.8201, -2.7819], same: [-1.8201, -2.7819, -4.124] },
  replicate: { numbers: [-1.1106, -1.5779, -2.3412], same: [-1.5779, -2.3412, -1.7764] },
} as const;

eachMode("a convolution layer's padding", (_, mode) => {
  for (const paddingMode of ["circular", "reflect", "replicate"] as const)
    test(paddingMode, () => {
      const x = dx.sin(dx.arange(40, { dtype: "float32" })).reshape(1, 2, 4, 5);
      const weight = dx.cos(dx.arange(36, { dtype: "float32" })).reshape(2, 2, 3, 3);
      for (const [name, padding] of [
        ["numbers", [1, 2]],
        ["same", "same"],
      ] as const) {
        const layer = dx.nn.conv2d(2, 2, 3, { padding, paddingMode, bias: false });
        dx.noGrad(() => layer.weight.copy_(weight));
        const y = mode.run((t: dx.Tensor) => layer.forward(t), x);
        expect(y.shape).toEqual([1, 2, 4, name === "numbers" ? 7 : 5]);
        expectClose(y.reshape(-1).slice(0, 0, 3), firsts[paddingMode][name], { rtol: 1e-4, atol: 1e-4 });
      }
    });

  test("same goes with no stride", () => {
    const layer = dx.nn.conv1d(1, 1, 3, { padding: "same", stride: 2, paddingMode: "circular" });
    expect(() => layer.forward(dx.ones([1, 1, 5]))).toThrow(/stride/);
  });
});
