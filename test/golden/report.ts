/** Runs a folder of recorded cases and counts the outcomes. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as dx from "../../src/index.ts";
import { clearScalars } from "../../src/runtime/constants.ts";
import { readCases, readIndex, type OpEntry } from "./cases.ts";
import { runCase, type Mode, type Outcome } from "./run.ts";
import { readTrace, runTrace, traceFiles } from "./traces.ts";

export interface Report {
  readonly device: string;
  readonly mode: Mode;
  readonly passed: number;
  readonly failed: number;
  readonly missing: number;
  readonly outOfScope: number;
  /** passed / (passed + failed + missing). */
  readonly share: number;
  /** Of the cases passed. */
  readonly gradients: number;
  readonly inPlace: number;
  readonly ways: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
  /** What does not exist, with its number of cases. */
  readonly missingByReason: Readonly<Record<string, number>>;
  /** The way of each case that passed. */
  readonly passes: Readonly<Record<string, string>>;
}

export interface Selection {
  /** Operations to run: all by default. */
  readonly ops?: ((op: string) => boolean) | undefined;
  readonly onOp?: ((op: string, outcomes: readonly Outcome[]) => void) | undefined;
}

/** Refused calls bring no parameter names: those of the longest good call serve. */
export function runOp(folder: string, entry: OpEntry, mode: Mode): Outcome[] {
  const cases = readCases(join(folder, entry.file.startsWith("cases/") ? entry.file : join("cases", entry.file)));
  const names = cases.reduce<readonly string[]>((best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best), []);
  return cases.map((c) => runCase(c, names, mode));
}

/** Every outcome of a folder (index.json, cases/, traces/) on the default device. */
export function runFolder(folder: string, mode: Mode, { ops = () => true, onOp }: Selection = {}): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const entry of readIndex(folder).filter((e) => ops(e.op))) {
    const found = runOp(folder, entry, mode);
    onOp?.(entry.op, found);
    outcomes.push(...found);
  }
  clearScalars();
  const traces = join(folder, "traces");
  if (existsSync(traces) && ops("traces"))
    for (const file of traceFiles(traces)) outcomes.push(runTrace(readTrace(join(traces, file)), mode));
  return outcomes;
}

function tally(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const k of keys) counts[k] = (counts[k] ?? 0) + 1;
  return counts;
}

export function reportOf(outcomes: readonly Outcome[], mode: Mode): Report {
  const of = (result: Outcome["result"]): readonly Outcome[] => outcomes.filter((o) => o.result === result);
  const passed = of("passed");
  const asked = outcomes.length - of("outOfScope").length;
  return {
    device: String(dx.defaultDevice()),
    mode,
    passed: passed.length,
    failed: of("failed").length,
    missing: of("missing").length,
    outOfScope: of("outOfScope").length,
    share: asked === 0 ? 1 : passed.length / asked,
    gradients: passed.filter((o) => o.gradients === true).length,
    inPlace: passed.filter((o) => o.inPlace === true).length,
    ways: tally(passed.map((o) => o.way ?? "refused")),
    failures: of("failed").map((o) => ({ id: o.id, reason: o.reason! })),
    missingByReason: tally(of("missing").map((o) => o.reason!)),
    passes: Object.fromEntries(passed.map((o) => [o.id, o.way ?? "refused"])),
  };
}
