/** Options under PyTorch's names and under their former ones, words in PyTorch's spelling, arguments by name: all give the same results. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as kinds from "../../../src/ops/exports/kinds.generated.ts";
import * as dx from "../../../src/index.ts";

const { nn, optim, data } = dx;
const x = (): dx.Tensor =>
  dx.tensor([
    [1, -2, 0.25],
    [3, -4, 0.5],
  ]);
const boxes = (): dx.Tensor => dx.arange(16, { dtype: "float32" }).reshape(1, 1, 4, 4);
const generator = (): dx.Generator => new dx.Generator(7);
const params = (): dx.nn.Parameter[] => [new nn.Parameter(dx.ones([2]))];
const causes = (): dx.Tensor =>
  dx.tensor([
    [false, true],
    [false, false],
  ]);

type Options = Readonly<Record<string, unknown>>;
/** [former or other name, the name, what takes them, values] */
type Row = readonly [other: string, own: string, call: (options: never) => unknown, ...values: readonly unknown[]];

const q = (): dx.Tensor => dx.arange(8, { dtype: "float32" }).reshape(1, 2, 2, 2).div(8);
const many = (): dx.Tensor => dx.arange(16, { dtype: "float32" }).reshape(1, 4, 2, 2);
const attend = (options: dx.AttentionOptions): dx.Tensor =>
  dx.scaledDotProductAttention(q(), q(), q(), { ...options, generator: generator() });
const encoder = nn.transformerEncoderLayer(4, 2, { dropout: 0, dimFeedforward: 4, generator: generator() });
const decoder = nn.transformerDecoderLayer(4, 2, { dropout: 0, dimFeedforward: 4, generator: generator() });
const whole = nn.transformer(4, 2, { dropout: 0, dimFeedforward: 4, numEncoderLayers: 1, numDecoderLayers: 1, generator: generator() });
const heads = nn.multiheadAttention(4, 2, { generator: generator() });
const words = (): dx.Tensor => dx.arange(8, { dtype: "float32" }).reshape(2, 1, 4).div(8);
const padding = (): dx.Tensor => dx.tensor([[false, true]]);
const biased = (o: Options): dx.Tensor =>
  dx.multiHeadAttention(
    words(),
    words(),
    words(),
    2,
    {
      inWeight: dx.ones([12, 4]),
      inBias: null,
      outWeight: dx.ones([4, 4]),
      outBias: null,
    },
    o,
  ).output;

const rows: readonly Row[] = [
  ["slope", "negativeSlope", (o) => dx.leakyRelu(x(), o), 0.5],
  ["slope", "negativeSlope", (o) => nn.leakyRelu(o).forward(x()), 0.5],
  ["min", "minVal", (o) => dx.hardtanh(x(), o), -0.5],
  ["max", "maxVal", (o) => nn.hardtanh(o).forward(x()), 0.5],
  ["lambda", "lambd", (o) => dx.hardshrink(x(), o), 1.5],
  ["lambda", "lambd", (o) => nn.softshrink(o).forward(x()), 1.5],
  ["epsilon", "eps", (o) => dx.layerNorm(x(), [3], null, null, o), 0.5],
  ["epsilon", "eps", (o) => dx.normalize(x(), o), 10],
  ["epsilon", "eps", (o) => dx.cosineSimilarity(x(), x(), o), 100],
  ["epsilon", "eps", (o) => dx.pairwiseDistance(x(), x(), o), 0.5],
  ["epsilon", "eps", (o) => dx.logit(x(), o), 0.25],
  ["epsilon", "eps", (o) => dx.groupNorm(x(), 1, null, null, o), 0.5],
  ["epsilon", "eps", (o) => dx.rmsNorm(x(), [3], null, o), 0.5],
  ["epsilon", "eps", (o) => dx.poissonNllLoss(x(), x(), Object.assign({ logInput: false }, o)), 8],
  ["epsilon", "eps", (o) => nn.batchNorm1d(3, o).forward(x()), 0.5],
  ["epsilon", "eps", (o) => nn.layerNorm(3, o).forward(x()), 0.5],
  ["epsilon", "eps", (o) => nn.rmsNorm(3, o).forward(x()), 0.5],
  ["epsilon", "eps", (o) => nn.groupNorm(1, 3, o).forward(x()), 0.5],
  [
    "epsilon",
    "layerNormEps",
    (o) => nn.transformerEncoderLayer(4, 2, { ...(o as object), dropout: 0, dimFeedforward: 4, generator: generator() }).forward(words()),
    0.5,
  ],
  ["affine", "elementwiseAffine", (o) => nn.layerNorm(3, o), false],
  ["affine", "elementwiseAffine", (o) => nn.rmsNorm(3, o), false],
  ["feedforward", "dimFeedforward", (o) => nn.transformerEncoderLayer(4, 2, o), 5],
  ["encoderLayers", "numEncoderLayers", (o) => nn.transformer(4, 2, o), 1],
  ["decoderLayers", "numDecoderLayers", (o) => nn.transformer(4, 2, o), 1],
  ["addBiasKeyValue", "addBiasKv", (o) => nn.multiheadAttention(4, 2, o), true],
  [
    "addZeroAttention",
    "addZeroAttn",
    (o) => nn.multiheadAttention(4, 2, { ...(o as object), generator: generator() }).forward(words(), words(), words()).output,
    true,
  ],
  ["addZeroAttention", "addZeroAttn", biased, true],
  ["keyWidth", "kdim", (o) => nn.multiheadAttention(4, 2, o), 3],
  ["valueWidth", "vdim", (o) => nn.multiheadAttention(4, 2, o), 3],
  ["layers", "numLayers", (o) => nn.lstm(2, 3, o), 2],
  ["layers", "numLayers", (o) => nn.gru(2, 3, o), 2],
  ["layers", "numLayers", (o) => nn.rnn(2, 3, o), 2],
  ["projection", "projSize", (o) => nn.lstm(2, 3, o), 2],
  ["paddingIndex", "paddingIdx", (o) => nn.embedding(3, 2, o).paddingIndex, 1],
  ["paddingIndex", "paddingIdx", (o) => dx.embeddingBag(dx.tensor([[0, 1]], { dtype: "int32" }), x(), o), 1],
  ["divisor", "divValue", (o) => nn.adaptiveLogSoftmaxWithLoss(8, 6, [2, 4], o), 2],
  ["count", "numParameters", (o) => nn.prelu(o), 3],
  ["start", "init", (o) => nn.prelu(o).forward(x()), 0.5],
  ["start", "startDim", (o) => dx.flatten(boxes(), o), 2],
  ["end", "endDim", (o) => nn.flatten(o).forward(boxes()), 2],
  ["slope", "a", (o) => nn.init.kaimingUniform(x(), { ...(o as object), generator: generator() }), 2],
  ["fan", "mode", (o) => nn.init.kaimingNormal(x(), { ...(o as object), generator: generator() }), "output"],
  ["lineSearch", "lineSearchFn", (o) => optim.lbfgs(params(), o), "strongWolfe"],
  ["columns", "n", (o) => dx.vander(dx.tensor([1, 2]), o), 4],
  ["columns", "n", (o) => dx.linalg.vander(dx.tensor([1, 2]), o), 4],
  ["minLength", "minlength", (o) => dx.bincount(dx.tensor([1, 2], { dtype: "int32" }), o), 5],
  [
    "samples",
    "randomSamples",
    (o) =>
      dx.fractionalMaxPool2d(dx.arange(49, { dtype: "float32" }).reshape(1, 1, 7, 7), 2, {
        ...(o as object),
        outputSize: 3,
        generator: generator(),
      }),
    dx.full([1, 1, 2], 0.875),
  ],
  [
    "distance",
    "distanceFunction",
    (o) => dx.tripletMarginLoss(x(), x().neg(), x().mul(2), o),
    (a: dx.Tensor, b: dx.Tensor) => a.sub(b).sum(-1),
  ],
  [
    "runningVariance",
    "runningVar",
    (o) => dx.instanceNorm(boxes(), null, null, { ...(o as object), runningMean: dx.zeros([1]), useInputStats: false }),
    dx.full([1], 4),
  ],
  ["mask", "attnMask", attend, causes()],
  ["mask", "attnMask", (o) => heads.forward(words(), words(), words(), o).output, causes()],
  ["mask", "attnMask", biased, causes()],
  ["causal", "isCausal", attend, true],
  ["causal", "isCausal", (o) => encoder.forward(words(), o), true],
  ["dropout", "dropoutP", attend, 0.5],
  ["groupedHeads", "enableGqa", (o) => dx.scaledDotProductAttention(many(), many().narrow(1, 0, 2), many().narrow(1, 0, 2), o), true],
  ["mask", "srcMask", (o) => encoder.forward(words(), o), causes()],
  ["keyPaddingMask", "srcKeyPaddingMask", (o) => encoder.forward(words(), o), padding()],
  ["mask", "tgtMask", (o) => decoder.forward(words(), words(), o), causes()],
  ["keyPaddingMask", "tgtKeyPaddingMask", (o) => decoder.forward(words(), words(), o), padding()],
  ["causal", "tgtIsCausal", (o) => decoder.forward(words(), words(), o), true],
  ["sourceMask", "srcMask", (o) => whole.forward(words(), words(), o), causes()],
  ["sourceKeyPaddingMask", "srcKeyPaddingMask", (o) => whole.forward(words(), words(), o), padding()],
  ["dim", "axis", (o) => dx.cosineSimilarity(x(), x().neg(), o), 0],
  ["dim", "axis", (o) => dx.fft.fft(x(), o).real, 0],
  ["dim", "axis", (o) => dx.diff(x(), o), 0],
  ["dim", "axis", (o) => dx.quantile(x(), 0.5, o), 0],
  ["dim", "axes", (o) => dx.fft.fftn(x(), o).real, [0]],
  [
    "dims",
    "axes",
    (o) => dx.linalg.tensorsolve(dx.arange(16, { dtype: "float32" }).add(dx.eye(4).flatten().mul(9)).reshape(2, 4, 2), dx.ones([2, 2]), o),
    [1],
  ],
  ["dim1", "axis0", (o) => dx.diagonal(boxes(), o), 2],
  ["dim2", "axis1", (o) => dx.diagonal(boxes(), o), 3],
  ["keepdim", "keepDims", (o) => x().sum(1, o), true],
  ["keepdim", "keepDims", (o) => dx.max(x(), 1, o).values, true],
  ["keepdim", "keepDims", (o) => dx.masked.sum(x(), 1, o), true],
  ["keepdim", "keepDims", (o) => dx.linalg.norm(x(), 2, 1, o), true],
  ["size", "outputSize", (o) => dx.repeatInterleave(dx.tensor([1, 2]), dx.tensor([2, 1], { dtype: "int32" }), null, o), 3],
  ["size", "shape", (o) => dx.normal(0, 1, { ...(o as object), generator: generator() }), [3]],
];

/** A result as data: of a module what is printed and the shapes of its state. */
function plain(value: unknown): unknown {
  if (value instanceof dx.Tensor) return value.toArraySync();
  if (value instanceof nn.Module) return [String(value), Object.entries(value.stateDict()).map(([name, t]) => [name, t.shape])];
  return String(value);
}

const caught = (run: () => unknown): unknown => {
  try {
    return plain(run());
  } catch (error) {
    return error;
  }
};

describe("other names of options", () => {
  it.each(rows.map((row) => [`${row[0]} for ${row[1]}: ${String(row[2])}`, row] as const))("%s", (_, [other, own, call, value]) => {
    const by = (...names: readonly string[]): unknown => caught(() => call(Object.fromEntries(names.map((n) => [n, value])) as never));
    const result = by(own);
    expect(result).not.toBeInstanceOf(Error);
    expect(by(other)).toEqual(result);
    const both = by(own, other);
    expect(both).toBeInstanceOf(dx.ValueError);
    expect(both).toMatchObject({ argument: own, expected: "passed once" });
    // It tells something: what is left out gives another result, where the value is not what holds without.
    expect(caught(() => call({} as never))).not.toEqual(result);
  });

  it("has a row for each name that there is", () => {
    const pairs = new Set<string>();
    for (const kind of Object.values(kinds)) for (const [other, own] of Object.entries(kind.aliases ?? {})) pairs.add(`${other} ${own}`);
    const generated = readFileSync(new URL("../../../src/public/kinds.generated.ts", import.meta.url), "utf8");
    for (const [, text = "{}"] of generated.matchAll(/\["fields",\{[^}]*\},(\{[^}]*\})\]/g))
      for (const [other, own] of Object.entries(JSON.parse(text) as Record<string, string>)) pairs.add(`${other} ${own}`);
    expect(pairs.size).toBeGreaterThan(40);
    const called = new Set(["collate collateFn", ...rows.map(([other, own]) => `${other} ${own}`)]);
    expect([...pairs].filter((pair) => !called.has(pair))).toEqual([]);
  });

  it("means the name when another one is misspelled", () => {
    expect(() => dx.leakyRelu(x(), { slop: 1 } as never)).toThrow("Did you mean negativeSlope?");
    expect(() => dx.leakyRelu(x(), { negative_slope: 1 } as never)).toThrow("Did you mean negativeSlope?");
    expect(() => nn.lstm(2, 3, { num_layers: 1 } as never)).toThrow("Did you mean numLayers?");
    expect(() => nn.layerNorm(3, { epsilom: 1 } as never)).toThrow("Did you mean eps?");
    expect(() => x().sum(1, { keep_dim: true } as never)).toThrow("Did you mean keepDims?");
  });
});

describe("other names of a loader's options", () => {
  it("collate for collateFn", async () => {
    const collected: unknown[] = [];
    const collate = (samples: number[]): number => samples.length;
    for (const options of [{ collateFn: collate }, { collate } as never]) {
      for await (const batch of data.dataLoader([1, 2, 3], { batchSize: 2, ...options })) collected.push(batch);
    }
    expect(collected).toEqual([2, 1, 2, 1]);
    expect(() => data.dataLoader([1], { collateFn: collate, collate })).toThrow("DataLoader: collateFn must be passed once");
  });
});

describe("words in PyTorch's spelling", () => {
  const words: readonly (readonly [theirs: string, ours: string, call: (word: never) => unknown])[] = [
    [
      "exp_range",
      "expRange",
      (mode) =>
        new optim.lrScheduler.CyclicLR(optim.sgd(params(), { lr: 1 }), { baseLr: 0.1, maxLr: 1, mode, gamma: 0.5, cycleMomentum: false })
          .mode,
    ],
    ["strong_wolfe", "strongWolfe", (lineSearchFn) => optim.lbfgs(params(), { lineSearchFn })],
    ["fan_out", "fanOut", (mode) => nn.init.kaimingNormal(x(), { mode, generator: generator() })],
    ["leaky_relu", "leakyRelu", (nonlinearity) => nn.init.kaimingNormal(x(), { nonlinearity, generator: generator() })],
    ["nearest-exact", "nearestExact", (mode) => dx.interpolate(boxes(), { scaleFactor: 0.7, mode })],
    ["use_mm_for_euclid_dist", "useMmForEuclidDist", (computeMode) => dx.cdist(x(), x(), { computeMode })],
  ];
  it.each(words)("%s is %s", (theirs, ours, call) => {
    const result = caught(() => call(ours as never));
    expect(result).not.toBeInstanceOf(Error);
    expect(caught(() => call(theirs as never))).toEqual(result);
    const unknown = caught(() => call(`${ours}x` as never));
    expect(unknown).toBeInstanceOf(dx.ValueError);
    expect((unknown as dx.ValueError).message).toContain(ours);
  });
});

describe("arguments by name", () => {
  it("takes positions in one object of options", () => {
    const sums = x().sum(1, { keepDims: true }).toArraySync();
    expect((dx.sum as (...args: unknown[]) => dx.Tensor)(x(), { dim: 1, keepdim: true }).toArraySync()).toEqual(sums);
    expect((dx.transpose as (...args: unknown[]) => dx.Tensor)(x(), { dim0: 0, dim1: 1 }).shape).toEqual([3, 2]);
    expect((dx.cat as (...args: unknown[]) => dx.Tensor)([x(), x()], { dim: 1 }).shape).toEqual([2, 6]);
  });

  it("refuses a name that there is not, and one given twice", () => {
    const sum = dx.sum as (...args: unknown[]) => dx.Tensor;
    expect(() => sum(x(), { dim: 1, keepdims: true })).toThrow("Did you mean keepDims?");
    expect(() => sum(x(), { dim: 1, axis: 1 })).toThrow("sum: axis must be passed once");
  });
});
