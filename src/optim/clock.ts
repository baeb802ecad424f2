/** Numbers that move on with every step, on the device: the count of steps and what follows from it. */
import type { Device } from "../device.ts";
import { dispatch, assign } from "../dispatch.ts";
import { define } from "../definition.ts";
import { assignEager } from "../runtime/assign.ts";
import { upload } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { outsideScopes } from "../scope.ts";
import { internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { tracer } from "../tracer.ts";
import { atOnce } from "./flat.ts";

/** A one-element float32 tensor that holds a JavaScript number. Made at once, also while tracing. */
export function cell(device: Device, value: number): Tensor {
  return outsideScopes(
    () => new Tensor(upload(nativeDevice(device), Float32Array.of(value), "optimizer"), internDesc(device, "float32", [])),
  );
}

/** Gives a cell another number; its buffer stays, so that recorded programs see it. */
export function setCell(target: Tensor, value: number): void {
  const next = cell(target.device, value);
  assignEager(target, next, false);
  next.dispose();
}

/** A counter becomes scale * counter + bias at each step. */
export interface Counter {
  readonly scale: number;
  readonly bias: number;
  /** Its value after so many steps. */
  at(steps: number): number;
}

/** 0, 1, 2, … */
export const steps: Counter = { scale: 1, bias: 1, at: (n) => n };

/** 1 - beta^n, by a recurrence that stays exact in float32 where the power itself would cancel. */
export const correction = (beta: number): Counter => ({ scale: beta, bias: 1 - beta, at: (n) => 1 - beta ** n });

const tickOp = define<{ readonly rules: readonly (readonly [number, number])[] }>({
  name: "optimizerStep",
  infer: (inputs) => inputs,
  lower: (g, inputs, { rules }) => inputs.map((x, i) => g.elementWiseIdentity(x, { scaleBias: rules[i]! })),
  grad: null,
});

/** The counters of parameters that have taken the same steps. */
export class Clock {
  readonly values: readonly Tensor[];

  private constructor(values: readonly Tensor[]) {
    this.values = values;
  }

  static start(device: Device, counters: readonly Counter[], stepsTaken = 0): Clock {
    return new Clock(counters.map((c) => cell(device, c.at(stepsTaken))));
  }

  /** Another clock that shows the same now. */
  copy(): Clock {
    if (tracer() === null) return new Clock(this.values.map((t) => atOnce.copy(t)));
    // In a function that is being compiled "now" is a point of its program.
    return new Clock(this.values.map((t) => assign("optimizer", cell(t.device, 0), () => t)));
  }

  tick(counters: readonly Counter[]): void {
    if (this.values.length === 0) return;
    const next = dispatch(tickOp, this.values, { rules: counters.map((c) => [c.scale, c.bias] as const) });
    this.values.forEach((t, i) => assign("optimizer", t, () => next[i]!));
  }

  dispose(): void {
    for (const t of this.values) t.dispose();
  }
}
