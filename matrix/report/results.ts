/** Cells with their results, from a run's record. Pure. */
import type { RunRecord } from "../run/store.ts";
import type { Cell, Run, RunResult, Status } from "../types.ts";

export interface CellResult {
  readonly cell: Cell;
  readonly run: Run | null;
  readonly result: RunResult | null;
  readonly status: Status;
  /** Why it failed or was not run. */
  readonly reason: string | null;
}

export function cellResults({ plan, results }: RunRecord): CellResult[] {
  return plan.cells.map((cell) => {
    const run = plan.runs.find(({ id }) => id === cell.run) ?? null;
    const result = results.find(({ id }) => id === cell.run) ?? null;
    const status = result?.status ?? "not run";
    const reason = result === null ? (cell.reason ?? "it was not begun") : result.reason;
    return { cell, run, result, status, reason };
  });
}

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly notRun: number;
  /** Failed cells that had to pass. */
  readonly fatal: readonly string[];
}

export function summarize(cells: readonly CellResult[]): Summary {
  const count = (status: Status): number => cells.filter((c) => c.status === status).length;
  return {
    passed: count("passed"),
    failed: count("failed"),
    notRun: count("not run"),
    fatal: cells.filter((c) => c.status === "failed" && c.cell.mustPass).map((c) => c.cell.id),
  };
}

/** 0 when something passed and nothing failed that had to pass. */
export const exitStatus = (summary: Summary): number => (summary.fatal.length === 0 && summary.passed > 0 ? 0 : 1);

/** "simulated as rx-580", for whoever reads one cell. */
export function evidenceText({ cell, run }: CellResult): string {
  if (run?.device.kind === "simulated") return `simulated${run.device.profile === cell.gpu ? "" : `, run as ${run.device.profile}`}`;
  if (run?.device.kind === "hardware") return `hardware: ${run.device.name}`;
  return cell.evidence;
}
