/** Padding layers. */
import { ShapeError, ValueError } from "../errors.ts";
import { pad, type PadMode } from "../ops/pad.ts";
import type { Tensor } from "../tensor.ts";
import { Module } from "./module.ts";

/** A padding of so many spatial axes by a mode. */
class Pad extends Module {
  /** Elements before and behind each axis, the last axis first. */
  readonly pads: readonly number[];
  /** What padded elements are. */
  readonly mode: PadMode;
  /** The value of padded elements, of mode "constant". */
  readonly value: number;
  readonly #spatial: number;

  constructor(spatial: number, pads: number | readonly number[], mode: PadMode, value = 0) {
    super();
    this.pads = typeof pads === "number" ? new Array<number>(2 * spatial).fill(pads) : [...pads];
    if (this.pads.length !== 2 * spatial || this.pads.some((p) => !Number.isInteger(p)))
      throw new ValueError(new.target.name, "pads", `a whole number or ${2 * spatial} of them`, pads);
    this.mode = mode;
    this.value = value;
    this.#spatial = spatial;
  }

  forward(x: Tensor): Tensor {
    if (x.rank < this.#spatial + (this.mode === "constant" ? 0 : 1))
      throw new ShapeError(this.constructor.name, "x", `of at least ${this.#spatial + 1} axes`, x.describe());
    return pad(x, this.pads, { mode: this.mode, value: this.value });
  }

  protected override describeOptions(): string {
    return `[${this.pads.join(", ")}]`;
  }
}
type Pads = number | readonly number[];

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad1d. */
export class ConstantPad1d extends Pad {
  constructor(pads: Pads, value: number) {
    super(1, pads, "constant", value);
  }
}

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad2d. */
export class ConstantPad2d extends Pad {
  constructor(pads: Pads, value: number) {
    super(2, pads, "constant", value);
  }
}

/** Padding by a value: [before, behind] of the last axis, then of the one before it. Reference: torch.nn.ConstantPad3d. */
export class ConstantPad3d extends Pad {
  constructor(pads: Pads, value: number) {
    super(3, pads, "constant", value);
  }
}

/** Padding by zeros of the last axis. Reference: torch.nn.ZeroPad1d. */
export class ZeroPad1d extends Pad {
  constructor(pads: Pads) {
    super(1, pads, "constant");
  }
}

/** Padding by zeros of two axes. Reference: torch.nn.ZeroPad2d. */
export class ZeroPad2d extends Pad {
  constructor(pads: Pads) {
    super(2, pads, "constant");
  }
}

/** Padding by zeros of three axes. Reference: torch.nn.ZeroPad3d. */
export class ZeroPad3d extends Pad {
  constructor(pads: Pads) {
    super(3, pads, "constant");
  }
}

/** Padding of the last axis. Reference: torch.nn.ReflectionPad1d. */
export class ReflectionPad1d extends Pad {
  constructor(pads: Pads) {
    super(1, pads, "reflect");
  }
}

/** Padding of two axes. Reference: torch.nn.ReflectionPad2d. */
export class ReflectionPad2d extends Pad {
  constructor(pads: Pads) {
    super(2, pads, "reflect");
  }
}

/** Padding of three axes. Reference: torch.nn.ReflectionPad3d. */
export class ReflectionPad3d extends Pad {
  constructor(pads: Pads) {
    super(3, pads, "reflect");
  }
}

/** Padding of the last axis. Reference: torch.nn.ReplicationPad1d. */
export class ReplicationPad1d extends Pad {
  constructor(pads: Pads) {
    super(1, pads, "replicate");
  }
}

/** Padding of two axes. Reference: torch.nn.ReplicationPad2d. */
export class ReplicationPad2d extends Pad {
  constructor(pads: Pads) {
    super(2, pads, "replicate");
  }
}

/** Padding of three axes. Reference: torch.nn.ReplicationPad3d. */
export class ReplicationPad3d extends Pad {
  constructor(pads: Pads) {
    super(3, pads, "replicate");
  }
}

/** Padding of the last axis. Reference: torch.nn.CircularPad1d. */
export class CircularPad1d extends Pad {
  constructor(pads: Pads) {
    super(1, pads, "circular");
  }
}

/** Padding of two axes. Reference: torch.nn.CircularPad2d. */
export class CircularPad2d extends Pad {
  constructor(pads: Pads) {
    super(2, pads, "circular");
  }
}

/** Padding of three axes. Reference: torch.nn.CircularPad3d. */
export class CircularPad3d extends Pad {
  constructor(pads: Pads) {
    super(3, pads, "circular");
  }
}

export const constantPad1d = (pads: Pads, value: number): ConstantPad1d => new ConstantPad1d(pads, value);
export const constantPad2d = (pads: Pads, value: number): ConstantPad2d => new ConstantPad2d(pads, value);
export const constantPad3d = (pads: Pads, value: number): ConstantPad3d => new ConstantPad3d(pads, value);
export const zeroPad1d = (pads: Pads): ZeroPad1d => new ZeroPad1d(pads);
export const zeroPad2d = (pads: Pads): ZeroPad2d => new ZeroPad2d(pads);
export const zeroPad3d = (pads: Pads): ZeroPad3d => new ZeroPad3d(pads);
export const reflectionPad1d = (pads: Pads): ReflectionPad1d => new ReflectionPad1d(pads);
export const reflectionPad2d = (pads: Pads): ReflectionPad2d => new ReflectionPad2d(pads);
export const reflectionPad3d = (pads: Pads): ReflectionPad3d => new ReflectionPad3d(pads);
export const replicationPad1d = (pads: Pads): ReplicationPad1d => new ReplicationPad1d(pads);
export const replicationPad2d = (pads: Pads): ReplicationPad2d => new ReplicationPad2d(pads);
export const replicationPad3d = (pads: Pads): ReplicationPad3d => new ReplicationPad3d(pads);
export const circularPad1d = (pads: Pads): CircularPad1d => new CircularPad1d(pads);
export const circularPad2d = (pads: Pads): CircularPad2d => new CircularPad2d(pads);
export const circularPad3d = (pads: Pads): CircularPad3d => new CircularPad3d(pads);
