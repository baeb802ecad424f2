/** The operations that the library has shaders for, at sizes that show from where on a shader pays. */
import { sizeOf } from "../core/shape.ts";
import * as dx from "../index.ts";
import type { Tensor } from "../index.ts";
import type { ShaderName } from "../shader/choice.ts";

type Float = "float32" | "float16";

export interface Prepared {
  /** The operation, as an eager call. */
  alone(): Tensor;
  /** The same between neighbours, which DirectML may make one with it. */
  among(): Tensor;
  dispose(): void;
}

export interface MeasureCase {
  readonly shader: ShaderName;
  readonly dtype: Float;
  /** As shaders are chosen by: elements, columns, the least size of a product, or the products of a convolution. */
  readonly extent: number;
  prepare(): Prepared;
}

export interface Sizes {
  readonly elements: readonly number[];
  readonly columns: readonly number[];
  readonly elementsOfRows: number;
  readonly products: readonly number[];
  /** Rows that are multiplied by packed weights. */
  readonly rows: readonly number[];
  /** Height and width of images, and their channels. */
  readonly planes: readonly number[];
  readonly channels: number;
  /** Of direct convolutions. */
  readonly fewChannels: number;
}

/** What a device is measured at. */
export const SIZES: Sizes = {
  elements: [2 ** 18, 2 ** 21, 2 ** 24],
  columns: [256, 1024, 4096, 16384],
  elementsOfRows: 2 ** 22,
  products: [256, 512, 1024, 2048],
  rows: [1, 4, 16, 64],
  planes: [4, 8, 16, 32],
  channels: 64,
  fewChannels: 8,
};
/** What only shows that it works. */
export const QUICK: Sizes = {
  elements: [2 ** 12],
  columns: [64],
  elementsOfRows: 2 ** 12,
  products: [64],
  rows: [1, 2],
  planes: [4],
  channels: 40,
  fewChannels: 4,
};

/** The length of a transform, and the width of a head. */
const [TRANSFORM, HEAD] = [1024, 64];
/** Products at once. */
const BATCH = 8;
/** Columns of packed weights. */
const PACKED_WIDTH = 1024;
/** Images of a batch. */
const IMAGES = 16;

const BOTH = ["float32", "float16"] as const;

export function* measureCases(device: dx.Device, sizes: Sizes): Generator<MeasureCase> {
  const seeded = (shape: readonly number[], dtype: Float, seed: number): Tensor =>
    dx.randn([...shape], { device, dtype, generator: new dx.Generator(seed) });
  const real = (shape: readonly number[], dtype: Float): Tensor => seeded(shape, dtype, 1);
  const classes = (n: number, of: number): Tensor => dx.randint(0, of, [n], { device, dtype: "int32", generator: new dx.Generator(2) });

  type Make = (x: Tensor[]) => Tensor;
  /** of: from tensors; before and after stand around it in a compiled function. */
  const plain = (shader: ShaderName, dtype: Float, extent: number, inputs: () => Tensor[], of: Make, after?: (y: Tensor) => Tensor): MeasureCase => ({
    shader,
    dtype,
    extent,
    prepare: () => {
      const operands = inputs();
      return {
        alone: () => of(operands),
        among: () => (after ?? ((y) => y.mul(0.5)))(of([operands[0]!.mul(0.5), ...operands.slice(1)])),
        dispose: () => operands.forEach((t) => t.dispose()),
      };
    },
  }); // prettier-ignore

  for (const dtype of BOTH) {
    const other = dtype === "float32" ? "float16" : "float32";
    for (const n of sizes.elements) {
      const one = (): Tensor[] => [real([n], dtype)];
      yield plain("relu", dtype, n, one, ([x]) => dx.relu(x!));
      yield plain("gelu", dtype, n, one, ([x]) => dx.gelu(x!));
      yield plain("cast", dtype, n, one, ([x]) => x!.to(other));
      const two = (): Tensor[] => [real([n], dtype), real([n], dtype)];
      yield plain("add", dtype, n, two, ([a, b]) => dx.add(a!, b!));
      yield plain("swiglu", dtype, n, two, ([a, b]) => dx.swiglu(a!, b!));
      const row = (): Tensor[] => [real([n / 1024, 1024], dtype), real([1024], dtype)];
      yield plain("addBroadcast", dtype, n, row, ([a, b]) => dx.add(a!, b!));
    }
    for (const columns of sizes.columns) {
      const rows = sizes.elementsOfRows / columns;
      const x = (): Tensor[] => [real([rows, columns], dtype)];
      yield plain("softmax", dtype, columns, x, ([a]) => dx.softmax(a!, -1));
      yield plain("logSoftmax", dtype, columns, x, ([a]) => dx.logSoftmax(a!, -1));
      yield plain("rmsNorm", dtype, columns, x, ([a]) => dx.rmsNorm(a!, [columns]));
      const withLines = (): Tensor[] => [...x(), real([columns], dtype), real([columns], dtype)];
      yield plain("layerNorm", dtype, columns, withLines, ([a, w, b]) => dx.layerNorm(a!, [columns], w!, b!));
      const forGradient = (more: readonly (readonly number[])[]): Tensor[] =>
        [[rows, columns], [rows, columns], ...more].map((shape) => real(shape, dtype).requiresGrad_());
      const line = [columns];
      for (const name of ["softmax", "logSoftmax"] as const)
        yield plain(`${name}Gradient`, dtype, columns, () => forGradient([]), ([a, d]) => gradient(dx[name](a!, -1), d!, [a!])); // prettier-ignore
      yield plain("layerNormGradient", dtype, columns, () => forGradient([line, line]), ([a, d, w, b]) => gradient(dx.layerNorm(a!, line, w!, b!), d!, [a!, w!, b!])); // prettier-ignore
      yield plain("rmsNormGradient", dtype, columns, () => forGradient([line]), ([a, d, w]) => gradient(dx.rmsNorm(a!, line, w!), d!, [a!, w!])); // prettier-ignore
      const withClasses = (): Tensor[] => [x()[0]!.requiresGrad_(), classes(rows, columns)];
      yield plain("crossEntropy", dtype, columns, withClasses, ([a, t]) => dx.grad(dx.crossEntropy(a!, t!), [a!])[0]!);
    }
  }
  for (const n of sizes.products) {
    const two = (): Tensor[] => [real([n, n], "float32"), real([n, n], "float32")];
    const three = (): Tensor[] => [...two(), real([n], "float32")];
    yield plain("linear", "float32", n, three, ([x, w, b]) => dx.linear(x!, w!, b!), (y) => dx.relu(y)); // prettier-ignore
    const several = (): Tensor[] => [0, 1].map(() => real([BATCH, n / 2, n / 2], "float32"));
    yield plain("batchedMatmul", "float32", n / 2, several, ([a, b]) => dx.matmul(a!, b!), (y) => dx.relu(y)); // prettier-ignore
    // An activation behind a product is part of DirectML's.
    yield plain("matmul", "float32", n, two, ([a, b]) => dx.matmul(a!, b!), (y) => dx.relu(y)); // prettier-ignore
    const between = (): Tensor[] => [real([n, n], "float32"), real([n, n], "float32"), real([n, n], "float32")];
    yield plain("rowStatistics", "float32", n, between, ([x, a, b]) => dx.matmul(dx.rmsNorm(dx.matmul(x!, a!), [n]), b!), (y) => dx.relu(y)); // prettier-ignore
    const summed = (y: Tensor): Tensor => dx.add(y, y.sum(0));
    yield plain("columnSums", "float32", n, two, ([a, b]) => summed(dx.matmul(a!, b!)));
    const halves = (): Tensor[] => [real([n, n], "float16"), real([n, n], "float16")];
    yield plain("columnSums", "float16", n, halves, ([a, b]) => summed(dx.matmul(a!, b!)));
    const narrow = (): Tensor[] => two().map((t) => dx.scope(() => t.to("bfloat16")));
    yield plain("bfloat16Operands", "float32", n, narrow, ([a, b]) => dx.matmul(a!, b!).to("float32"));
    // Few results: K is split among groups of threads.
    const [few, terms] = [64, 16 * n];
    const deep = (): Tensor[] => [real([few, terms], "float32"), real([terms, few], "float32")];
    yield plain("splitGemm", "float32", terms, deep, ([a, b]) => dx.matmul(a!, b!), (y) => dx.relu(y)); // prettier-ignore
  }
  /** What reads packed weights of n rows, in addition to the tensors. */
  const withWeights = (n: number, make: (layer: () => dx.nn.QuantizedLinear) => MeasureCase): MeasureCase => {
    let layer: dx.nn.QuantizedLinear | null = null;
    const made = make(() => layer!);
    return {
      ...made,
      prepare: () => {
        const bytes = dx.randint(0, 256, [n, PACKED_WIDTH / 2], { device, dtype: "int32", generator: new dx.Generator(4) });
        const scales = dx.full([n, PACKED_WIDTH / 32], 2 ** -8, { device });
        layer = new dx.nn.QuantizedLinear({ codes: bytes.to("uint8"), scales, bits: 4 });
        bytes.dispose();
        const prepared = made.prepare();
        const dispose = (): void => {
          prepared.dispose();
          for (const t of layer!.buffers()) t.dispose();
        };
        return { ...prepared, dispose };
      },
    };
  };
  for (const count of sizes.rows)
    yield withWeights(sizes.products.at(-1)!, (layer) =>
      plain(
        "packedLinear",
        "float32",
        count,
        () => [real([count, PACKED_WIDTH], "float32")],
        ([x]) => layer()(x!),
      ),
    );
  for (const count of sizes.rows)
    yield withWeights(sizes.products.at(-1)!, (layer) =>
      plain(
        "packedCasts",
        "float16",
        count,
        () => [real([count, PACKED_WIDTH], "float32")],
        ([x]) => layer()(x!.to("float16")).to("float32"),
      ),
    );
  for (const n of sizes.elements)
    yield withWeights(Math.max(1, n / PACKED_WIDTH), (layer) =>
      plain(
        "packedValues",
        "float32",
        n,
        () => [real([1], "float32")],
        ([x]) => dx.mul(layer().dequantize(), x!),
      ),
    );
  for (const dtype of BOTH)
    for (const size of sizes.planes)
      // Winograd's form has no dilation.
      for (const [channels, groups, dilation, names] of [
        [sizes.channels, 1, 2, ["convolution", "convolutionInputGradient", "convolutionWeightGradient"]],
        [sizes.channels, sizes.channels, 1, ["depthwiseConvolution", "depthwiseInputGradient", "depthwiseWeightGradient"]],
        [sizes.fewChannels, 1, 1, ["directConvolution", "directInputGradient", "directWeightGradient"]],
        [sizes.channels, 1, 1, ["winogradConvolution", "winogradInputGradient", "winogradWeightGradient"]],
      ] as const) {
        const weight = [channels, channels / groups, 3, 3];
        const products = IMAGES * size ** 2 * sizeOf(weight);
        const operands = (of: Float = dtype): Tensor[] => [[IMAGES, channels, size, size], weight, [IMAGES, channels, size, size]].map((shape, i) => seeded(shape, of, i + 1).requiresGrad_()); // prettier-ignore
        const conv = (x: Tensor, w: Tensor): Tensor => dx.conv2d(x, w, null, { padding: dilation, groups, dilation });
        const [forward, ofInput, ofWeight] = names;
        yield plain(forward, dtype, products, operands, ([x, w]) => conv(x!, w!).detach());
        // What mixed precision casts, in the launches of the implicit GEMM.
        const lower = (t: Tensor): Tensor => t.to("float16");
        if (forward === "convolution" && dtype === "float16")
          yield plain("convolutionCasts", dtype, products, () => operands("float32"), ([x, w]) => conv(lower(x!), lower(w!)).to("float32").detach()); // prettier-ignore
        yield plain(ofInput, dtype, products, operands, ([x, w, dy]) => gradient(conv(x!, w!), dy!, [x!]));
        yield plain(ofWeight, dtype, products, operands, ([x, w, dy]) => gradient(conv(x!, w!), dy!, [w!]));
      }
  for (const n of sizes.elements) {
    const rows = (): Tensor[] => [real([n / TRANSFORM, TRANSFORM, 2], "float32")];
    yield plain("fft", "float32", n, rows, ([x]) => dx.viewAsReal(dx.fft.fft(dx.viewAsComplex(x!))));
  }
  for (const dtype of BOTH)
    for (const keys of sizes.columns.slice(0, 2)) {
      const heads = Math.max(1, sizes.elementsOfRows / (keys * HEAD));
      const operands = (count: number): Tensor[] => Array.from({ length: count }, (_, i) => seeded([1, heads, keys, HEAD], dtype, i + 1));
      for (const [name, isCausal] of [
        ["attention", false],
        ["causalAttention", true],
      ] as const) {
        // prettier-ignore
        const attend = (q: Tensor, k: Tensor, v: Tensor): Tensor => dx.nn.functional.scaledDotProductAttention(q, k, v, { isCausal });
        yield plain(name, dtype, keys, () => operands(3), ([q, k, v]) => attend(q!, k!, v!)); // prettier-ignore
        const forGradient = (): Tensor[] => operands(4).map((t) => t.requiresGrad_());
        yield plain(`${name}Gradient`, dtype, keys, forGradient, ([q, k, v, d]) => gradient(attend(q!, k!, v!), d!, [q!, k!, v!]));
      }
    }
  for (const keys of sizes.columns.slice(0, 2)) {
    const heads = Math.max(1, sizes.elementsOfRows / (keys * HEAD));
    const operands = (): Tensor[] => [1, keys, keys].map((length, i) => seeded([1, heads, length, HEAD], "float32", i + 1));
    yield plain("fewQueryAttention", "float32", keys, operands, ([q, k, v]) => dx.nn.functional.scaledDotProductAttention(q!, k!, v!));
  }
  for (const columns of sizes.columns.slice(0, 2)) {
    const rows = sizes.elementsOfRows / columns;
    const makeInputs = (): Tensor[] => [
      real([rows, columns], "float32"),
      classes(rows, 1024),
      real([1024, columns], "float32").requiresGrad_(),
    ];
    yield plain("sumRows", "float32", columns, makeInputs, ([dy, t, w]) => dx.grad(dx.embedding(t!, w!).mul(dy!).sum(), [w!])[0]!);
  }
  for (const n of sizes.elements) yield { shader: "adam", dtype: "float32", extent: n, prepare: () => training(real([n], "float32")) };
}

/** Forward and backward; of the gradients only the first one is looked at. */
function gradient(y: Tensor, dy: Tensor, inputs: readonly Tensor[]): Tensor {
  const [first, ...others] = dx.grad(y, [...inputs], { gradient: dy.detach() });
  for (const t of others) t!.dispose();
  return first!;
}

/** A step of Adam; the weights are what comes out. */
function training(weights: Tensor): Prepared {
  const optimizer = dx.optim.adam([weights.requiresGrad_()]);
  weights.grad = dx.mul(weights.detach(), 0.5);
  const step = (): Tensor => {
    optimizer.step();
    return weights.detach();
  };
  return {
    alone: step,
    among: step,
    dispose: () => {
      weights.grad?.dispose();
      weights.dispose();
    },
  };
}
