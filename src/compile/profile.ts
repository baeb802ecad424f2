/** profileSync(): the device's time of each dispatch of a compiled program. */
import { kernelsOf, nodesText, operatorName, type ExplainedKernel } from "./kernels.ts";
import type { CompiledProgram } from "./program.ts";
import { Schedule, programsOf, type Executable } from "./schedule.ts";

/** A kernel with the time that it took. */
export interface ProfiledKernel extends ExplainedKernel {
  readonly microseconds: number;
}

/** A dispatch of a program with the device's time for it. */
export interface ProfiledDispatch {
  /** DirectML's operator; "graph of N nodes" where a region is compiled as a whole. */
  readonly operator: string;
  /** The operation and the line that asked for it; empty for a region. */
  readonly origin: string;
  /** The device's time, in microseconds. */
  readonly microseconds: number;
  /** What ran inside a region on the software adapter, in the order of execution; empty for one operator, and on other devices. */
  readonly kernels: readonly ProfiledKernel[];
}

/** The device's time of one call of a compiled function, dispatch by dispatch. */
export interface Profile {
  /** The function's name. */
  readonly name: string;
  /** The device that was measured. */
  readonly device: string;
  /** In the order of execution. */
  readonly dispatches: readonly ProfiledDispatch[];
  /** The sum over the dispatches, which run alone here; a replay overlaps some of them. */
  readonly microseconds: number;
  /** Dispatches of one operator and origin together, and the kernels of each region so, the dearest first. */
  toString(): string;
}

interface Row {
  readonly count: number;
  readonly microseconds: number;
}

/** A line for each key, the dearest first. */
function lines(costs: readonly { key: string; microseconds: number }[], whole: number, indent: string): string[] {
  const rows = new Map<string, Row>();
  for (const { key, microseconds } of costs) {
    const row = rows.get(key) ?? { count: 0, microseconds: 0 };
    rows.set(key, { count: row.count + 1, microseconds: row.microseconds + microseconds });
  }
  return [...rows]
    .sort(([, a], [, b]) => b.microseconds - a.microseconds)
    .map(
      ([key, row]) =>
        `${indent}${row.microseconds.toFixed(1).padStart(10)} us ${((100 * row.microseconds) / whole).toFixed(1).padStart(5)} % ${`${row.count}x`.padStart(5)}  ${key}`,
    );
}

/** All steps of a loop together. */
const inLoop = (d: ProfiledDispatch, steps: number): ProfiledDispatch => ({
  ...d,
  operator: `${d.operator}, ${steps} times`,
  microseconds: d.microseconds * steps,
  kernels: d.kernels.map((k) => ({ ...k, microseconds: k.microseconds * steps })),
});

/** A program's dispatches with their times. */
function dispatchesOf(program: CompiledProgram, isPart: boolean): ProfiledDispatch[] {
  const { description } = program;
  const times = program.profile(isPart);
  const kernels = kernelsOf(program, times.kernels, true) as ProfiledKernel[][];
  const steps = description.steps.flatMap((s) => ("dispatch" in s ? [s] : []));
  return steps.map((step, i): ProfiledDispatch => {
    const made = description.dispatchables[step.dispatch]!;
    const operator =
      "call" in made
        ? made.call.operation
        : "shader" in made
          ? "SHADER"
          : "nodes" in made
            ? `graph of ${made.nodes.length} nodes`
            : operatorName(made.type);
    return { operator, origin: step.origin ?? "", microseconds: times.seconds[i]! * 1e6, kernels: kernels[i]! };
  });
}

export function profile(name: string, executable: Executable): Profile {
  const programs = programsOf(executable);
  const isPart = executable instanceof Schedule;
  // What such a program was called with may be gone, so it must not write.
  const timed = programs.filter(({ program }) => !isPart || (program.state.length === 0 && program.written.length === 0));
  const dispatches = timed.flatMap(({ program, loops }) => {
    const count = loops.reduce((n, { steps }) => n * steps, 1);
    const own = dispatchesOf(program, isPart);
    return count === 1 ? own : own.map((d) => inLoop(d, count));
  });
  const microseconds = dispatches.reduce((sum, d) => sum + d.microseconds, 0);
  const device = `${executable.native.device} (${executable.native.adapter.name})`;
  return {
    name,
    device,
    dispatches,
    microseconds,
    toString() {
      const of = (key: string, origin: string, { microseconds: cost }: { microseconds: number }) => ({
        key: `${key.padEnd(36)} ${origin}`,
        microseconds: cost,
      });
      const regions = dispatches.flatMap((d) =>
        d.kernels.length === 0
          ? []
          : [
              `  inside the ${d.operator}, ${d.kernels.length} kernels:`,
              ...lines(
                d.kernels.map((k) => of(k.kernel, nodesText(k), k)),
                d.microseconds,
                "  ",
              ),
            ],
      );
      return [
        `${name} on ${device}: ${microseconds.toFixed(1)} us in ${dispatches.length} dispatches, each alone`,
        ...lines(
          dispatches.map((d) => of(d.operator, d.origin, d)),
          microseconds,
          "",
        ),
        ...regions,
      ].join("\n");
    },
  };
}
