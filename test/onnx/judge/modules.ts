/** Every layer, and networks of them, as the judge exports them: with dynamic axes where they may have any length. */
import * as dx from "../../../src/index.ts";
import type { Source } from "../export-cases.ts";
import { Adder, CharacterTransformer, digits, Encoder, mobileNetV2, resNet50 } from "./networks.ts";

export interface ModuleCase {
  readonly name: string;
  /** Made once; given, with its weights, to the export and to the comparison. */
  readonly make: () => Source;
  /** The arguments for a batch of n and a length of t. */
  readonly args: (n: number, t: number) => dx.Tensor[];
  /** Names of the dynamic axes of each argument, by the axis. */
  readonly axes: readonly Readonly<Record<number, string>>[];
  /** Error that is allowed, relative to the largest number of the result. Default: 1e-5. */
  readonly tolerance?: number;
}

const { nn } = dx;
const batch = { 0: "batch" };
const both = { 0: "batch", 1: "time" };

/** A module in evaluation mode, as a function. */
function evaluated(module: dx.nn.Module): Source {
  module.eval();
  return (...args) => (module.forward as (...list: dx.Tensor[]) => dx.Tensor)(...args);
}

/** Layers of one tensor [N, ...shape]. */
const over = (shape: readonly number[], layers: Readonly<Record<string, () => dx.nn.Module>>): ModuleCase[] =>
  Object.entries(layers).map(([name, make]) => ({
    name,
    make: () => evaluated(make()),
    args: (n) => [dx.randn([n, ...shape])],
    axes: [batch],
  }));

const rows = over([8], {
  linear: () => nn.linear(8, 3),
  identity: () => nn.identity(),
  celu: () => nn.celu({ alpha: 0.7 }),
  elu: () => nn.elu(),
  gelu: () => nn.gelu(),
  "gelu by tanh": () => nn.gelu({ approximate: "tanh" }),
  glu: () => nn.glu(),
  hardSigmoid: () => nn.hardSigmoid(),
  hardSwish: () => nn.hardSwish(),
  hardshrink: () => nn.hardshrink(),
  hardtanh: () => nn.hardtanh(),
  leakyRelu: () => nn.leakyRelu(),
  logSigmoid: () => nn.logSigmoid(),
  logSoftmax: () => nn.logSoftmax(1),
  mish: () => nn.mish(),
  prelu: () => nn.prelu(8),
  relu: () => nn.relu(),
  relu6: () => nn.relu6(),
  rrelu: () => nn.rrelu(),
  selu: () => nn.selu(),
  sigmoid: () => nn.sigmoid(),
  silu: () => nn.silu(),
  softmax: () => nn.softmax(1),
  softmin: () => nn.softmin(1),
  softplus: () => nn.softplus(),
  softshrink: () => nn.softshrink(),
  softsign: () => nn.softsign(),
  tanh: () => nn.tanh(),
  tanhshrink: () => nn.tanhshrink(),
  threshold: () => nn.threshold(0.1, 2),
  dropout: () => nn.dropout(0.5),
  layerNorm: () => nn.layerNorm(8),
  rmsNorm: () => nn.rmsNorm(8),
  "batchNorm1d of rows": () => nn.batchNorm1d(8),
  unflatten: () => nn.unflatten(1, [2, 4]),
});

const lines = over([4, 12], {
  adaptiveAvgPool1d: () => nn.adaptiveAvgPool1d(5),
  adaptiveMaxPool1d: () => nn.adaptiveMaxPool1d(4),
  avgPool1d: () => nn.avgPool1d(3, { padding: 1 }),
  batchNorm1d: () => nn.batchNorm1d(4),
  circularPad1d: () => nn.circularPad1d(2),
  constantPad1d: () => nn.constantPad1d([1, 2], 3),
  conv1d: () => nn.conv1d(4, 6, 3, { padding: 1, dilation: 2, groups: 2 }),
  convTranspose1d: () => nn.convTranspose1d(4, 6, 3, { stride: 2, padding: 1, outputPadding: 1 }),
  instanceNorm1d: () => nn.instanceNorm1d(4, { affine: true }),
  lpPool1d: () => nn.lpPool1d(2, 3),
  maxPool1d: () => nn.maxPool1d(3, { stride: 2, padding: 1 }),
  reflectionPad1d: () => nn.reflectionPad1d(2),
  replicationPad1d: () => nn.replicationPad1d(2),
  zeroPad1d: () => nn.zeroPad1d(1),
});

const planes = over([4, 8, 8], {
  adaptiveAvgPool2d: () => nn.adaptiveAvgPool2d([3, 5]),
  adaptiveMaxPool2d: () => nn.adaptiveMaxPool2d([3, 5]),
  avgPool2d: () => nn.avgPool2d(3, { stride: 2, padding: 1, ceilMode: true }),
  "avgPool2d without padding": () => nn.avgPool2d(3, { stride: 2, padding: 1, countIncludePad: false }),
  batchNorm2d: () => nn.batchNorm2d(4),
  channelShuffle: () => nn.channelShuffle(2),
  circularPad2d: () => nn.circularPad2d(2),
  constantPad2d: () => nn.constantPad2d(1, 2),
  conv2d: () => nn.conv2d(4, 6, 3, { stride: 2, padding: 1 }),
  "conv2d, padding same": () => nn.conv2d(4, 6, 4, { padding: "same" }),
  "conv2d, padding mode": () => nn.conv2d(4, 6, 3, { padding: 1, paddingMode: "reflect" }),
  convTranspose2d: () => nn.convTranspose2d(4, 6, 3, { stride: 2, groups: 2 }),
  dropout2d: () => nn.dropout2d(0.5),
  flatten: () => nn.flatten(),
  groupNorm: () => nn.groupNorm(2, 4),
  instanceNorm2d: () => nn.instanceNorm2d(4),
  localResponseNorm: () => nn.localResponseNorm(3),
  lpPool2d: () => nn.lpPool2d(2, 2),
  maxPool2d: () => nn.maxPool2d(3, { stride: 2, padding: 1, ceilMode: true }),
  "maxPool2d, dilated": () => nn.maxPool2d(2, { dilation: 2 }),
  pixelShuffle: () => nn.pixelShuffle(2),
  pixelUnshuffle: () => nn.pixelUnshuffle(2),
  reflectionPad2d: () => nn.reflectionPad2d(2),
  replicationPad2d: () => nn.replicationPad2d(2),
  softmax2d: () => nn.softmax2d(),
  unfold: () => nn.unfold(3, { padding: 1, stride: 2 }),
  "upsample, nearest": () => nn.upsample({ scaleFactor: 2 }),
  "upsample, bilinear": () => nn.upsample({ size: [5, 11], mode: "bilinear" }),
  "upsample, corners": () => nn.upsample({ size: [5, 11], mode: "bilinear", alignCorners: true }),
  "upsample, bicubic": () => nn.upsample({ scaleFactor: 2, mode: "bicubic" }),
  zeroPad2d: () => nn.zeroPad2d(1),
});

const volumes = over([2, 6, 6, 6], {
  adaptiveAvgPool3d: () => nn.adaptiveAvgPool3d(2),
  adaptiveMaxPool3d: () => nn.adaptiveMaxPool3d(3),
  avgPool3d: () => nn.avgPool3d(2),
  batchNorm3d: () => nn.batchNorm3d(2),
  circularPad3d: () => nn.circularPad3d(1),
  constantPad3d: () => nn.constantPad3d(1, 2),
  conv3d: () => nn.conv3d(2, 4, 3, { padding: 1, stride: 2 }),
  convTranspose3d: () => nn.convTranspose3d(2, 4, 3, { stride: 2 }),
  instanceNorm3d: () => nn.instanceNorm3d(2),
  lpPool3d: () => nn.lpPool3d(2, 2),
  maxPool3d: () => nn.maxPool3d(2),
  reflectionPad3d: () => nn.reflectionPad3d(1),
  replicationPad3d: () => nn.replicationPad3d(1),
  zeroPad3d: () => nn.zeroPad3d(1),
});

const sequence = (name: string, make: () => Source): ModuleCase => ({
  name,
  make,
  args: (n, t) => [dx.randn([n, t, 8])],
  axes: [both],
});
const recurrent = (name: string, layer: () => dx.nn.Module): ModuleCase =>
  sequence(name, () => {
    const run = evaluated(layer());
    return (...args) => (run(...args) as unknown as { output: dx.Tensor }).output;
  });
const tokens = (high: number, ...shape: number[]): dx.Tensor => dx.randint(0, high, shape, { dtype: "int64" });

const sequences: ModuleCase[] = [
  recurrent("lstm", () => nn.lstm(8, 5, { batchFirst: true, numLayers: 2, bidirectional: true })),
  recurrent("gru", () => nn.gru(8, 5, { batchFirst: true, numLayers: 2, bidirectional: true })),
  recurrent("rnn", () => nn.rnn(8, 5, { batchFirst: true, nonlinearity: "relu" })),
  sequence("transformerEncoderLayer", () => evaluated(nn.transformerEncoderLayer(8, 2, { dimFeedforward: 16, batchFirst: true }))),
  sequence("transformerDecoderLayer", () => {
    const layer = nn.transformerDecoderLayer(8, 2, { dimFeedforward: 16, batchFirst: true });
    layer.eval();
    return (x) => layer.forward(x!, x!);
  }),
  sequence("multiheadAttention", () => {
    const layer = nn.multiheadAttention(8, 2, { batchFirst: true });
    layer.eval();
    return (x) => layer.forward(x!, x!, x!).output;
  }),
  { name: "embedding", make: () => evaluated(nn.embedding(10, 4)), args: (n, t) => [tokens(10, n, t)], axes: [both] },
  { name: "embeddingBag", make: () => evaluated(nn.embeddingBag(10, 4)), args: (n, t) => [tokens(10, n, t)], axes: [both] },
  {
    name: "bilinear",
    make: () => evaluated(nn.bilinear(4, 5, 3)),
    args: (n) => [dx.randn([n, 4]), dx.randn([n, 5])],
    axes: [batch, batch],
  },
  {
    name: "cosineSimilarity",
    make: () => evaluated(nn.cosineSimilarity()),
    args: (n) => [dx.randn([n, 4]), dx.randn([n, 4])],
    axes: [batch, batch],
  },
  {
    name: "pairwiseDistance",
    make: () => evaluated(nn.pairwiseDistance()),
    args: (n) => [dx.randn([n, 4]), dx.randn([n, 4])],
    axes: [batch, batch],
  },
];

const networks: ModuleCase[] = [
  { name: "digits", make: () => evaluated(digits()), args: (n) => [dx.randn([n, 1, 28, 28])], axes: [batch] },
  { name: "character-transformer", make: () => evaluated(new CharacterTransformer()), args: (n, t) => [tokens(40, n, t)], axes: [both] },
  { name: "lstm's adder", make: () => evaluated(new Adder()), args: (n, t) => [dx.randn([n, t, 2])], axes: [both] },
  {
    name: "BERT's encoder",
    make: () => evaluated(new Encoder()),
    args: (n, t) => [tokens(100, n, t), dx.ones([n, t], { dtype: "int64" })],
    axes: [both, both],
  },
  { name: "MobileNetV2", make: () => evaluated(mobileNetV2()), args: (n) => [dx.randn([n, 3, 96, 96])], axes: [batch], tolerance: 1e-4 },
  { name: "ResNet-50", make: () => evaluated(resNet50()), args: (n) => [dx.randn([n, 3, 64, 64])], axes: [batch], tolerance: 1e-4 },
];

export const layerCases: readonly ModuleCase[] = [...rows, ...lines, ...planes, ...volumes, ...sequences];
export const networkCases: readonly ModuleCase[] = networks;

/** Options of the export of a case. */
export function optionsOf({ axes }: ModuleCase): { readonly dynamicAxes: dx.io.onnx.ExportDynamicAxes } {
  const inputs = axes.map((_, i) => (axes.length === 1 ? "input" : `input${i}`));
  return { dynamicAxes: Object.fromEntries(inputs.map((input, i) => [input, axes[i]!])) };
}
