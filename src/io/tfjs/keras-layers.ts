/** Keras's layers by the names of their classes: what each makes of its inputs. */
import { UnsupportedError, FormatError } from "../../core/errors.ts";
import type { GraphBuilder, Value, Weight } from "./graph-builder.ts";
import { isRecord, type Json } from "./json.ts";
import { activation, batchNorm, both, concatenated, convolution, depthwise, each, padded, pool, reduced, transposedConvolution, type Window } from "./layer-nodes.ts"; // prettier-ignore
import { recurrent } from "./recurrent.ts";

/** What a layer is made of. */
export class LayerCall {
  readonly operation: string;
  readonly source: string;
  readonly b: GraphBuilder;
  readonly label: string;
  readonly className: string;
  readonly config: Json;
  readonly inputs: readonly Value[];
  readonly #find: (suffix: string) => Weight | null;

  constructor(
    at: { readonly operation: string; readonly source: string; readonly b: GraphBuilder },
    layer: { readonly label: string; readonly className: string; readonly config: Json },
    inputs: readonly Value[],
    find: (suffix: string) => Weight | null,
  ) {
    this.operation = at.operation;
    this.source = at.source;
    this.b = at.b;
    this.label = layer.label;
    this.className = layer.className;
    this.config = layer.config;
    this.inputs = inputs;
    this.#find = find;
  }

  get x(): Value {
    return this.inputs[0]!;
  }

  /** A weight of so many axes, and so many elements in the last of them, where these are said. */
  weight(suffix: string, axes?: number, last?: number): Weight {
    const found = this.#find(suffix);
    if (found === null) throw this.bad("with all weights of its layers", `none named ${this.label}/${suffix}`);
    const { shape } = found;
    if (axes !== undefined && (shape.length !== axes || (last !== undefined && shape.at(-1) !== last)))
      throw this.bad(
        `with ${this.label}/${suffix} of ${axes} axes${last === undefined ? "" : `, the last of ${last}`}`,
        `[${shape.join(", ")}]`,
      );
    return found;
  }

  optional(suffix: string): Weight | null {
    return this.#find(suffix);
  }

  get bias(): Weight | null {
    return this.config["use_bias"] === false ? null : this.weight("bias");
  }

  /** The layer of another class, configuration or name, whose weights have this one's names with a part before them. */
  with(
    layer: { readonly className?: string; readonly config?: Json; readonly label?: string },
    inputs = this.inputs,
    prefix = "",
  ): LayerCall {
    const { label = this.label, className = this.className, config = this.config } = layer;
    return new LayerCall(this, { label, className, config }, inputs, (suffix) => this.#find(prefix + suffix));
  }

  bad(expected: string, received: string): FormatError {
    return new FormatError(this.operation, this.source, expected, received);
  }

  unsupported(what: string): UnsupportedError {
    return new UnsupportedError({ operation: this.operation, argument: `${this.className} ${this.label}`, received: what });
  }

  number(name: string, otherwise: number): number {
    const value = this.config[name] ?? otherwise;
    if (typeof value !== "number") throw this.bad(`with a number ${name} of ${this.label}`, JSON.stringify(value));
    return value;
  }

  text(name: string, otherwise: string): string {
    const value = this.config[name] ?? otherwise;
    if (typeof value !== "string") throw this.unsupported(`${name} ${JSON.stringify(value)}`);
    return value;
  }

  /** A list of `count` integers, or one for all. */
  lengths(name: string, count: number, otherwise: number | readonly number[] = 1): number[] {
    const value = this.config[name] ?? otherwise;
    const list = Array.isArray(value) ? (value as unknown[]) : Array.from({ length: count }, () => value);
    if (list.length !== count || !list.every((n) => Number.isSafeInteger(n)))
      throw this.bad(`with ${count} integers ${name} of ${this.label}`, JSON.stringify(value));
    return list as number[];
  }

  channelsLast(): void {
    const format = this.text("data_format", "channels_last")
      .replaceAll(/([A-Z])/g, "_$1")
      .toLowerCase();
    if (format !== "channels_last") throw this.unsupported(`data_format ${format}`);
  }

  window(spatial: number, defaults: number | readonly number[] = 1): Window {
    this.channelsLast();
    const padding = this.text("padding", "valid");
    if (padding !== "same" && padding !== "valid") throw this.unsupported(`padding ${padding}`);
    const dilations =
      this.config["dilation_rate"] === undefined ? Array.from({ length: spatial }, () => 1) : this.lengths("dilation_rate", spatial);
    const strides = this.lengths("strides", spatial, defaults);
    return { strides, dilations, padding };
  }

  /** The activation that the layer ends with. */
  activated(y: Value, name = this.config["activation"] ?? "linear"): Value {
    const key = isRecord(name) ? String(name["class_name"]) : String(name);
    const made = activation(this.b, key, y, this.label === y.label ? `${this.label}/${key}` : this.label);
    if (made === null) throw this.unsupported(`activation ${key}`);
    return made;
  }
}

type Layer = (c: LayerCall) => Value | readonly Value[];

const same: Layer = (c) => c.x;

const conv =
  (spatial: number): Layer =>
  (c) =>
    c.activated(convolution(c.b, c.x, c.weight("kernel", spatial + 2), c.bias, c.window(spatial), c.label, c.number("groups", 1)));

const pooled =
  (kind: "MaxPool" | "AveragePool", spatial: number): Layer =>
  (c) => {
    const size = c.lengths("pool_size", spatial, 2);
    return pool(c.b, kind, c.x, size, c.window(spatial, size), c.label);
  };

const global =
  (type: "ReduceMean" | "ReduceMax", spatial: number): Layer =>
  (c) => {
    c.channelsLast();
    return reduced(c.b, type, c.x, Array.from({ length: spatial }, (_, i) => i + 1), c.config["keepdims"] === true, c.label); // prettier-ignore
  };

/** A function of two values, for any number of them. */
const merged =
  (type: string): Layer =>
  (c) => {
    const [first, ...rest] = c.inputs;
    return rest.reduce((sum, v, i) => both(c.b, type, sum, v, i === rest.length - 1 ? c.label : `${c.label}/${i}`), first!);
  };

/** [[before, after] for each axis], of one number, one for each axis, or pairs. */
function pairs(c: LayerCall, name: string, count: number, otherwise: number): (readonly [number, number])[] {
  const value = c.config[name] ?? otherwise;
  const list = Array.isArray(value) ? (value as unknown[]) : Array.from({ length: count }, () => value);
  const found = list.map((item) => (Array.isArray(item) ? item : [item, item]));
  if (found.length !== count || !found.every((pair) => pair.length === 2 && pair.every((n) => Number.isSafeInteger(n) && n >= 0)))
    throw c.bad(`with ${count} pairs ${name} of ${c.label}`, JSON.stringify(value));
  return found.map(([before, after]: readonly unknown[]) => [Number(before), Number(after)] as const);
}

/** A product over the last axis, and a bias. */
function dense(c: LayerCall): Value {
  const { b, label } = c;
  const name = c.b.last(c.x);
  const bias = c.bias;
  const product =
    c.x.rank === 2
      ? b.node("Gemm", [name, b.weight(c.weight("kernel", 2)), ...(bias === null ? [] : [b.weight(bias)])], `${label}/product`)
      : bias === null
        ? b.node("MatMul", [name, b.weight(c.weight("kernel", 2))], `${label}/product`)
        : b.node("Add", [b.node("MatMul", [name, b.weight(c.weight("kernel", 2))], `${label}/product`), b.weight(bias)], `${label}/sum`);
  return c.activated(b.plain(product, c.x.rank, label));
}

function separable(c: LayerCall): Value {
  const { b, label } = c;
  const window = c.window(2);
  const first = depthwise(b, c.x, c.weight("depthwise_kernel", 4), null, window, label);
  const once: Window = { strides: [1, 1], dilations: [1, 1], padding: "valid" };
  return c.activated(convolution(b, first, c.weight("pointwise_kernel", 4), c.bias, once, label));
}

function normalized(c: LayerCall): Value {
  const { b, label } = c;
  const { rank } = c.x;
  const stated = c.config["axis"] ?? -1;
  const axis = Array.isArray(stated) ? Number(stated[0]) : Number(stated);
  if (rank === null || (axis !== -1 && axis !== rank - 1)) throw c.unsupported(`axis ${JSON.stringify(stated)} of ${String(rank)} axes`);
  const optional = (name: string, flag: string): Weight | null => (c.config[flag] === false ? null : c.weight(name));
  const weights = [
    optional("gamma", "scale"),
    optional("beta", "center"),
    c.weight("moving_mean", 1),
    c.weight("moving_variance", 1),
  ] as const;
  return batchNorm(b, c.x, weights, c.number("epsilon", 1e-3), rank, label);
}

function layerNorm(c: LayerCall): Value {
  const { b, label } = c;
  const stated = c.config["axis"] ?? -1;
  const axes = (Array.isArray(stated) ? stated : [stated]).map((axis: unknown) =>
    Number(axis) < 0 ? Number(axis) : Number(axis) - c.x.rank!,
  );
  const start = Math.min(...axes);
  if (axes.length !== -start) throw c.unsupported(`axis ${JSON.stringify(stated)} of ${String(c.x.rank)} axes`);
  const gamma = c.config["scale"] === false ? null : c.weight("gamma");
  const shape = (gamma ?? c.weight("beta")).shape;
  const size = shape.reduce((n, d) => n * d, 1);
  const ones = gamma === null ? b.constant("float32", shape, Array.from({ length: size }, () => 1)) : b.weight(gamma); // prettier-ignore
  const beta = c.config["center"] === false ? [] : [b.weight(c.weight("beta"))];
  const attributes = { axis: start, epsilon: { float: c.number("epsilon", 1e-3) } };
  return b.plain(b.node("LayerNormalization", [b.last(c.x), ones, ...beta], label, attributes), c.x.rank);
}

/** ReLU with a limit, a slope below and a threshold. */
function relu(c: LayerCall): Value {
  const { b, label } = c;
  const [slope, threshold] = [c.number("negative_slope", c.number("alpha", 0)), c.number("threshold", 0)];
  if (threshold !== 0) throw c.unsupported(`threshold ${threshold}`);
  const most = c.config["max_value"] ?? null;
  if (slope === 0)
    return most === null ? each(b, "Relu", c.x, label) : each(b, "Clip", c.x, label, {}, [b.float(0), b.float(Number(most))]);
  const y = each(b, "LeakyRelu", c.x, label, { alpha: { float: slope } });
  return most === null ? y : both(b, "Min", y, b.known({ name: `${label}/most`, dtype: "float32", shape: [], bytes: new Uint8Array(Float32Array.of(Number(most)).buffer) }), `${label}/limit`); // prettier-ignore
}

function upsampled(c: LayerCall): Value {
  c.channelsLast();
  const { b, label } = c;
  const mode = c.text("interpolation", "nearest");
  if (mode !== "nearest" && mode !== "bilinear") throw c.unsupported(`interpolation ${mode}`);
  const scales = b.constant("float32", [4], [1, 1, ...c.lengths("size", 2, 2)]);
  const attributes = {
    mode: mode === "nearest" ? mode : "linear",
    coordinate_transformation_mode: "asymmetric",
    nearest_mode: "floor",
  };
  return b.channels(b.node("Resize", [b.first(c.x, 4), "", scales], `${label}/resize`, attributes), 4, label);
}

function cropped(c: LayerCall): Value {
  c.channelsLast();
  const { b, label } = c;
  const cuts = pairs(c, "cropping", 2, 0);
  const ends = cuts.map(([, after]) => (after === 0 ? 2 ** 31 - 1 : -after));
  const inputs = [b.first(c.x, 4), b.ints(cuts.map(([before]) => before)), b.ints(ends), b.ints([2, 3])];
  return b.channels(b.node("Slice", inputs, `${label}/crop`), 4, label);
}

/** A new shape of all but the batch. */
function shaped(c: LayerCall, shape: readonly number[]): Value {
  return c.b.plain(c.b.node("Reshape", [c.b.last(c.x), c.b.ints([0, ...shape])], c.label), shape.length + 1);
}

function embedded(c: LayerCall): Value {
  const { b, label } = c;
  if (c.config["mask_zero"] === true) throw c.unsupported("mask_zero");
  const indices = b.node("Cast", [b.last(c.x)], `${label}/indices`, { to: 6 });
  return b.plain(
    b.node("Gather", [b.weight(c.weight("embeddings")), indices], label, { axis: 0 }),
    c.x.rank === null ? null : c.x.rank + 1,
  );
}

function scaled(c: LayerCall): Value {
  const { b, label } = c;
  const constant = (name: string, value: number): Value =>
    b.known({ name: `${label}/${name}`, dtype: "float32", shape: [], bytes: new Uint8Array(Float32Array.of(value).buffer) });
  const y = both(b, "Mul", c.x, constant("scale", c.number("scale", 1)), `${label}/scaled`);
  return both(b, "Add", y, constant("offset", c.number("offset", 0)), label);
}

/** A layer around another: its class, and its configuration with the outer one's name. */
function innerOf(c: LayerCall): { readonly className: string; readonly config: Json } {
  const layer = c.config["layer"];
  if (!isRecord(layer) || typeof layer["class_name"] !== "string" || !isRecord(layer["config"]))
    throw c.bad(`with a layer in ${c.label}`, JSON.stringify(layer));
  return { className: layer["class_name"], config: layer["config"] };
}

/** Layers that act on the last axis alone, so that the steps in front of it change nothing. */
const STEPWISE = new Set(["Dense", "Activation", "ReLU", "LeakyReLU", "ELU", "Dropout", "Embedding"]);

function eachStep(c: LayerCall): Value | readonly Value[] {
  const { className, config } = innerOf(c);
  if (!STEPWISE.has(className)) throw c.unsupported(`a layer of class ${className}`);
  return LAYERS[className]!(c.with({ className, config }));
}

export const LAYERS: Readonly<Record<string, Layer>> = {
  Activation: (c) => c.activated(c.x),
  ActivityRegularization: same,
  Add: merged("Add"),
  AlphaDropout: same,
  Average: (c) => {
    const sum = merged("Add")(c.with({ label: `${c.label}/sum` })) as Value;
    const count: Weight = {
      name: `${c.label}/count`,
      dtype: "float32",
      shape: [],
      bytes: new Uint8Array(Float32Array.of(c.inputs.length).buffer),
    };
    return both(c.b, "Div", sum, c.b.known(count), c.label);
  },
  AveragePooling1D: pooled("AveragePool", 1),
  AveragePooling2D: pooled("AveragePool", 2),
  BatchNormalization: normalized,
  Bidirectional: (c) => recurrent(c, innerOf(c), true),
  Concatenate: (c) => concatenated(c.b, c.inputs, c.number("axis", -1), c.label),
  Conv1D: conv(1),
  Conv2D: conv(2),
  Conv2DTranspose: (c) => c.activated(transposedConvolution(c.b, c.x, c.weight("kernel", 4), c.bias, c.window(2), c.label)),
  Cropping2D: cropped,
  Dense: dense,
  DepthwiseConv2D: (c) => c.activated(depthwise(c.b, c.x, c.weight("depthwise_kernel", 4), c.bias, c.window(2), c.label)),
  Dropout: same,
  ELU: (c) => each(c.b, "Elu", c.x, c.label, { alpha: { float: c.number("alpha", 1) } }),
  Embedding: embedded,
  Flatten: (c) => {
    c.channelsLast();
    return c.b.plain(c.b.node("Flatten", [c.b.last(c.x)], c.label, { axis: 1 }), 2);
  },
  GRU: (c) => recurrent(c, c, false),
  GaussianDropout: same,
  GaussianNoise: same,
  GlobalAveragePooling1D: global("ReduceMean", 1),
  GlobalAveragePooling2D: global("ReduceMean", 2),
  GlobalMaxPooling1D: global("ReduceMax", 1),
  GlobalMaxPooling2D: global("ReduceMax", 2),
  LSTM: (c) => recurrent(c, c, false),
  LayerNormalization: layerNorm,
  LeakyReLU: (c) => each(c.b, "LeakyRelu", c.x, c.label, { alpha: { float: c.number("alpha", c.number("negative_slope", 0.3)) } }),
  MaxPooling1D: pooled("MaxPool", 1),
  MaxPooling2D: pooled("MaxPool", 2),
  Maximum: merged("Max"),
  Minimum: merged("Min"),
  Multiply: merged("Mul"),
  PReLU: (c) => {
    const y = c.b.node("PRelu", [c.b.last(c.x), c.b.weight(c.weight("alpha"))], c.label);
    return c.b.plain(y, c.x.rank);
  },
  Permute: (c) => {
    const dims = c.lengths("dims", c.x.rank! - 1);
    return c.b.plain(c.b.node("Transpose", [c.b.last(c.x)], c.label, { perm: [0, ...dims] }), c.x.rank);
  },
  ReLU: relu,
  RepeatVector: (c) => {
    const one = c.b.node("Unsqueeze", [c.b.last(c.x), c.b.ints([1])], `${c.label}/one`);
    return c.b.plain(c.b.node("Expand", [one, c.b.ints([1, c.number("n", 1), 1])], c.label), 3);
  },
  Rescaling: scaled,
  Reshape: (c) => {
    const shape = c.config["target_shape"];
    if (!Array.isArray(shape)) throw c.bad(`with target_shape of ${c.label}`, JSON.stringify(shape));
    return shaped(c, shape.map((n: unknown) => (n === null ? -1 : Number(n)))); // prettier-ignore
  },
  SeparableConv2D: separable,
  SimpleRNN: (c) => recurrent(c, c, false),
  Softmax: (c) => {
    const axis = c.number("axis", -1);
    return c.b.plain(c.b.node("Softmax", [c.b.last(c.x)], c.label, { axis }), c.x.rank);
  },
  SpatialDropout1D: same,
  SpatialDropout2D: same,
  Subtract: merged("Sub"),
  ThresholdedReLU: (c) => each(c.b, "ThresholdedRelu", c.x, c.label, { alpha: { float: c.number("theta", 1) } }),
  TimeDistributed: eachStep,
  UpSampling2D: upsampled,
  ZeroPadding2D: (c) => {
    c.channelsLast();
    return padded(c.b, c.x, pairs(c, "padding", 2, 1), c.label);
  },
};
