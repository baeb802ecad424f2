// Records models of TensorFlow.js with their results, for tfjs.test.ts. Run it where @tensorflow/tfjs 4.22 is installed: node record.mjs recorded.json
import { writeFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";

const { layers: l } = tf;
const file = process.argv[2];
let state = 1;
/** Numbers from -1 to 1 that do not change. */
const next = () => {
  state = (state * 48271) % 2147483647;
  return Math.round((state / 2147483647) * 512 - 256) / 256;
};
const numbers = (shape) => Float32Array.from({ length: shape.reduce((n, d) => n * d, 1) }, next);
const base64 = (a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength).toString("base64");

const one = (make, shape) => () => {
  const x = tf.input({ shape });
  return tf.model({ inputs: x, outputs: make(x) });
};
const onImage = (make) => one(make, [6, 7, 4]);
const onSteps = (make) => one(make, [5, 3]);
const conv = (o) => l.conv2d({ kernelSize: 3, filters: 5, biasInitializer: "randomNormal", ...o });

const layersModels = {
  "conv2d same, strides 2, relu": onImage((x) => conv({ padding: "same", strides: 2, activation: "relu" }).apply(x)),
  "conv2d dilated, no bias": onImage((x) => conv({ dilationRate: 2, useBias: false }).apply(x)),
  "conv1d same": onSteps((x) => l.conv1d({ filters: 4, kernelSize: 2, padding: "same", dilationRate: 2 }).apply(x)),
  "conv2dTranspose same": onImage((x) => l.conv2dTranspose({ filters: 3, kernelSize: 3, strides: 2, padding: "same" }).apply(x)),
  "conv2dTranspose valid, kernel below strides": onImage((x) => l.conv2dTranspose({ filters: 3, kernelSize: 2, strides: 3 }).apply(x)),
  depthwise: onImage((x) => l.depthwiseConv2d({ kernelSize: 3, depthMultiplier: 2, padding: "same", activation: "relu6" }).apply(x)),
  separable: onImage((x) => l.separableConv2d({ filters: 6, kernelSize: 3, depthMultiplier: 2, strides: 2 }).apply(x)),
  "norms and pools": onImage((x) => {
    const y = l.batchNormalization({ scale: false }).apply(l.zeroPadding2d({ padding: [[0, 1], [2, 1]] }).apply(x)); // prettier-ignore
    const pools = [
      l.maxPooling2d({ poolSize: 3, strides: 2, padding: "same" }),
      l.averagePooling2d({ poolSize: 3, strides: 2, padding: "same" }),
    ];
    return l.concatenate().apply(pools.map((p) => p.apply(y)));
  }),
  "residual and activations": onImage((x) => {
    let y = x;
    for (const activation of ["elu", "selu", "softplus", "softsign", "hardSigmoid", "swish", "tanh", "sigmoid"])
      y = l.activation({ activation }).apply(y);
    y = l.leakyReLU({ alpha: 0.2 }).apply(conv({ padding: "same", filters: 4 }).apply(y));
    y = l.reLU({ maxValue: 1 }).apply(l.elu().apply(l.thresholdedReLU({ theta: 0.1 }).apply(y)));
    const sum = l.add().apply([x, y, l.prelu({ alphaInitializer: "randomNormal" }).apply(x)]);
    return l.average().apply([l.multiply().apply([sum, x]), l.maximum().apply([x, y]), l.minimum().apply([x, y])]);
  }),
  "to classes": onImage((x) => {
    const y = l.globalAveragePooling2d({}).apply(l.upSampling2d({ size: [2, 2] }).apply(l.cropping2D({ cropping: [[1, 0], [0, 2]] }).apply(x))); // prettier-ignore
    return l.dense({ units: 3, activation: "softmax" }).apply(l.dropout({ rate: 0.5 }).apply(l.batchNormalization().apply(y)));
  }),
  "flatten and reshape": onImage((x) => {
    const y = l.flatten().apply(conv({ filters: 2 }).apply(x));
    return l.permute({ dims: [2, 1] }).apply(l.reshape({ targetShape: [-1, 4] }).apply(y));
  }),
  "bilinear upsampling": onImage((x) => l.upSampling2d({ size: [2, 3], interpolation: "bilinear" }).apply(x)),
  "lstm sequences": onSteps((x) => l.lstm({ units: 4, returnSequences: true, biasInitializer: "randomNormal" }).apply(x)),
  "lstm backwards": onSteps((x) => l.lstm({ units: 4, returnSequences: true, goBackwards: true, recurrentActivation: "sigmoid" }).apply(x)),
  "gru last": onSteps((x) => l.gru({ units: 4, biasInitializer: "randomNormal" }).apply(x)),
  simpleRNN: onSteps((x) => l.simpleRNN({ units: 4, returnSequences: true, activation: "relu" }).apply(x)),
  "bidirectional lstm": onSteps((x) =>
    l.bidirectional({ layer: l.lstm({ units: 3, returnSequences: true }), mergeMode: "concat" }).apply(x),
  ),
  "bidirectional gru, ave": onSteps((x) => l.bidirectional({ layer: l.gru({ units: 3 }), mergeMode: "ave" }).apply(x)),
  "layer norm and steps": onSteps((x) => {
    const y = l.layerNormalization({ axis: -1 }).apply(l.timeDistributed({ layer: l.dense({ units: 6 }) }).apply(x));
    return l.multiply().apply([y, l.repeatVector({ n: 5 }).apply(l.globalMaxPooling1d({}).apply(y))]);
  }),
  "embedding of a sequential model": () =>
    tf.sequential({ layers: [l.embedding({ inputDim: 9, outputDim: 4, inputLength: 5 }), l.globalAveragePooling1d({}), l.dense({ units: 2, activation: "sigmoid" })] }), // prettier-ignore
  "nested, shared, two outputs": () => {
    const inner = tf.sequential({ layers: [l.dense({ units: 4, inputShape: [4], activation: "tanh" }), l.dense({ units: 4 })] });
    const [a, b] = [tf.input({ shape: [4] }), tf.input({ shape: [4] })];
    return tf.model({ inputs: [a, b], outputs: [l.add().apply([inner.apply(a), inner.apply(b)]), inner.apply(l.softmax().apply(b))] });
  },
};

const c = (name, values, shape, dtype = "float32") => ({ name, shape, dtype, values });
const t = { type: { type: "DT_FLOAT" }, int: { type: "DT_INT32" } };
const ints = (list) => ({ list: { i: list.map(String) } });
const s = (text) => ({ s: Buffer.from(text).toString("base64") });
const texts = (list) => ({ list: { s: list.map((text) => Buffer.from(text).toString("base64")) } });
const placeholder = (name, dims) => ({
  name,
  op: "Placeholder",
  attr: { dtype: t.type, shape: { shape: { dim: dims.map((n) => ({ size: String(n) })) } } },
});
const node = (name, op, input, attr = {}) => ({ name, op, input, attr: { T: t.type, ...attr } });
const window = (padding, strides = 1, more = {}) => ({ strides: ints([1, strides, strides, 1]), dilations: ints([1, 1, 1, 1]), data_format: s("NHWC"), padding: s(padding), ...more }); // prettier-ignore
const int = (name, values, shape = [values.length]) => c(name, Int32Array.from(values), shape, "int32");
const float = (name, shape) => c(name, numbers(shape), shape);

/** Nodes, constants, the input's shape, and the results. */
const graphModels = {
  "fused convolutions, pools, product": {
    input: [2, 6, 7, 4],
    constants: [
      float("k1", [3, 3, 4, 5]),
      float("b1", [5]),
      float("k2", [3, 3, 5, 1]),
      float("b2", [5]),
      int("axes", [1, 2]),
      float("w", [5, 3]),
      float("b", [3]),
    ],
    nodes: [
      node("conv", "_FusedConv2D", ["x", "k1", "b1"], window("SAME", 2, { fused_ops: texts(["BiasAdd", "Relu6"]), num_args: { i: "1" } })),
      node(
        "depth",
        "FusedDepthwiseConv2dNative",
        ["conv", "k2", "b2"],
        window("SAME", 1, { fused_ops: texts(["BiasAdd", "Relu"]), num_args: { i: "1" } }),
      ),
      node("sum", "AddV2", ["conv", "depth"]),
      node("pool", "MaxPool", ["sum"], window("SAME", 1, { ksize: ints([1, 2, 2, 1]) })),
      node("average", "AvgPool", ["sum"], window("SAME", 1, { ksize: ints([1, 2, 2, 1]) })),
      node("axis", "Const", []),
      node("both", "ConcatV2", ["pool", "average", "axis"]),
      node("mean", "Mean", ["sum", "axes"], { keep_dims: { b: false } }),
      node("logits", "_FusedMatMul", ["mean", "w", "b"], { fused_ops: texts(["BiasAdd"]), transpose_a: { b: false }, transpose_b: { b: false }, num_args: { i: "1" } }), // prettier-ignore
      node("probabilities", "Softmax", ["logits"]),
    ],
    more: [int("axis", [3], [])],
    outputs: ["both", "probabilities"],
  },
  "shapes and slices": {
    input: [2, 3, 4],
    constants: [
      int("begin", [0, -1, 1]), int("end", [0, 0, 3]), int("steps", [1, 1, 1]), int("b2", [0, 3, 0]), int("e2", [2, 0, -1]), int("s2", [1, -2, 2]), int("zero", [0], []), int("one", [1], []), int("two", [2], []), int("flat", [2, 12]),
      int("perm", [2, 0, 1]), int("pads", [0, 0, 1, 2, 0, 1], [3, 2]), int("tiles", [1, 2, 1]), int("lengths", [1, 3]), int("last", [-1], []), int("picks", [2, 0]),
      int("i0", [0]), int("i1", [1]), int("is", [1]), int("minus", [-1], [1]),
    ], // prettier-ignore
    nodes: [
      node("strided", "StridedSlice", ["x", "begin", "end", "steps"], {
        begin_mask: { i: "1" },
        end_mask: { i: "1" },
        shrink_axis_mask: { i: "2" },
      }),
      node("stepped", "StridedSlice", ["x", "b2", "e2", "s2"], { end_mask: { i: "2" } }),
      node("shape", "Shape", ["x"], { out_type: t.int }),
      node("batch", "StridedSlice", ["shape", "i0", "i1", "is"], { T: t.int, shrink_axis_mask: { i: "1" } }),
      node("twelve", "Pack", ["batch", "rest"], { T: t.int, N: { i: "2" }, axis: { i: "0" } }),
      node("rest", "Const", []),
      node("flattened", "Reshape", ["x", "twelve"]),
      node("swapped", "Transpose", ["x", "perm"]),
      node("padded", "Pad", ["x", "pads"]),
      node("tiled", "Tile", ["x", "tiles"]),
      node("parts", "SplitV", ["x", "lengths", "last"], { num_split: { i: "2" } }),
      node("halves", "Split", ["one_", "padded_"], { num_split: { i: "2" } }),
      node("one_", "Const", []),
      node("padded_", "Pad", ["x", "even"]),
      node("even", "Const", []),
      node("gathered", "GatherV2", ["x", "picks", "one"], { batch_dims: { i: "0" } }),
      node("expanded", "ExpandDims", ["x", "last"]),
      node("unpacked", "Unpack", ["x"], { num: { i: "3" }, axis: { i: "1" } }),
      node("difference", "SquaredDifference", ["unpacked:2", "unpacked"]),
      node("largest", "TopKV2", ["x", "two"], { sorted: { b: true } }),
      node("index", "ArgMax", ["x", "last"], { output_type: t.int }),
      node("reversed", "ReverseV2", ["x", "minus"]),
    ],
    more: [int("rest", [12], []), int("one_", [1], []), int("even", [0, 0, 1, 0, 0, 0], [3, 2])],
    outputs: ["strided", "stepped", "flattened", "swapped", "padded", "tiled", "parts:1", "halves:1", "gathered", "expanded", "difference", "largest", "largest:1", "index", "reversed"], // prettier-ignore
  },
  "functions of elements": {
    input: [2, 5, 4],
    constants: [
      float("alpha", [4]),
      c("low", Float32Array.of(-0.5), []),
      c("high", Float32Array.of(0.25), []),
      int("axis", [1]),
      float("w", [2, 4, 3]),
    ],
    nodes: [
      node("abs", "Abs", ["x"]),
      node("log1p", "Log1p", ["abs"]),
      node("rsqrt", "Rsqrt", ["shifted"]),
      node("shifted", "AddV2", ["abs", "high"]),
      node("expm1", "Expm1", ["x"]),
      node("prelu", "Prelu", ["x", "alpha"]),
      node("leaky", "LeakyRelu", ["x"], { alpha: { f: 0.1 } }),
      node("clip", "ClipByValue", ["x", "low", "high"]),
      node("is", "Greater", ["x", "high"]),
      node("chosen", "SelectV2", ["is", "expm1", "prelu"]),
      node("other", "NotEqual", ["x", "high"]),
      node("number", "Cast", ["other"], { SrcT: { type: "DT_BOOL" }, DstT: t.type }),
      node("floored", "FloorMod", ["x", "high"]),
      node("total", "AddN", ["chosen", "leaky", "clip", "number", "floored", "rsqrt", "log1p"], { N: { i: "7" } }),
      node("maximum", "Max", ["total", "axis"], { keep_dims: { b: true } }),
      node("product", "BatchMatMulV2", ["x", "w"], { adj_x: { b: false }, adj_y: { b: false } }),
      node("any", "Any", ["is", "axis"], { keep_dims: { b: false } }),
    ],
    more: [],
    outputs: ["total", "maximum", "product", "any"],
  },
  "pictures of other sizes": {
    input: [1, 4, 6, 8],
    constants: [
      int("size", [7, 9]),
      float("scale", [8]),
      float("offset", [8]),
      float("mean", [8]),
      c(
        "variance",
        Float32Array.from({ length: 8 }, (_, i) => i + 0.5),
        [8],
      ),
    ],
    nodes: [
      node("norm", "FusedBatchNormV3", ["x", "scale", "offset", "mean", "variance"], {
        epsilon: { f: 0.001 },
        data_format: s("NHWC"),
        is_training: { b: false },
      }),
      node("half", "ResizeBilinear", ["norm", "size"], { align_corners: { b: false }, half_pixel_centers: { b: true } }),
      node("corners", "ResizeBilinear", ["norm", "size"], { align_corners: { b: true }, half_pixel_centers: { b: false } }),
      node("nearest", "ResizeNearestNeighbor", ["norm", "size"], { align_corners: { b: false }, half_pixel_centers: { b: false } }),
      node("blocks", "DepthToSpace", ["norm"], { block_size: { i: "2" }, data_format: s("NHWC") }),
      node("biased", "BiasAdd", ["norm", "offset"], { data_format: s("NHWC") }),
    ],
    more: [],
    outputs: ["half", "corners", "nearest", "blocks", "biased"],
  },
};

const recorded = { layers: [], graphs: [] };
for (const [name, make] of Object.entries(layersModels)) {
  const model = make();
  model.setWeights(model.getWeights().map((w, i) => {
    const isVariance = model.weights[i].name.includes("moving_variance");
    const values = numbers(w.shape).map((v) => (isVariance ? Math.abs(v) + 0.5 : v / 2));
    return tf.tensor(values, w.shape);
  })); // prettier-ignore
  const inputs = model.inputs.map((x) => {
    const shape = [2, ...x.shape.slice(1).map((d) => d ?? 5)];
    const isIndex = model.layers.some((each) => each.getClassName() === "Embedding");
    return { name: x.name, shape, values: isIndex ? Float32Array.from({ length: 10 }, (_, i) => (i * 4) % 9) : numbers(shape) };
  });
  const made = model.predict(inputs.map(({ shape, values }) => tf.tensor(values, shape)));
  let artifacts;
  await model.save(
    tf.io.withSaveHandler(async (a) => ((artifacts = a), { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } })),
  );
  const { modelTopology, weightSpecs, weightData } = artifacts;
  recorded.layers.push({
    name,
    modelTopology,
    weightSpecs,
    weightData: Buffer.from(weightData).toString("base64"),
    inputs: inputs.map((i) => ({ ...i, values: base64(i.values) })),
    outputs: [made].flat().map((y) => ({ shape: y.shape, values: base64(Float32Array.from(y.dataSync())) })),
  });
}
for (const [name, { input, constants, more, nodes, outputs }] of Object.entries(graphModels)) {
  const all = [...constants, ...more];
  const own = nodes.filter((n) => n.op !== "Const");
  const consts = all.map((k) => node(k.name, "Const", [], { dtype: k.dtype === "int32" ? t.int : t.type, value: { tensor: { dtype: k.dtype === "int32" ? "DT_INT32" : "DT_FLOAT", tensorShape: { dim: k.shape.map((n) => ({ size: String(n) })) } } } })); // prettier-ignore
  const modelTopology = { node: [placeholder("x", [-1, ...input.slice(1)]), ...consts, ...own], versions: {} };
  const weightSpecs = all.map(({ name: n, shape, dtype }) => ({ name: n, shape, dtype }));
  const weightData = Buffer.concat(all.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength)));
  const buffer = weightData.buffer.slice(weightData.byteOffset, weightData.byteOffset + weightData.length);
  const model = await tf.loadGraphModel({ load: async () => ({ modelTopology, weightSpecs, weightData: buffer, format: "graph-model" }) });
  const values = numbers(input);
  const made = model.execute({ x: tf.tensor(values, input) }, outputs);
  recorded.graphs.push({
    name,
    modelTopology,
    weightSpecs,
    weightData: weightData.toString("base64"),
    inputs: [{ name: "x", shape: input, values: base64(values) }],
    names: outputs,
    outputs: [made].flat().map((y) => ({ shape: y.shape, values: base64(Float32Array.from(y.dataSync())) })),
  });
}
writeFileSync(file, JSON.stringify(recorded));
