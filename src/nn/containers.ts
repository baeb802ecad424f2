/** Sequential, Flatten, Unflatten. */
import { ValueError } from "../core/errors.ts";
import { flatten as flattenOp, unflatten as unflattenOp } from "../ops/shape/movement.ts";
import type { Tensor } from "../core/tensor.ts";
import { INNER } from "./inner.ts";
import { Module, type Layer } from "./module.ts";

/** Layers one after the other, named "0", "1", … Reference: torch.nn.Sequential. */
export class Sequential extends Module {
  /** @internal */ readonly [INNER]: Layer[];

  constructor(...layers: Layer[]) {
    super();
    this[INNER] = layers;
  }

  /** The layers by number, "0", "1", … */
  override *members(): Generator<[string, Module]> {
    for (const [i, layer] of this[INNER].entries()) yield [`${i}`, layer];
  }

  /** Number of layers. */
  override get length(): number {
    return this[INNER].length;
  }

  /** The layer at an index; from the end if negative. */
  at(index: number): Layer {
    const layer = this[INNER].at(index);
    if (layer === undefined) throw new ValueError("Sequential.at", "index", `in [${-this.length}, ${this.length - 1}]`, index);
    return layer;
  }

  /** Adds a layer at the end. Returns the container. */
  append(layer: Layer): this {
    this[INNER].push(layer);
    return this;
  }

  [Symbol.iterator](): Iterator<Layer> {
    return this[INNER][Symbol.iterator]();
  }

  forward(x: Tensor): Tensor {
    for (const layer of this[INNER]) x = layer.forward(x);
    return x;
  }
}

/** Axes `startDim` to `endDim` (default 1 to the last) merged into one. Reference: torch.nn.Flatten. */
export class Flatten extends Module {
  /** The first axis that is merged. */
  readonly start: number;
  /** The last axis that is merged; negative ones count from the end. */
  readonly end: number;

  constructor(
    start:
      | number
      | {
          /** The first axis that is merged. Default: 1. */
          readonly startDim?: number;
          /** @deprecated Use startDim. */
          readonly start?: number;
          /** The last axis that is merged. Default: -1. */
          readonly endDim?: number;
          /** @deprecated Use endDim. */
          readonly end?: number;
        } = {},
    end?: number,
  ) {
    super();
    const bounds = typeof start === "number" ? { startDim: start, endDim: end } : { endDim: end, ...start };
    this.start = bounds.startDim ?? 1;
    this.end = bounds.endDim ?? -1;
  }

  forward(x: Tensor): Tensor {
    return flattenOp(x, { startDim: this.start, endDim: this.end });
  }
}

/** An axis split into several. Reference: torch.nn.Unflatten. */
export class Unflatten extends Module {
  /** The axis that is split. */
  readonly axis: number;
  /** The axes that replace it; one may be -1. */
  readonly lengths: readonly number[];

  constructor(axis: number, lengths: readonly number[]) {
    super();
    this.axis = axis;
    this.lengths = lengths;
  }

  forward(x: Tensor): Tensor {
    return unflattenOp(x, this.axis, this.lengths);
  }
}

export const sequential = (...layers: Layer[]): Sequential => new Sequential(...layers);
export const flatten = (
  start:
    | number
    | {
        /** The first axis that is merged. Default: 1. */
        readonly startDim?: number;
        /** @deprecated Use startDim. */
        readonly start?: number;
        /** The last axis that is merged. Default: -1. */
        readonly endDim?: number;
        /** @deprecated Use endDim. */
        readonly end?: number;
      } = {},
  end?: number,
): Flatten => new Flatten(start, end);
export const unflatten = (axis: number, lengths: readonly number[]): Unflatten => new Unflatten(axis, lengths);
