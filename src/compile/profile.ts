/** Where a compiled program's time goes on the device. */
import { OPERATORS } from "../dml/operators.generated.ts";
import type { CompiledProgram } from "./program.ts";

export interface ProfiledDispatch {
  /** DirectML's operator; "graph of N nodes" where a region is compiled as a whole. */
  readonly operator: string;
  /** The operation and the line that asked for it; empty for a region. */
  readonly origin: string;
  readonly microseconds: number;
}

export interface Profile {
  readonly name: string;
  readonly device: string;
  /** In the order of execution. */
  readonly dispatches: readonly ProfiledDispatch[];
  /** The sum over the dispatches, which run alone here; a replay overlaps some of them. */
  readonly microseconds: number;
  /** Dispatches of one operator and origin together, the dearest first. */
  toString(): string;
}

const names = new Map(Object.values(OPERATORS).map(({ type, name }) => [type, name as string]));

export function profile(name: string, program: CompiledProgram): Profile {
  const { description } = program;
  const seconds = program.profile();
  const steps = description.steps.flatMap((s) => ("dispatch" in s ? [s] : []));
  const dispatches = steps.map((step, i): ProfiledDispatch => {
    const made = description.dispatchables[step.dispatch]!;
    const operator =
      "shader" in made ? "SHADER" : "nodes" in made ? `graph of ${made.nodes.length} nodes` : (names.get(made.type) ?? `type ${made.type}`);
    return { operator, origin: step.origin ?? "", microseconds: seconds[i]! * 1e6 };
  });
  const microseconds = dispatches.reduce((sum, d) => sum + d.microseconds, 0);
  const device = `${program.native.device} (${program.native.adapter.name})`;
  return {
    name,
    device,
    dispatches,
    microseconds,
    toString() {
      const rows = new Map<string, { count: number; microseconds: number }>();
      for (const d of dispatches) {
        const key = `${d.operator.padEnd(36)} ${d.origin}`;
        const row = rows.get(key) ?? { count: 0, microseconds: 0 };
        rows.set(key, { count: row.count + 1, microseconds: row.microseconds + d.microseconds });
      }
      const lines = [...rows]
        .sort(([, a], [, b]) => b.microseconds - a.microseconds)
        .map(
          ([key, row]) =>
            `${row.microseconds.toFixed(1).padStart(10)} us ${((100 * row.microseconds) / microseconds).toFixed(1).padStart(5)} % ${`${row.count}x`.padStart(5)}  ${key}`,
        );
      return [`${name} on ${device}: ${microseconds.toFixed(1)} us in ${dispatches.length} dispatches, each alone`, ...lines].join("\n");
    },
  };
}
