/** What a function of tensors asks for, without running it: for what needs a program's operations elsewhere than on a device. */
import { noGrad } from "../autograd/grad-mode.ts";
import { Journal, withJournal } from "../core/journal.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { CallArguments, Placeholders } from "./arguments.ts";
import { allEvents, pathTo, renew, Step, type Event, type Region, type Rewrite } from "./log.ts";
import { operand, type Operand } from "./operand.ts";
import { newRecorded } from "./recorder.ts";
import { Run } from "./trace.ts";

/** @internal One run of a function on traced tensors. */
export interface Capture<T> {
  readonly events: readonly Exclude<Event, Region | Rewrite>[];
  /** What stands for each argument. */
  readonly inputs: readonly Operand[];
  readonly result: T;
}

/** @internal Runs fn on traced tensors in place of args, which are packed tensors of their own. `take` gets its result while the trace is alive. */
export function capture<R, T>(name: string, fn: (...args: Tensor[]) => R, args: readonly Tensor[], take: (result: R) => T): Capture<T> {
  const recorded = newRecorded(name, "each step is an event of its own");
  const callArgs = new CallArguments(args, () => false, "any");
  const placeholders = new Placeholders(callArgs, recorded);
  renew();
  placeholders.begin(callArgs.tensors);
  const run = new Run(recorded, new Step(null, null), placeholders, callArgs.tensors);
  const inner = args.map((t) => placeholders.of(t, callArgs));
  const journal = new Journal();
  try {
    const result = withTracer(run, () => withJournal(journal, () => outsideScopes(() => noGrad(() => take(fn(...inner))))));
    if (run.abandoned !== null) throw run.abandoned;
    return { events: [...allEvents(pathTo(run.at))], inputs: inner.map((t) => operand(t)), result };
  } finally {
    run.outside.undo(true);
    journal.swap();
    renew();
  }
}
