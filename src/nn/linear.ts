/** Linear, Bilinear, Identity. */
import { linear as linearOperation } from "../ops/matmul.ts";
import { bilinear as bilinearOperation } from "../ops/noisy.ts";
import type { Tensor } from "../tensor.ts";
import { Module } from "./module.ts";
import { demandCount, uniformParameter, type LayerOptions } from "./options.ts";
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

  constructor(inputs: number, outputs: number, options: LinearOptions = {}) {
    super();
    demandCount("Linear", "inputs", inputs, 0);
    demandCount("Linear", "outputs", outputs, 0);
    this.inputs = inputs;
    this.outputs = outputs;
    this.weight = uniformParameter([outputs, inputs], inputs, options);
    this.bias = options.bias === false ? null : uniformParameter([outputs], inputs, options);
  }

  forward(x: Tensor): Tensor {
    return linearOperation(x, this.weight, this.bias);
  }

  protected override describeOptions(): string {
    return `inputs=${this.inputs}, outputs=${this.outputs}, bias=${this.bias !== null}`;
  }
}

/** a^T W b + bias for each of the outputs. Reference: torch.nn.Bilinear. */
export class Bilinear extends Module {
  /** [outputs, inputs of a, inputs of b] */
  weight: Parameter;
  /** [outputs] */
  bias: Parameter | null;

  constructor(firstInputs: number, secondInputs: number, outputs: number, options: LinearOptions = {}) {
    super();
    demandCount("Bilinear", "firstInputs", firstInputs);
    demandCount("Bilinear", "secondInputs", secondInputs);
    demandCount("Bilinear", "outputs", outputs);
    this.weight = uniformParameter([outputs, firstInputs, secondInputs], firstInputs, options);
    this.bias = options.bias === false ? null : uniformParameter([outputs], firstInputs, options);
  }

  forward(a: Tensor, b: Tensor): Tensor {
    return bilinearOperation(a, b, this.weight, this.bias);
  }

  protected override describeOptions(): string {
    const [outputs, first, second] = this.weight.shape;
    return `${first}, ${second}, outputs=${outputs}, bias=${this.bias !== null}`;
  }
}

/** Gives its input back. Reference: torch.nn.Identity. */
export class Identity extends Module {
  forward(x: Tensor): Tensor {
    return x;
  }
}

export const linear = (inputs: number, outputs: number, options: LinearOptions = {}): Linear => new Linear(inputs, outputs, options);
export const bilinear = (firstInputs: number, secondInputs: number, outputs: number, options: LinearOptions = {}): Bilinear =>
  new Bilinear(firstInputs, secondInputs, outputs, options);
export const identity = (): Identity => new Identity();
