/** Linear, Bilinear, Identity. */
import { linear as linearOperation, bilinear as bilinearOperation } from "../ops/exports/autocast.generated.ts";
import type { Tensor } from "../core/tensor.ts";
import { oneByPosition } from "../ops/declare/positional.ts";
import { Module } from "./module.ts";
import { requireCount, uniformParameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";

/** Options of linear() and bilinear(). Reference: torch.nn.Linear. */
export interface LinearOptions extends LayerOptions {
  /** Whether there is a bias. Default: true. */
  readonly bias?: boolean | undefined;
}

/** x W^T + bias, [..., inputs] to [..., outputs]. Both start uniform in ±1/sqrt(inputs). Reference: torch.nn.Linear. */
export class Linear extends Module {
  /** Length of the last axis of inputs. */
  readonly inputs: number;
  /** Length of the last axis of results. */
  readonly outputs: number;
  /** [outputs, inputs] */
  weight: Parameter;
  /** [outputs] */
  bias: Parameter | null;

  constructor(inFeatures: number, outFeatures: number, bias?: boolean | LinearOptions, options?: LinearOptions) {
    super();
    const settings = oneByPosition<LinearOptions>("Linear", "bias", bias, options);
    requireCount("Linear", "inFeatures", inFeatures, 0);
    requireCount("Linear", "outFeatures", outFeatures, 0);
    this.inputs = inFeatures;
    this.outputs = outFeatures;
    this.weight = uniformParameter([outFeatures, inFeatures], inFeatures, settings);
    this.bias = settings.bias === false ? null : uniformParameter([outFeatures], inFeatures, settings);
  }

  forward(x: Tensor): Tensor {
    return linearOperation(x, this.weight, this.bias);
  }

  protected override describeOptions(): string {
    return `inFeatures=${this.inputs}, outFeatures=${this.outputs}, bias=${this.bias !== null}`;
  }
}

/** a^T W b + bias for each of the outputs. Reference: torch.nn.Bilinear. */
export class Bilinear extends Module {
  /** [outputs, inputs of a, inputs of b] */
  weight: Parameter;
  /** [outputs] */
  bias: Parameter | null;

  constructor(in1Features: number, in2Features: number, outFeatures: number, bias?: boolean | LinearOptions, options?: LinearOptions) {
    super();
    const settings = oneByPosition<LinearOptions>("Bilinear", "bias", bias, options);
    requireCount("Bilinear", "in1Features", in1Features);
    requireCount("Bilinear", "in2Features", in2Features);
    requireCount("Bilinear", "outFeatures", outFeatures);
    this.weight = uniformParameter([outFeatures, in1Features, in2Features], in1Features, settings);
    this.bias = settings.bias === false ? null : uniformParameter([outFeatures], in1Features, settings);
  }

  forward(a: Tensor, b: Tensor): Tensor {
    return bilinearOperation(a, b, this.weight, this.bias);
  }

  protected override describeOptions(): string {
    const [outputs, first, second] = this.weight.shape;
    return `${first}, ${second}, outFeatures=${outputs}, bias=${this.bias !== null}`;
  }
}

/** Gives its input back. Reference: torch.nn.Identity. */
export class Identity extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

export const linear = (inFeatures: number, outFeatures: number, bias?: boolean | LinearOptions, options?: LinearOptions): Linear =>
  new Linear(inFeatures, outFeatures, bias, options);
export const bilinear = (
  in1Features: number,
  in2Features: number,
  outFeatures: number,
  bias?: boolean | LinearOptions,
  options?: LinearOptions,
): Bilinear => new Bilinear(in1Features, in2Features, outFeatures, bias, options);
export const identity = (): Identity => new Identity();
