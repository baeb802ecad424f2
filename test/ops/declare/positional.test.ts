/** Values by position, where PyTorch's callers write them so: the same as among the options, and refused by their own names. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";

const { nn, optim } = dx;
const { lrScheduler } = optim;
const x = (): dx.Tensor =>
  dx.tensor([
    [1, -2, 0.25],
    [3, -4, 30],
  ]);
const planes = (): dx.Tensor => dx.arange(32, { dtype: "float32" }).reshape(1, 2, 4, 4);
const kernel = (): dx.Tensor => dx.ones([2, 2, 2, 2]);
const generator = (): dx.Generator => new dx.Generator(3);
const sgd = (): dx.optim.SGD => optim.sgd([new nn.Parameter(dx.ones([2]))], { lr: 1, momentum: 0.9 });
const params = (): dx.nn.Parameter[] => [new nn.Parameter(dx.ones([2]))];

type Call = (...args: never[]) => unknown;
/** [what is called with its first arguments, the values by position, their names, further options] */
type Row = readonly [call: Call, values: readonly unknown[], names: readonly string[], more?: Readonly<Record<string, unknown>>];

const rows: readonly Row[] = [
  [(...o) => dx.leakyRelu(x(), ...o), [0.2], ["negativeSlope"]],
  [(...o) => dx.elu(x(), ...o), [2], ["alpha"]],
  [(...o) => dx.celu(x(), ...o), [2], ["alpha"]],
  [(...o) => dx.gelu(x(), ...o), ["tanh"], ["approximate"]],
  [(...o) => dx.softplus(x(), ...o), [2, 1], ["beta", "threshold"]],
  [(...o) => dx.hardtanh(x(), ...o), [-2, 2], ["minVal", "maxVal"]],
  [(...o) => dx.hardshrink(x(), ...o), [1.5], ["lambd"]],
  [(...o) => dx.softshrink(x(), ...o), [1.5], ["lambd"]],
  [(...o) => dx.logit(x(), ...o), [0.25], ["eps"]],
  [(...o) => dx.nn.functional.dropout(x(), ...o), [0.25], ["p"], { generator }],
  [(...o) => dx.nn.functional.alphaDropout(x(), ...o), [0.25], ["p"], { generator }],
  [(...o) => dx.nn.functional.dropout2d(planes(), ...o), [0.25], ["p"], { generator }],
  [(...o) => dx.normalize(x(), ...o), [1, 0], ["p", "axis"], { eps: 1 }],
  [(...o) => dx.cosineSimilarity(x(), x().neg(), ...o), [0, 100], ["axis", "eps"]],
  [(...o) => dx.pairwiseDistance(x(), x().neg(), ...o), [1], ["p"], { keepDims: true }],
  [(...o) => dx.maxPool2d(planes(), 2, ...o), [1, 1], ["stride", "padding"], { ceilMode: true }],
  [(...o) => dx.avgPool2d(planes(), 2, ...o), [1, 1], ["stride", "padding"], { countIncludePad: false }],
  [(...o) => dx.conv2d(planes(), kernel(), null, ...o), [2, 1], ["stride", "padding"], { dilation: 2 }],
  [(...o) => dx.conv2d(planes(), kernel(), null, ...o), [1, "same"], ["stride", "padding"]],
  [(...o) => dx.convTranspose2d(planes(), kernel(), null, ...o), [2, 1], ["stride", "padding"], { outputPadding: 1 }],
  [(...o) => nn.leakyRelu(...o).forward(x()), [0.2], ["negativeSlope"]],
  [(...o) => nn.elu(...o).forward(x()), [2], ["alpha"]],
  [(...o) => nn.gelu(...o).forward(x()), ["tanh"], ["approximate"]],
  [(...o) => nn.softplus(...o).forward(x()), [2, 1], ["beta", "threshold"]],
  [(...o) => nn.hardtanh(...o).forward(x()), [-2, 2], ["minVal", "maxVal"]],
  [(...o) => nn.hardshrink(...o).forward(x()), [1.5], ["lambd"]],
  [
    (...o) =>
      nn
        .rrelu(...o)
        .eval()
        .forward(x()),
    [0.25, 0.5],
    ["lower", "upper"],
  ],
  [(...o) => nn.prelu(...o).forward(x()), [3, 0.5], ["numParameters", "init"]],
  [(...o) => nn.maxPool2d(2, ...o).forward(planes()), [1, 1], ["stride", "padding"], { ceilMode: true }],
  [(...o) => nn.avgPool2d(2, ...o).forward(planes()), [1, 1], ["stride", "padding"]],
  [(...o) => nn.conv2d(2, 3, 3, ...o), [2, 1], ["stride", "padding"], { bias: false }],
  [(...o) => nn.convTranspose2d(2, 3, 3, ...o), [2, 1], ["stride", "padding"], { bias: false }],
  [(...o) => nn.lstm(2, 3, ...o), [2], ["numLayers"], { batchFirst: true }],
  [(...o) => nn.gru(2, 3, ...o), [2], ["numLayers"]],
  [(...o) => nn.rnn(2, 3, ...o), [2], ["numLayers"], { nonlinearity: "relu" }],
  [
    (...o) => dx.nn.functional.embedding(dx.tensor([0, 2], { dtype: "int32" }), dx.ones([3, 2]), ...o),
    [1],
    ["paddingIdx"],
    { normType: 2 },
  ],
  [(...o) => dx.layerNorm(x(), [3], null, null, ...o), [0.5], ["eps"]],
  [(...o) => dx.groupNorm(planes(), 2, null, null, ...o), [0.5], ["eps"]],
  [(...o) => dx.rmsNorm(x(), [3], null, ...o), [0.5], ["eps"]],
  [(...o) => dx.batchNorm(planes(), null, null, null, null, ...o), [true, 0.5, 2], ["training", "momentum", "eps"]],
  [(...o) => dx.cdist(x(), x().neg(), ...o), [1], ["p"]],
  [(...o) => nn.linear(2, 3, ...o), [false], ["bias"], { dtype: "float16" }],
  [(...o) => nn.bilinear(2, 3, 4, ...o), [false], ["bias"]],
  [(...o) => nn.embedding(4, 3, ...o), [1], ["paddingIdx"], { dtype: "float16" }],
  [(...o) => nn.batchNorm2d(2, ...o).forward(planes()), [0.5, 0.25], ["eps", "momentum"], { affine: false }],
  [(...o) => nn.instanceNorm2d(2, ...o).forward(planes()), [0.5, 0.25], ["eps", "momentum"]],
  [(...o) => nn.groupNorm(2, 2, ...o).forward(planes()), [0.5], ["eps"], { affine: false }],
  [(...o) => nn.rmsNorm(3, ...o).forward(x()), [0.5], ["eps"]],
  [(...o) => nn.layerNorm(3, ...o), [0.5], ["eps"], { elementwiseAffine: false }],
  [(...o) => nn.multiheadAttention(4, 2, ...o).options.dropout, [0.25], ["dropout"]],
  [(...o) => nn.transformerEncoderLayer(4, 2, ...o), [8, 0.2], ["dimFeedforward", "dropout"], { normFirst: true }],
  [(...o) => nn.transformerDecoderLayer(4, 2, ...o), [8, 0.2], ["dimFeedforward", "dropout"]],
  [(...o) => nn.cosineSimilarity(...o).forward(x(), x().neg()), [0, 100], ["axis", "eps"]],
  [(...o) => nn.pairwiseDistance(...o).forward(x(), x().neg()), [1, 0.5], ["p", "eps"]],
  ...(["sgd", "adam", "adamW", "adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "lbfgs"] as const).map((name): Row => [
    (...o) => optim[name](params(), ...o),
    [0.5],
    ["lr"],
  ]),
  [(...o) => optim.rprop(params(), ...o), [0.5], ["lr"]],
  [(...o) => optim.adamW(params(), ...o), [0.5], ["lr"], { weightDecay: 0.2 }],
  [(...o) => lrScheduler.stepLR(sgd(), ...(o as [never])), [10, 0.5], ["stepSize", "gamma"]],
  [(...o) => lrScheduler.multiStepLR(sgd(), ...(o as [never])), [[1, 2], 0.5], ["milestones", "gamma"]],
  [(...o) => lrScheduler.exponentialLR(sgd(), ...(o as [never])), [0.9], ["gamma"]],
  [(...o) => lrScheduler.constantLR(sgd(), ...o), [0.5, 3], ["factor", "totalIters"]],
  [(...o) => lrScheduler.linearLR(sgd(), ...o), [0.5, 0.75], ["startFactor", "endFactor"], { totalIters: 4 }],
  [(...o) => lrScheduler.polynomialLR(sgd(), ...o), [3, 2], ["totalIters", "power"]],
  [(...o) => lrScheduler.lambdaLR(sgd(), ...(o as [never])), [(t: number) => 1 / (t + 1)], ["lrLambda"]],
  [(...o) => lrScheduler.multiplicativeLR(sgd(), ...(o as [never])), [() => 0.5], ["lrLambda"]],
  [(...o) => lrScheduler.cosineAnnealingLR(sgd(), ...(o as [never])), [5, 0.1], ["tMax", "etaMin"]],
  [(...o) => lrScheduler.cosineAnnealingWarmRestarts(sgd(), ...(o as [never])), [2, 2], ["t0", "tMult"]],
  [(...o) => lrScheduler.oneCycleLR(sgd(), ...(o as [never])), [2, 10], ["maxLr", "totalSteps"]],
  [(...o) => lrScheduler.cyclicLR(sgd(), ...(o as [never])), [0.1, 1], ["baseLr", "maxLr"], { stepSizeUp: 2 }],
];

/** A result as data: of a schedule the rates of some steps, of a module what is printed and the shapes of its state. */
function plain(value: unknown): unknown {
  if (value instanceof dx.Tensor) return value.toArraySync();
  if (value instanceof nn.Module) return [String(value), Object.entries(value.stateDict()).map(([name, t]) => [name, t.shape])];
  if (!(value instanceof lrScheduler.LRScheduler)) return String(value);
  return Array.from({ length: 6 }, () => {
    value.step();
    return value.optimizer.paramGroups.map((g) => g.lr);
  });
}

describe("values by position", () => {
  it.each(rows.map((row) => [`${row[2].join(", ")}: ${String(row[0])}`, row] as const))("%s", (_, [call, values, names, more = {}]) => {
    const rest = (): object =>
      Object.fromEntries(Object.entries(more).map(([k, v]) => [k, typeof v === "function" ? (v as () => unknown)() : v]));
    const run = (...args: readonly unknown[]): unknown => plain((call as (...all: unknown[]) => unknown)(...args));
    const all = Object.fromEntries(names.map((name, i) => [name, values[i]]));
    const expected = run({ ...all, ...rest() });
    expect(run(...values, ...(Object.keys(more).length === 0 ? [] : [rest()]))).toEqual(expected);
    // A wrong value is refused by its own name.
    for (const [i, name] of names.entries()) {
      const wrong = values.map((v, k) => (k === i ? Symbol("wrong") : v));
      expect(() => run(...wrong)).toThrow(new RegExp(`: ${name} must be `));
    }
  });

  it("takes the first by position and the others among the options", () => {
    expect(plain(lrScheduler.stepLR(sgd(), 2, { gamma: 0.5 }))).toEqual(plain(lrScheduler.stepLR(sgd(), { stepSize: 2, gamma: 0.5 })));
    expect(String(nn.conv2d(1, 2, 3, 2, { bias: false }))).toBe(String(nn.conv2d(1, 2, 3, { stride: 2, bias: false })));
    expect(dx.maxPool2d(planes(), 2, 1, { padding: 1 }).shape).toEqual([1, 2, 5, 5]);
  });

  it("refuses what is given twice, and values after an object of options", () => {
    const dropout = dx.nn.functional.dropout as (...args: readonly unknown[]) => dx.Tensor;
    expect(() => dropout(x(), 0.5, { p: 0.25 })).toThrow("dropout: p must be passed once");
    expect(() => dropout(x(), { p: 0.5 }, { training: false })).toThrow("dropout: arguments must be none after an object of options");
    expect(() => dx.softplus(x(), { beta: 2 }, 1)).toThrow("softplus: arguments must be none after an object of options");
    expect(() => dx.hardtanh(x(), { minVal: -2 }, 1)).toThrow("hardtanh: arguments must be none after an object of options");
    expect(() => lrScheduler.stepLR(sgd(), 10, { stepSize: 5 })).toThrow("StepLR: stepSize must be passed once");
  });
});
