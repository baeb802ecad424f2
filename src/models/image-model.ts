/** Models that tell what a picture shows. */
import { DTypeError, ShapeError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { adaptiveAvgPool2d } from "../ops/pool/adaptive-pool.ts";
import { flatten } from "../ops/shape/movement.ts";
import { Conv2d } from "../nn/conv.ts";
import { constant, kaimingNormal } from "../nn/init.ts";
import { fillNormal } from "../nn/fill-weights.ts";
import { Linear } from "../nn/linear.ts";
import { Module } from "../nn/module.ts";
import { BatchNorm2d } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";
import type { ConfigValues } from "./config-values.ts";

/** A model of pictures: features, their mean over all pixels, and a head that gives a number for each class. */
export abstract class ImageModel extends Module {
  /** @internal Channels of pictures. */
  abstract readonly channels: number;

  /** @internal Features [N, C, H', W'] of pictures [N, channels, H, W]. */
  protected abstract featuresOf(x: Tensor): Tensor;
  /** @internal Logits [N, classes] of pooled features [N, C]. */
  protected abstract logitsOf(pooled: Tensor): Tensor;

  /**
   * The mean of the features over all pixels: what a new head learns from. x: [N, channels, H, W] of a floating dtype. Result: [N, C]. Throws ShapeError for
   * other shapes, DTypeError for integers.
   */
  pooledFeatures(x: Tensor): Tensor {
    const name = this.constructor.name;
    if (!isFloat(x.dtype)) throw new DTypeError(name, "x", "of a floating dtype", x.describe());
    if (x.rank !== 4 || x.shape[1] !== this.channels) throw new ShapeError(name, "x", `[N, ${this.channels}, H, W]`, x.describe());
    return flatten(adaptiveAvgPool2d(this.featuresOf(x), 1), 1);
  }

  /** A logit for each class. x: [N, channels, H, W]. Result: [N, classes]. Throws as pooledFeatures(). */
  forward(x: Tensor): Tensor {
    return this.logitsOf(this.pooledFeatures(x));
  }
}

/** Classes of a config: `num_labels`, `num_classes`, or as many as `id2label` has. */
export function classesOf(config: ConfigValues): number {
  if (config.get("num_labels") !== undefined) return config.count("num_labels");
  if (config.get("num_classes") !== undefined) return config.count("num_classes");
  const labels = config.get("id2label");
  return typeof labels === "object" && labels !== null ? Object.keys(labels).length : 1000;
}

/** Starting values as torchvision has them: kernels by their outputs, norms at one, heads with a small deviation (null leaves them). */
export function startWeights(model: Module, options: LayerOptions, headDeviation: number | null): void {
  const { generator } = options;
  for (const layer of model.modules()) {
    if (layer instanceof Conv2d) {
      kaimingNormal(layer.weight, { mode: "fanOut", nonlinearity: "relu", generator });
      if (layer.bias !== null) constant(layer.bias, 0);
    } else if (layer instanceof BatchNorm2d) {
      if (layer.weight !== null) constant(layer.weight, 1);
      if (layer.bias !== null) constant(layer.bias, 0);
    } else if (layer instanceof Linear && headDeviation !== null) {
      fillNormal(layer.weight, 0, headDeviation, { generator });
      if (layer.bias !== null) constant(layer.bias, 0);
    }
  }
}
