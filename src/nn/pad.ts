/** Padding layers. */
import { ShapeError, ValueError } from "../core/errors.ts";
import { pad, type PadMode } from "../ops/shape/pad.ts";
import type { Tensor } from "../core/tensor.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";

/** A padding of so many spatial axes by a mode. */
class Pad extends Module {
  /** Elements before and behind each axis, the last axis first. */
  readonly pads: readonly number[];
  /** What padded elements are. */
  readonly mode: PadMode;
  /** The value of padded elements, of mode "constant". */
  readonly value: number;
  /** @internal */ readonly [INNER]: number;

  constructor(spatial: number, padding: number | readonly number[], mode: PadMode, value = 0) {
    super();
    this.pads = typeof padding === "number" ? new Array<number>(2 * spatial).fill(padding) : [...padding];
    if (this.pads.length !== 2 * spatial || this.pads.some((p) => !Number.isInteger(p)))
      throw new ValueError(new.target.name, "padding", `an integer or ${2 * spatial} of them`, padding);
    this.mode = mode;
    this.value = value;
    this[INNER] = spatial;
  }

  forward(x: Tensor): Tensor {
    if (x.rank < this[INNER] + (this.mode === "constant" ? 0 : 1))
      throw new ShapeError(this.constructor.name, "x", `of at least ${this[INNER] + 1} axes`, x.describe());
    return pad(x, this.pads, { mode: this.mode, value: this.value });
  }

  protected override describeOptions(): string {
    return `[${this.pads.join(", ")}]`;
  }
}
type Pads = number | readonly number[];

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad1d. */
export class ConstantPad1d extends Pad {
  constructor(padding: Pads, value: number) {
    super(1, padding, "constant", value);
  }
}

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad2d. */
export class ConstantPad2d extends Pad {
  constructor(padding: Pads, value: number) {
    super(2, padding, "constant", value);
  }
}

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad3d. */
export class ConstantPad3d extends Pad {
  constructor(padding: Pads, value: number) {
    super(3, padding, "constant", value);
  }
}

/** Padding by zeros of the last axis. Reference: torch.nn.ZeroPad1d. */
export class ZeroPad1d extends Pad {
  constructor(padding: Pads) {
    super(1, padding, "constant");
  }
}

/** Padding by zeros of two axes. Reference: torch.nn.ZeroPad2d. */
export class ZeroPad2d extends Pad {
  constructor(padding: Pads) {
    super(2, padding, "constant");
  }
}

/** Padding by zeros of three axes. Reference: torch.nn.ZeroPad3d. */
export class ZeroPad3d extends Pad {
  constructor(padding: Pads) {
    super(3, padding, "constant");
  }
}

/** Padding of the last axis. Reference: torch.nn.ReflectionPad1d. */
export class ReflectionPad1d extends Pad {
  constructor(padding: Pads) {
    super(1, padding, "reflect");
  }
}

/** Padding of two axes. Reference: torch.nn.ReflectionPad2d. */
export class ReflectionPad2d extends Pad {
  constructor(padding: Pads) {
    super(2, padding, "reflect");
  }
}

/** Padding of three axes. Reference: torch.nn.ReflectionPad3d. */
export class ReflectionPad3d extends Pad {
  constructor(padding: Pads) {
    super(3, padding, "reflect");
  }
}

/** Padding of the last axis. Reference: torch.nn.ReplicationPad1d. */
export class ReplicationPad1d extends Pad {
  constructor(padding: Pads) {
    super(1, padding, "replicate");
  }
}

/** Padding of two axes. Reference: torch.nn.ReplicationPad2d. */
export class ReplicationPad2d extends Pad {
  constructor(padding: Pads) {
    super(2, padding, "replicate");
  }
}

/** Padding of three axes. Reference: torch.nn.ReplicationPad3d. */
export class ReplicationPad3d extends Pad {
  constructor(padding: Pads) {
    super(3, padding, "replicate");
  }
}

/** Padding of the last axis. Reference: torch.nn.CircularPad1d. */
export class CircularPad1d extends Pad {
  constructor(padding: Pads) {
    super(1, padding, "circular");
  }
}

/** Padding of two axes. Reference: torch.nn.CircularPad2d. */
export class CircularPad2d extends Pad {
  constructor(padding: Pads) {
    super(2, padding, "circular");
  }
}

/** Padding of three axes. Reference: torch.nn.CircularPad3d. */
export class CircularPad3d extends Pad {
  constructor(padding: Pads) {
    super(3, padding, "circular");
  }
}

export const constantPad1d = (padding: Pads, value: number): ConstantPad1d => new ConstantPad1d(padding, value);
export const constantPad2d = (padding: Pads, value: number): ConstantPad2d => new ConstantPad2d(padding, value);
export const constantPad3d = (padding: Pads, value: number): ConstantPad3d => new ConstantPad3d(padding, value);
export const zeroPad1d = (padding: Pads): ZeroPad1d => new ZeroPad1d(padding);
export const zeroPad2d = (padding: Pads): ZeroPad2d => new ZeroPad2d(padding);
export const zeroPad3d = (padding: Pads): ZeroPad3d => new ZeroPad3d(padding);
export const reflectionPad1d = (padding: Pads): ReflectionPad1d => new ReflectionPad1d(padding);
export const reflectionPad2d = (padding: Pads): ReflectionPad2d => new ReflectionPad2d(padding);
export const reflectionPad3d = (padding: Pads): ReflectionPad3d => new ReflectionPad3d(padding);
export const replicationPad1d = (padding: Pads): ReplicationPad1d => new ReplicationPad1d(padding);
export const replicationPad2d = (padding: Pads): ReplicationPad2d => new ReplicationPad2d(padding);
export const replicationPad3d = (padding: Pads): ReplicationPad3d => new ReplicationPad3d(padding);
export const circularPad1d = (padding: Pads): CircularPad1d => new CircularPad1d(padding);
export const circularPad2d = (padding: Pads): CircularPad2d => new CircularPad2d(padding);
export const circularPad3d = (padding: Pads): CircularPad3d => new CircularPad3d(padding);
