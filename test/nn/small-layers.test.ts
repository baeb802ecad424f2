/** Layers of one function each, and the state of losses, with numbers that PyTorch 2.15 gives. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { nn } = dx;
const bound = { rtol: 1e-5, atol: 1e-6 };
const x = (): dx.Tensor => dx.tensor([[-2, -0.3, 0.4, 1.5]]);
const steps = (): dx.Tensor => dx.arange(16).div(4).reshape(1, 1, 4, 4);

const ROWS: readonly [string, () => dx.nn.Layer, () => dx.Tensor, readonly number[]][] = [
  ["GLU", () => new nn.GLU(), x, [-1.1973753, -0.2452723]],
  ["Softmin", () => new nn.Softmin(1), x, [0.7671072, 0.1401378, 0.0695904, 0.0231646]],
  ["Softmax2d", () => new nn.Softmax2d(), () => x().reshape(2, 1, 2), [0.0831727, 0.1418511, 0.9168273, 0.8581489]],
  ["Hardshrink", () => new nn.Hardshrink({ lambd: 0.35 }), x, [-2, 0, 0.4, 1.5]],
  ["Softshrink", () => new nn.Softshrink({ lambd: 0.35 }), x, [-1.65, 0, 0.05, 1.15]],
  ["Threshold", () => new nn.Threshold(0.5, 20), x, [20, 20, 20, 1.5]],
  ["RReLU in eval mode", () => new nn.RReLU({ lower: 0.1, upper: 0.3 }), x, [-0.4, -0.06, 0.4, 1.5]],
  [
    "LPPool1d",
    () => new nn.LPPool1d(2, 2),
    () => steps().reshape(1, 4, 4),
    [0.25, 0.9013878, 1.6007811, 2.3048861, 3.0103986, 3.7165172, 4.4229517, 5.129571],
  ],
  [
    "LPPool2d",
    () => new nn.LPPool2d(2, 2, { stride: 1 }),
    steps,
    [1.6201851, 2.0310097, 2.4748738, 3.4095454, 3.8890872, 4.3732138, 5.3502336, 5.8416605, 6.3344297],
  ],
  ["LPPool3d", () => new nn.LPPool3d(2, [1, 2, 2]), () => steps().unsqueeze(0), [1.6201851, 2.4748738, 5.3502336, 6.3344297]],
];

eachDevice("small layers", () => {
  for (const [name, make, input, wanted] of ROWS)
    test(name, () => {
      expectClose(make().eval().forward(input()), wanted, bound);
    });

  test("RReLU draws its slopes in training", () => {
    const layer = new nn.RReLU({ lower: 0.1, upper: 0.3, generator: new dx.Generator(1) });
    const slopes = numbers(layer.forward(dx.full([100], -1))).map((v) => -Number(v));
    expect(Math.min(...slopes)).toBeGreaterThanOrEqual(0.1);
    expect(Math.max(...slopes)).toBeLessThanOrEqual(0.3);
    expect(new Set(slopes).size).toBeGreaterThan(50);
  });

  test("FractionalMaxPool2d and 3d", () => {
    const samples = dx.zeros([1, 1, 2]);
    expect(numbers(new nn.FractionalMaxPool2d(2, { outputSize: 2, randomSamples: samples }).forward(steps()))).toEqual(
      numbers(dx.fractionalMaxPool2d(steps(), 2, { outputSize: 2, randomSamples: samples })),
    );
    const volume = dx.arange(27, { dtype: "float32" }).reshape(1, 1, 3, 3, 3);
    expect(new nn.FractionalMaxPool3d(2, { outputSize: 2, randomSamples: dx.zeros([1, 1, 3]) }).forward(volume).shape).toEqual([
      1, 1, 2, 2, 2,
    ]);
  });

  test("Bilinear", () => {
    const layer = new nn.Bilinear(2, 2, 1);
    layer.loadStateDict({
      weight: dx.tensor([
        [
          [1, 2],
          [3, 4],
        ],
      ]),
      bias: dx.tensor([0.5]),
    });
    expectClose(layer.forward(dx.tensor([[1, 2]]), dx.tensor([[3, -1]])), [11.5], bound);
    expect(String(layer)).toBe("Bilinear(2, 2, outFeatures=1, bias=true)");
    expect(Object.keys(new nn.Bilinear(2, 3, 4, { bias: false }).stateDict())).toEqual(["weight"]);
  });

  test("weights of losses are buffers of PyTorch's names, which the loss reads", () => {
    const weight = dx.tensor([1, 2]);
    const loss = new nn.CrossEntropyLoss({ weight });
    expect(Object.keys(loss.stateDict())).toEqual(["weight"]);
    const [logits, target] = [
      dx.tensor([
        [0.5, 1],
        [2, -1],
      ]),
      dx.tensor(Int32Array.of(0, 1)),
    ];
    const before = loss.forward(logits, target).itemSync();
    loss.loadStateDict({ weight: dx.tensor([1, 1]) });
    expect(loss.forward(logits, target).itemSync()).not.toBe(before);
    expectClose(loss.forward(logits, target), dx.crossEntropy(logits, target).itemSync(), bound);
    const logistic = new nn.BCEWithLogitsLoss({ weight: dx.ones([1]), posWeight: dx.ones([1]) });
    expect(Object.keys(logistic.stateDict())).toEqual(["weight", "pos_weight"]);
    for (const other of [
      new nn.BCELoss({ weight }),
      new nn.NLLLoss({ weight }),
      new nn.MultiMarginLoss({ weight }),
      new nn.MultiLabelSoftMarginLoss({ weight }),
    ])
      expect(Object.keys(other.stateDict())).toEqual(["weight"]);
    expect(Object.keys(new nn.CrossEntropyLoss().stateDict())).toEqual([]);
    // What becomes of the loss leaves the caller's tensor alone.
    logistic.dispose();
    loss.to("float16");
    loss.dispose();
    expect(weight.dtype).toBe("float32");
    expect(weight.size).toBe(2);
  });

  test("normalisations without a bias", () => {
    for (const layer of [
      new nn.BatchNorm1d(2, { bias: false }),
      new nn.GroupNorm(1, 2, { bias: false }),
      new nn.InstanceNorm1d(2, { affine: true, bias: false }),
    ]) {
      expect(Object.keys(layer.stateDict())).not.toContain("bias");
      expect(Object.keys(layer.stateDict())).toContain("weight");
      expect(layer.forward(dx.ones([2, 2, 3])).shape).toEqual([2, 2, 3]);
    }
  });

  test("a batch without samples leaves running statistics alone", () => {
    const layer = new nn.BatchNorm1d(2);
    expect(layer.forward(dx.zeros([0, 2])).shape).toEqual([0, 2]);
    expect(numbers(layer.runningMean!)).toEqual([0, 0]);
    expect(numbers(layer.runningVariance!)).toEqual([1, 1]);
    expect(() => layer.forward(dx.zeros([1, 2]))).toThrow(dx.ValueError);
  });

  test("a transformer takes masks of its source", () => {
    const model = new nn.Transformer(4, 2, { numEncoderLayers: 1, numDecoderLayers: 1, dimFeedforward: 8, dropout: 0 }).eval();
    const [source, target] = [dx.ones([3, 1, 4]), dx.ones([2, 1, 4])];
    const sourceKeyPaddingMask = dx.tensor([[false, false, true]]);
    const masked = model.forward(source, target, {
      sourceKeyPaddingMask,
      sourceMask: dx.zeros([3, 3]),
      memoryKeyPaddingMask: sourceKeyPaddingMask,
    });
    const shorter = model.forward(dx.ones([2, 1, 4]), target);
    expectClose(masked, numbers(shorter), { rtol: 1e-4, atol: 1e-5 });
  });

  test("klDiv of negative targets is NaN, gaussianNllLoss takes a variance for all samples", () => {
    expectClose(dx.klDiv(dx.tensor([0.1, 0.2, 0.3]), dx.tensor([0, 0.5, -0.5]), { reduction: "none" }), [0, -0.4465736, NaN], bound);
    const [a, b] = [
      dx.tensor([
        [1, 2],
        [3, 4],
      ]),
      dx.tensor([
        [0, 2],
        [5, 1],
      ]),
    ];
    expectClose(
      dx.gaussianNllLoss(a, b, dx.tensor([[0.5, 2]]), { reduction: "none" }),
      [0.6534264, 0.3465736, 3.6534264, 2.5965736],
      bound,
    );
    expect(() => dx.gaussianNllLoss(a, b, dx.tensor([[0.5, 2, 3]]))).toThrow(dx.ShapeError);
  });
});
