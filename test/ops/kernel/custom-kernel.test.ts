import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { devices, isDirectml } from "../../device.ts";

/** Batch normalisation of [N, C, H, W] out of reductions, zero strides and BATCH_NORMALIZATION. */
const batchNormKernel = (asGraph: boolean): dx.Kernel<{ readonly epsilon: number }> =>
  dx.kernel<{ readonly epsilon: number }>({
    name: asGraph ? "batchNormGraph" : "batchNormKernel",
    asGraph,
    infer: ([x]) => [x!],
    lower: (g, [x, scale, bias], { epsilon }) => {
      const [n, c, h, w] = x!.sizes as [number, number, number, number];
      const channel = [1, c, 1, 1];
      const mean = g.reduce(x!, { function: "AVERAGE", axes: [0, 2, 3], output: { sizes: channel, dtype: x!.dtype } });
      const centred = g.elementWiseSubtract(x!, g.expand(mean, [n, c, h, w]));
      const variance = g.reduce(g.elementWiseMultiply(centred, centred), {
        function: "AVERAGE",
        axes: [0, 2, 3],
        output: { sizes: channel, dtype: x!.dtype },
      });
      const shaped = [scale!, bias!].map((p) => g.reshape(p, channel));
      return [g.batchNormalization(x!, mean, variance, shaped[0]!, shaped[1]!, { spatial: true, epsilon })];
    },
    grad: null,
  });

const reference = (
  x: Float32Array,
  [n, c, h, w]: readonly [number, number, number, number],
  scale: readonly number[],
  bias: readonly number[],
  epsilon: number,
): number[] => {
  const out = new Array<number>(x.length);
  for (let k = 0; k < c; k++) {
    const elements: number[] = [];
    for (let i = 0; i < n; i++) for (let p = 0; p < h * w; p++) elements.push((i * c + k) * h * w + p);
    const mean = elements.reduce((s, p) => s + x[p]!, 0) / elements.length;
    const variance = elements.reduce((s, p) => s + (x[p]! - mean) ** 2, 0) / elements.length;
    for (const p of elements) out[p] = ((x[p]! - mean) / Math.sqrt(variance + epsilon)) * scale[k]! + bias[k]!;
  }
  return out;
};

describe.each(devices)("kernels of one's own on %s", (device) => {
  const shape = [3, 4, 5, 2] as const;
  const data = Float32Array.from({ length: 120 }, (_, i) => Math.sin(i * 1.7) * 3 + (i % 4));
  const scale = [1, 2, -1, 0.5];
  const bias = [0, 1, 2, 3];
  const inputs = (): dx.Tensor[] => [
    dx.tensor(data, { shape: [...shape], device }),
    dx.tensor(scale, { device }),
    dx.tensor(bias, { device }),
  ];

  it.each([false, true])("BatchNorm out of reduce, zero strides and a normalisation node (one graph: %s)", async (asGraph) => {
    const normalize = batchNormKernel(asGraph);
    const before = dx.counters(device);
    const [y] = normalize(inputs(), { epsilon: 1e-5 });
    const want = reference(data, shape, scale, bias, 1e-5);
    ((await y!.data()) as Float32Array).forEach((v, i) => expect(v).toBeCloseTo(want[i]!, 4));
    if (asGraph && isDirectml(device)) expect(dx.counters(device).graphsCompiled - before.graphsCompiled).toBe(1);
  });

  it("take part in compile and autograd", async () => {
    const cube = dx.kernel({
      name: "cube",
      infer: ([x]) => [x!],
      lower: (g, [x]) => [g.elementWiseMultiply(g.elementWiseMultiply(x!, x!), x!)],
      grad: (dy, { inputs: [x] }) => [dy.mul(x!).mul(x!).mul(3)],
    });
    const x = dx.tensor([1, 2, 3], { device, requiresGrad: true });
    cube([x], undefined)[0]!.sum().backward();
    expect(await x.grad!.toArray()).toEqual([3, 12, 27]);
    const step = dx.compile((t: dx.Tensor) => cube([t], undefined)[0]!.add(1));
    expect(await step(dx.tensor([2, 3], { device })).toArray()).toEqual([9, 28]);
    step.dispose();
  });

  it("say what DirectML refused", ({ skip }) => {
    skip(!isDirectml(device), "the device is of a backend from outside, without DirectML");
    const wrong = dx.kernel({
      name: "wrong",
      infer: ([x]) => [x!],
      lower: (g, [x]) => [g.elementWiseAdd(x!, g.reinterpret(x!, { sizes: [2, 2] }))],
      grad: null,
    });
    expect(() => wrong([dx.ones([8], { device })], undefined)).toThrow(dx.NativeError);
    expect(() => wrong([dx.ones([8], { device })], undefined)).toThrow(
      /wrong: .*ELEMENT_WISE_ADD.*E_INVALIDARG|wrong: .*E_INVALIDARG.*ELEMENT_WISE_ADD/,
    );
  });
});
