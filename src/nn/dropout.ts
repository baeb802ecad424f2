/** Dropout: layers that zero elements at random in training. */
import type { Generator } from "../ops/random/random.ts";
import { alphaDropout, requireProbability, dropout as dropoutOp, dropoutChannels, featureAlphaDropout } from "../ops/random/dropout.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";

/** Options of dropout layers. */
export interface DropoutOptions {
  /** Default: the device's own. */
  readonly generator?: Generator | undefined;
}

/** In training, zeroes each element with probability p and scales the others by 1 / (1 - p). Reference: torch.nn.Dropout. */
export class Dropout extends Module {
  /** Probability of an element to be zeroed. */
  readonly p: number;
  /** The source of random numbers. Default: the device's default generator. */
  readonly generator: Generator | undefined;

  constructor(p = 0.5, { generator }: DropoutOptions = {}) {
    super();
    requireProbability(new.target.name, p);
    this.p = p;
    this.generator = generator;
  }

  forward(x: Tensor): Tensor {
    return dropoutOp(x, { p: this.p, training: this.training, generator: this.generator });
  }

  protected override describeOptions(): string {
    return `p=${this.p}`;
  }
}

/** Dropout of whole channels of [N, C, ...]. Reference: torch.nn.Dropout1d, Dropout2d, Dropout3d. */
export class DropoutChannels extends Dropout {
  override forward(x: Tensor): Tensor {
    return dropoutChannels(x, { p: this.p, training: this.training, generator: this.generator });
  }
}

/** alphaDropout in training. Reference: torch.nn.AlphaDropout. */
export class AlphaDropout extends Dropout {
  override forward(x: Tensor): Tensor {
    return alphaDropout(x, { p: this.p, training: this.training, generator: this.generator });
  }
}
/** featureAlphaDropout in training. Reference: torch.nn.FeatureAlphaDropout. */
export class FeatureAlphaDropout extends Dropout {
  override forward(x: Tensor): Tensor {
    return featureAlphaDropout(x, { p: this.p, training: this.training, generator: this.generator });
  }
}

export const dropout = (p = 0.5, options: DropoutOptions = {}): Dropout => new Dropout(p, options);
export const dropout2d = (p = 0.5, options: DropoutOptions = {}): DropoutChannels => new DropoutChannels(p, options);
