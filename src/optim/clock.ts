/** Numbers that move on with every step, on the device: the count of steps and what follows from it. */
import type { Device } from "../core/device.ts";
import { dispatch, assign } from "../dispatch/dispatch.ts";
import { define } from "../core/definition.ts";
import type { Expr } from "../graph/graph.ts";
import { sameData } from "../graph/key.ts";
import type { Restore } from "../core/journal.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import { emitExpm1, emitLog1p } from "../ops/elementwise/unary.ts";
import { assignEager } from "../runtime/assign.ts";
import { upload } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { ordinary } from "../core/inference.ts";
import { outsideScopes } from "../core/scope.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer, withTracer } from "../core/tracer.ts";
import { atOnce } from "./flat.ts";

/** A one-element float32 tensor that holds a JavaScript number. Made at once, also while tracing. */
export function scalarBuffer(device: Device, value: number): Tensor {
  return outsideScopes(() =>
    ordinary(() => new Tensor(upload(nativeDevice(device), Float32Array.of(value), "optimizer"), internDesc(device, "float32", []))),
  );
}

/** Gives a scalar tensor another value; its buffer stays, so that recorded programs see it. */
export function writeScalar(target: Tensor, value: number): void {
  const next = scalarBuffer(target.device, value);
  assignEager(target, next, false);
  next.dispose();
}

/** What a counter sees: the steps taken (with this one), the values before, and the rates of the group. */
export interface Moment {
  readonly steps: Expr;
  readonly values: readonly Expr[];
  readonly rates: readonly Expr[];
}

/** A number that follows from the steps taken. */
export interface Counter {
  /** In state dicts, by PyTorch's name where it has one. A state without it has what follows from the steps. */
  readonly name: string;
  /** Its value after so many steps at the given rates. */
  start(steps: number, rates: readonly number[]): number;
  /** Its value after one more step. */
  next(f: Formula, before: Expr, moment: Moment): Expr;
  /** Its value for the present rates, if they have changed. */
  recount?(f: Formula, moment: Moment): Expr;
}

/** 0, 1, 2, … */
export const steps: Counter = { name: "step", start: (n) => n, next: (f, x) => f.add(x, 1) };

/** The logarithm of a decay; a large negative number for 0, which times 0 steps is 0. */
export const logOf = (beta: number): number => Math.max(Math.log(beta), MINIMUM);
const MINIMUM = -1e4;

/**
 * 1 - beta^n, by a recurrence that stays exact in float32 where the power itself would cancel. State dicts have it in addition to PyTorch's entries:
 * it has the recurrence's roundings, and a training that resumes from a file must match to the last bit.
 */
export const correction = (beta: number): Counter => ({
  name: "correction2",
  start: (n) => 1 - beta ** n,
  next: (f, x) => f.affine(x, beta, 1 - beta),
  recount: (f, { steps: n }) => f.neg(emitExpm1(f.g, f.mul(n, logOf(beta)))),
});

/** 1 - beta^n for a beta that may change between steps: rates[1] is beta, rates[2] is 1 - beta. */
export const cycledCorrection: Counter = {
  name: "correction1",
  start: (n, rates) => 1 - rates[1]! ** n,
  next: (f, x, { rates }) => f.add(f.mul(x, rates[1]!), rates[2]!),
  recount: (f, { steps: n, rates }) => f.neg(emitExpm1(f.g, f.mul(n, f.max(emitLog1p(f.g, f.neg(rates[2]!)), MINIMUM)))),
};

/** The counters of an optimizer under its options, as operations. */
export interface ClockRule {
  readonly counters: (fixed: object) => readonly Counter[];
  readonly tick: (values: readonly Tensor[], rates: readonly Tensor[], fixed: object) => Tensor[];
  readonly recount: (values: readonly Tensor[], rates: readonly Tensor[], fixed: object) => Tensor[];
}

export function clockRule<F extends object>(name: string, counters: (fixed: F) => readonly Counter[]): ClockRule {
  const moved = (kind: string, move: (c: Counter, f: Formula, before: Expr, moment: Moment) => Expr) =>
    define<object>({
      name: `${name}${kind}`,
      infer: (inputs, fixed) => inputs.slice(0, counters(fixed as F).length),
      lower: (g, inputs, fixed) => {
        const f = new Formula(g, "float32", [1]);
        const list = counters(fixed as F);
        const values = inputs.slice(0, list.length);
        const taken = kind === "Step" ? f.add(values[0]!, 1) : values[0]!;
        const moment = { steps: taken, values, rates: inputs.slice(list.length) };
        return list.map((c, i) => (i === 0 ? taken : move(c, f, values[i]!, moment)));
      },
      grad: null,
    });
  const tickOp = moved("Step", (c, f, before, moment) => c.next(f, before, moment));
  const recountOp = moved("Recount", (c, f, before, moment) => c.recount?.(f, moment) ?? f.g.elementWiseIdentity(before));
  return {
    counters: (fixed) => counters(fixed as F),
    tick: (values, rates, fixed) => dispatch(tickOp, [...values, ...rates], fixed),
    recount: (values, rates, fixed) => dispatch(recountOp, [...values, ...rates], fixed),
  };
}

/** For which rates and options counters hold. */
export interface Counted {
  /** The first, the learning rate, does not matter. */
  readonly rates: readonly number[];
  readonly fixed: object;
}

/** The counters of parameters that have taken the same steps. */
export class Clock {
  readonly values: readonly Tensor[];
  counted: Counted;
  /** The trace that has moved them on last: their buffers do not hold it before its program has run. 0: none. */
  movedBy = 0;

  private constructor(values: readonly Tensor[], counted: Counted) {
    this.values = values;
    this.counted = counted;
  }

  /** The counters after so many steps; `known`: values that do not follow from them. */
  static start(device: Device, rule: ClockRule, counted: Counted, stepsTaken = 0, known: Readonly<Record<string, number>> = {}): Clock {
    const value = (c: Counter): number => (c === steps ? undefined : known[c.name]) ?? c.start(stepsTaken, counted.rates);
    return new Clock(
      rule.counters(counted.fixed).map((c) => scalarBuffer(device, value(c))),
      counted,
    );
  }

  /** Another clock that shows the same now. */
  copy(): Clock {
    if (tracer() === null)
      return new Clock(
        this.values.map((t) => atOnce.copy(t)),
        this.counted,
      );
    // In a function that is being compiled "now" is a point of its program.
    const next = new Clock(
      this.values.map((t) => assign("optimizer", scalarBuffer(t.device, 0), () => t)),
      this.counted,
    );
    next.movedBy = tracer()!.id;
    return next;
  }

  /** Whether some of the counters have to be counted again, since rates or options are others than those that they hold for. */
  isStale(rule: ClockRule, { rates, fixed }: Counted): boolean {
    const { counted } = this;
    let isSame = counted.rates.length === rates.length;
    for (let i = 1; isSame && i < rates.length; i++) isSame = counted.rates[i] === rates[i];
    if (isSame && sameData(counted.fixed, fixed)) return false;
    return rule.counters(fixed).some((c) => c.recount !== undefined);
  }

  /** Brings counters that are stale up to date, at once. */
  settle(rule: ClockRule, rates: readonly Tensor[], counted: Counted): void {
    const next = outsideScopes(() => withTracer(null, () => rule.recount(this.values, rates, counted.fixed)));
    this.#take(next);
    for (const t of next) t.dispose();
    this.counted = counted;
  }

  #take(next: readonly Tensor[]): void {
    this.values.forEach((t, i) => {
      assignEager(t, next[i]!, false);
    });
  }

  /** Remembers the counters as they are, bit for bit. */
  save(): Restore {
    const [values, counted] = [this.values.map((t) => atOnce.copy(t)), this.counted];
    return () => {
      this.#take(values);
      for (const t of values) t.dispose();
      this.counted = counted;
    };
  }

  dispose(): void {
    for (const t of this.values) t.dispose();
  }
}
