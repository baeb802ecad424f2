/** What MobileNetV2 and MobileNetV3 share. */
import type { Tensor } from "../core/tensor.ts";
import { Sequential } from "../nn/containers.ts";
import { Conv2d } from "../nn/conv.ts";
import type { Layer } from "../nn/module.ts";
import { BatchNorm2d } from "../nn/norm.ts";
import type { LayerOptions } from "../nn/options.ts";

/** Channels rounded to a multiple of 8, by at most a tenth down. Reference: torchvision.models._utils._make_divisible. */
export function multipleOf8(channels: number): number {
  const rounded = Math.max(8, Math.floor((channels + 4) / 8) * 8);
  return rounded < 0.9 * channels ? rounded + 8 : rounded;
}

/** A convolution, its norm, and what follows. */
export interface NormedSettings {
  readonly inputs: number;
  readonly outputs: number;
  readonly size: number;
  readonly stride?: number;
  readonly groups?: number;
  readonly activation: Layer | null;
  readonly norm: { readonly eps?: number; readonly momentum?: number };
}

/** Convolution, norm and activation, numbered as torchvision.ops.Conv2dNormActivation. */
export function normed(
  { inputs, outputs, size, stride = 1, groups = 1, activation, norm }: NormedSettings,
  options: LayerOptions,
): Sequential {
  const layers: Layer[] = [
    new Conv2d(inputs, outputs, size, { ...options, stride, groups, padding: (size - 1) / 2, bias: false }),
    new BatchNorm2d(outputs, { ...options, ...norm }),
  ];
  return new Sequential(...layers, ...(activation === null ? [] : [activation]));
}

/** Runs layers one after the other. */
export const runAll = (layers: Iterable<Layer>, x: Tensor): Tensor => {
  let y = x;
  for (const layer of layers) y = layer(y);
  return y;
};
