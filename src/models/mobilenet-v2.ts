/** MobileNetV2. Names of the state are torchvision's. */
import type { Tensor } from "../core/tensor.ts";
import { add } from "../ops/elementwise/binary.ts";
import { ReLU6 } from "../nn/activation.ts";
import { Sequential } from "../nn/containers.ts";
import { Conv2d } from "../nn/conv.ts";
import { Dropout } from "../nn/dropout.ts";
import { Linear } from "../nn/linear.ts";
import { Module, type Layer } from "../nn/module.ts";
import { BatchNorm2d } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";
import type { ConfigValues } from "./config-values.ts";
import { classesOf, ImageModel, startWeights } from "./image-model.ts";
import { multipleOf8, normed } from "./mobilenet.ts";

/** Expansion, channels, blocks and stride of each stage: table 2 of the paper. */
const STAGES = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

/** Expands the channels, filters each of them, and projects them down again. */
class InvertedResidual extends Module {
  readonly isResidual: boolean;
  conv: Sequential;

  constructor(inputs: number, outputs: number, stride: number, expansion: number, options: LayerOptions) {
    super();
    this.isResidual = stride === 1 && inputs === outputs;
    const hidden = inputs * expansion;
    const layers: Layer[] = [];
    if (expansion !== 1) layers.push(normed({ inputs, outputs: hidden, size: 1, activation: new ReLU6(), norm: {} }, options));
    layers.push(
      normed({ inputs: hidden, outputs: hidden, size: 3, stride, groups: hidden, activation: new ReLU6(), norm: {} }, options),
      new Conv2d(hidden, outputs, 1, { ...options, bias: false }),
      new BatchNorm2d(outputs, options),
    );
    this.conv = new Sequential(...layers);
  }

  forward(x: Tensor): Tensor {
    return this.isResidual ? add(x, this.conv(x)) : this.conv(x);
  }
}

/** MobileNetV2. Made by fromConfig() and fromPretrained(). Reference: torchvision.models.MobileNetV2. */
export class MobileNetV2 extends ImageModel {
  /** @internal */
  readonly channels: number;
  /** Convolutions from pictures to features. */
  features: Sequential;
  /** The head: dropout, and from pooled features to logits. */
  classifier: Layer;

  /** @internal */
  constructor(config: ConfigValues, options: LayerOptions) {
    super();
    const multiplier = config.number("depth_multiplier", 1);
    if (multiplier <= 0) throw config.error("depth_multiplier", "a number above 0");
    this.channels = config.count("num_channels", 3);
    let inputs = multipleOf8(32 * multiplier);
    const layers: Layer[] = [
      normed({ inputs: this.channels, outputs: inputs, size: 3, stride: 2, activation: new ReLU6(), norm: {} }, options),
    ];
    for (const [expansion, channels, blocks, stride] of STAGES) {
      const outputs = multipleOf8(channels * multiplier);
      for (let i = 0; i < blocks; i++) {
        layers.push(new InvertedResidual(inputs, outputs, i === 0 ? stride : 1, expansion, options));
        inputs = outputs;
      }
    }
    const last = multipleOf8(1280 * Math.max(1, multiplier));
    layers.push(normed({ inputs, outputs: last, size: 1, activation: new ReLU6(), norm: {} }, options));
    this.features = new Sequential(...layers);
    this.classifier = new Sequential(
      new Dropout(config.number("classifier_dropout_prob", 0.2), { generator: options.generator }),
      new Linear(last, classesOf(config), options),
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
