/**
 * The steps in which a compiled function's program is made, told on the channel "dxtensor.phase" of node:diagnostics_channel while somebody listens:
 * { name, start, end }, in milliseconds of performance.now(). Steps lie in one another; those inside are told first.
 */
import { channel } from "node:diagnostics_channel";

export type PhaseName = "trace" | "lower" | "optimize" | "fuse" | "emit" | "plan" | "pipelines" | "record";

/** What listeners get. */
export interface Phase {
  readonly name: PhaseName;
  readonly start: number;
  readonly end: number;
}

const phases = channel("dxtensor.phase");

export function inPhase<T>(name: PhaseName, fn: () => T): T {
  if (!phases.hasSubscribers) return fn();
  const start = performance.now();
  try {
    return fn();
  } finally {
    phases.publish({ name, start, end: performance.now() } satisfies Phase);
  }
}
