/** What the constructors of layers share. */
import type { DeviceLike } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { empty } from "../ops/creation/creation.ts";
import type { Generator } from "../ops/random/random.ts";
import { outsideScopes } from "../core/scope.ts";
import { uniform } from "./init.ts";
import { Parameter } from "./parameter.ts";

/** Where a layer's parameters are made, and of which dtype. */
export interface LayerOptions {
  /** Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** Default: float32. */
  readonly dtype?: DType | undefined;
  /** Draws the starting values. Default: the device's own generator. */
  readonly generator?: Generator | undefined;
}

/** A parameter whose elements init fills. */
export function parameter(shape: readonly number[], options: LayerOptions, init: (p: Parameter) => void): Parameter {
  const p = outsideScopes(() => {
    const data = empty(shape, { device: options.device, dtype: options.dtype });
    const made = new Parameter(data);
    data.dispose();
    return made;
  });
  init(p);
  return p;
}

/** Uniform in [-1/sqrt(fan), 1/sqrt(fan)): where PyTorch's linear and convolution layers start. */
export function uniformParameter(shape: readonly number[], fan: number, options: LayerOptions): Parameter {
  const bound = fan > 0 ? 1 / Math.sqrt(fan) : 0;
  return parameter(shape, options, (p) => {
    uniform(p, -bound, bound, options);
  });
}

export function requireCount(layer: string, argument: string, value: number, min = 1): void {
  if (!Number.isInteger(value) || value < min) throw new ValueError(layer, argument, `an integer of at least ${min}`, value);
}

/** Each layer of a stack is made in JavaScript: no model comes near this many. */
const MAX_LAYERS = 10_000;

export function requireLayers(layer: string, argument: string, value: number): void {
  if (!Number.isInteger(value) || value < 1 || value > MAX_LAYERS)
    throw new ValueError(layer, argument, `an integer from 1 to ${MAX_LAYERS}`, value);
}

export function requireGroups(layer: string, inChannels: number, outChannels: number, groups: number): void {
  requireCount(layer, "groups", groups);
  if (inChannels % groups !== 0 || outChannels % groups !== 0)
    throw new ValueError(layer, "groups", `a divisor of ${inChannels} and ${outChannels} channels`, groups);
}
