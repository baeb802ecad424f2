/** Activations that limit their input, behind convolutions and linear layers: what the device fuses agrees with what is not compiled, NaN included. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const layers: readonly (readonly [
  name: string,
  shape: readonly number[],
  make: () => { forward(x: dx.Tensor): dx.Tensor } & dx.nn.Module,
])[] = [
  ["a 3x3 convolution", [2, 5, 9, 11], () => new dx.nn.Conv2d(5, 7, 3, { padding: 1 })],
  ["a 1x1 convolution without a bias", [1, 16, 6, 6], () => new dx.nn.Conv2d(16, 24, 1, { bias: false })],
  ["a depthwise convolution", [2, 6, 9, 9], () => new dx.nn.Conv2d(6, 6, 3, { padding: 1, groups: 6 })],
  ["a convolution with its batch norm", [2, 4, 8, 8], () => new dx.nn.Sequential(new dx.nn.Conv2d(4, 8, 3), new dx.nn.BatchNorm2d(8))],
  ["a linear layer", [9, 16], () => new dx.nn.Linear(16, 20)],
];

const limits: readonly (readonly [name: string, run: (x: dx.Tensor) => dx.Tensor])[] = [
  ["relu6", (x) => dx.relu6(x)],
  ["hardtanh", (x) => dx.hardtanh(x, -0.25, 0.5)],
  ["clamp", (x) => x.clamp(-0.25, 0.5)],
  ["hardtanh to one number", (x) => dx.hardtanh(x, 0.5, 0.5)],
  ["hardtanh without an upper limit", (x) => dx.hardtanh(x, -0.25, Infinity)],
];

eachDevice("limits as an epilogue", (device) => {
  describe.each(layers)("of %s", (_, shape, make) => {
    it.each(limits)("%s", (_name, limit) => {
      const generator = new dx.Generator(11);
      const layer = make().to(device).eval();
      const run = dx.compile((x: dx.Tensor) => limit(layer.forward(x)));
      for (const special of [0, NaN, Infinity, -Infinity]) {
        const x = dx.randn([...shape], { device, generator });
        if (special !== 0) x.view([-1]).slice(0, 3, 4).fill_(special);
        const want = dx.noGrad(() => limit(layer.forward(x)));
        const values = [...want.dataSync()].map(Number);
        if (Number.isNaN(special)) expect(values.some(Number.isNaN)).toBe(true);
        expectClose(
          dx.noGrad(() => run(x)),
          values,
          { rtol: 1e-5, atol: 1e-5 },
        );
      }
      if (device === "cpu" && _name !== "hardtanh without an upper limit" && !(_name === "clamp" && shape.length === 2))
        expect(run.explain().kernels.map(({ kernel }) => kernel.replace(/^\w+ /, ""))).toEqual(["(fused)"]);
      run.dispose();
    });
  });
});
