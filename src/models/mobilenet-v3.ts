/** MobileNetV3, large and small. Names of the state are torchvision's. */
import type { Tensor } from "../core/tensor.ts";
import { relu } from "../ops/elementwise/activation.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { hardSigmoid } from "../ops/elementwise/hard-activation.ts";
import { adaptiveAvgPool2d } from "../ops/pool/adaptive-pool.ts";
import { HardSwish, ReLU } from "../nn/activation.ts";
import { Sequential } from "../nn/containers.ts";
import { Conv2d } from "../nn/conv.ts";
import { Dropout } from "../nn/dropout.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import type { LayerOptions } from "../nn/options.ts";
import type { ConfigValues } from "./config-values.ts";
import { classesOf, ImageModel, startWeights } from "./image-model.ts";
import { multipleOf8, normed } from "./mobilenet.ts";

/** Kernel, expanded channels, outputs, squeeze and excitation, activation, stride. */
type Row = readonly [size: number, expanded: number, outputs: number, excites: boolean, activation: "RE" | "HS", stride: number];

/** Tables 1 and 2 of the paper. */
const VARIANTS: Readonly<Record<"large" | "small", { readonly rows: readonly Row[]; readonly last: number }>> = {
  large: {
    last: 1280,
    rows: [
      [3, 16, 16, false, "RE", 1],
      [3, 64, 24, false, "RE", 2],
      [3, 72, 24, false, "RE", 1],
      [5, 72, 40, true, "RE", 2],
      [5, 120, 40, true, "RE", 1],
      [5, 120, 40, true, "RE", 1],
      [3, 240, 80, false, "HS", 2],
      [3, 200, 80, false, "HS", 1],
      [3, 184, 80, false, "HS", 1],
      [3, 184, 80, false, "HS", 1],
      [3, 480, 112, true, "HS", 1],
      [3, 672, 112, true, "HS", 1],
      [5, 672, 160, true, "HS", 2],
      [5, 960, 160, true, "HS", 1],
      [5, 960, 160, true, "HS", 1],
    ],
  },
  small: {
    last: 1024,
    rows: [
      [3, 16, 16, true, "RE", 2],
      [3, 72, 24, false, "RE", 2],
      [3, 88, 24, false, "RE", 1],
      [5, 96, 40, true, "HS", 2],
      [5, 240, 40, true, "HS", 1],
      [5, 240, 40, true, "HS", 1],
      [5, 120, 48, true, "HS", 1],
      [5, 144, 48, true, "HS", 1],
      [5, 288, 96, true, "HS", 2],
      [5, 576, 96, true, "HS", 1],
      [5, 576, 96, true, "HS", 1],
    ],
  },
};

/** Norms differ from other models'. */
const NORM = { eps: 0.001, momentum: 0.01 };

/** Weighs each channel by what all channels' means say. Reference: torchvision.ops.SqueezeExcitation. */
class SqueezeExcitation extends Module {
  fc1: Conv2d;
  fc2: Conv2d;

  constructor(channels: number, squeezed: number, options: LayerOptions) {
    super();
    this.fc1 = new Conv2d(channels, squeezed, 1, options);
    this.fc2 = new Conv2d(squeezed, channels, 1, options);
  }

  forward(x: Tensor): Tensor {
    return mul(x, hardSigmoid(this.fc2(relu(this.fc1(adaptiveAvgPool2d(x, 1))))));
  }
}

class InvertedResidualV3 extends Module {
  readonly isResidual: boolean;
  block: Sequential;

  constructor(inputs: number, [size, expanded, outputs, excites, kind, stride]: Row, options: LayerOptions) {
    super();
    this.isResidual = stride === 1 && inputs === outputs;
    const activation = (): Layer => (kind === "HS" ? new HardSwish() : new ReLU());
    const layers: Layer[] = [];
    if (expanded !== inputs) layers.push(normed({ inputs, outputs: expanded, size: 1, activation: activation(), norm: NORM }, options));
    layers.push(
      normed({ inputs: expanded, outputs: expanded, size, stride, groups: expanded, activation: activation(), norm: NORM }, options),
    );
    if (excites) layers.push(new SqueezeExcitation(expanded, multipleOf8(Math.floor(expanded / 4)), options));
    layers.push(normed({ inputs: expanded, outputs, size: 1, activation: null, norm: NORM }, options));
    this.block = new Sequential(...layers);
  }

  forward(x: Tensor): Tensor {
    return this.isResidual ? add(x, this.block(x)) : this.block(x);
  }
}

/** MobileNetV3. Made by fromConfig() and fromPretrained(). Reference: torchvision.models.MobileNetV3. */
export class MobileNetV3 extends ImageModel {
  /** @internal */
  readonly channels: number;
  /** Convolutions from pictures to features. */
  features: Sequential;
  /** The head: a hidden layer, dropout, and from there to logits. */
  classifier: Layer;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const { rows, last } = VARIANTS[config.oneOf("variant", ["large", "small"], "large")];
    const multiplier = config.number("depth_multiplier", 1);
    if (multiplier <= 0) throw config.error("depth_multiplier", "a number above 0");
    const scaled = (channels: number): number => multipleOf8(channels * multiplier);
    this.channels = config.count("num_channels", 3);
    let inputs = scaled(16);
    const layers: Layer[] = [
      normed({ inputs: this.channels, outputs: inputs, size: 3, stride: 2, activation: new HardSwish(), norm: NORM }, options),
    ];
    for (const [size, expanded, outputs, excites, kind, stride] of rows) {
      layers.push(new InvertedResidualV3(inputs, [size, scaled(expanded), scaled(outputs), excites, kind, stride], options));
      inputs = scaled(outputs);
    }
    layers.push(normed({ inputs, outputs: 6 * inputs, size: 1, activation: new HardSwish(), norm: NORM }, options));
    this.features = new Sequential(...layers);
    this.classifier = new Sequential(
      new Linear(6 * inputs, scaled(last), options),
      new HardSwish(),
      new Dropout(config.number("classifier_dropout_prob", 0.2), { generator: options.generator }),
      new Linear(scaled(last), classesOf(config), options),
    );
    startWeights(this, options, 0.01);
    this.eval();
  }

  protected override featuresOf(x: Tensor): Tensor {
    return this.features(x);
  }

  protected override logitsOf(pooled: Tensor): Tensor {
    return this.classifier(pooled);
  }
}
