/** From a run's record to its outcome: passed, or the error and its position. */
import * as dx from "../../src/index.ts";
import { isGradient, type Program, type Statement } from "./language.ts";
import { Missing, MissingState, type Machine } from "./machine.ts";
import { difference, toleranceFor } from "./values.ts";

export interface Outcome {
  readonly result: "pass" | "fail" | "refusal-mismatch" | "missing" | "skipped";
  /** The sort of failure. */
  readonly what?: string;
  /** The operation concerned, or the sort of refusal. */
  readonly kind?: string | undefined;
  readonly message?: string;
  /** The entry of `out` that differs. */
  readonly out?: string;
  readonly at?: number | undefined;
  readonly expected?: unknown;
  readonly got?: unknown;
  /** Which call of a compiled function, from 0. */
  readonly call?: number | undefined;
  /** It was refused, as it has to be, but at another statement. */
  readonly isElsewhere?: boolean;
}

export const passed: Outcome = { result: "pass" };

/** The operation that made or last changed an entry of `out`. */
function makerOf(p: Program, out: string): string {
  if (isGradient(out)) return "grad";
  let found = "leaf";
  const visit = (body: readonly Statement[]): void => {
    for (const s of body) {
      const isMade = s.r === out.slice(1) || (Array.isArray(s.r) && s.r.includes(out.slice(1)));
      const isChanged = s.a?.[0] === out && (s.o.endsWith("_") || s.o === "set") && s.o !== "requiresGrad_";
      if (isMade || isChanged) found = s.o;
      if (s.body) visit(s.body);
    }
  };
  visit(p.body);
  return found;
}

function statementAt(p: Program, path: readonly number[]): Statement | undefined {
  let body = p.body;
  let found: Statement | undefined;
  for (const i of path) {
    found = body[i];
    body = found?.body ?? [];
  }
  return found;
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return `${error.name}: ${error.message.split("\n")[0]!.slice(0, 240)}`;
}

/** What a run that threw means. path: where it was, empty for outside of the program. */
export function judgeThrown(p: Program, error: unknown, path: readonly number[], call?: number): Outcome {
  const kind = statementAt(p, path)?.o;
  const at = path[0];
  if (error instanceof Missing || error instanceof dx.UnsupportedError) return { result: "missing", what: error.message, call };
  if (error instanceof MissingState) return { result: "fail", what: "state", kind, message: messageOf(error), at, call };
  const message = messageOf(error);
  if (p.expect.refused === undefined) return { result: "refusal-mismatch", what: "library refuses", message, kind, at, call };
  if (!(error instanceof dx.DxError)) return { result: "fail", what: "raw error", message, kind, at, call };
  return at === p.expect.refused.at ? passed : { ...passed, isElsewhere: true, message };
}

/** Compares every entry of `out`; find gives the value of one. */
export function judgeValues(p: Program, find: Machine["result"], { isFlagged, call }: { isFlagged: boolean; call?: number }): Outcome {
  if (p.expect.refused !== undefined) return { result: "refusal-mismatch", what: "library accepts", kind: p.expect.refused.kind, call };
  const tolerance = toleranceFor(p);
  for (const out of p.out) {
    const kind = makerOf(p, out);
    try {
      const found = difference(p.expect.ok[out]!, find(out), tolerance, isFlagged);
      if (found !== null) return { result: "fail", out, kind, ...found, call };
    } catch (error) {
      return { result: "fail", what: "read", out, kind, message: messageOf(error), call };
    }
  }
  return passed;
}

/** One line for failures of the same sort. */
export function sortOf(o: Outcome): string {
  const message = o.message
    ?.replaceAll(/\[[^\]]*\]/g, "[…]")
    .replaceAll(/float(16|32)/g, "float")
    .replaceAll(/\d+/g, "N")
    .slice(0, 150);
  const end = `${o.call ? `, call ${o.call + 1}` : ""}${message === undefined ? "" : ` — ${message}`}`;
  if (o.result === "refusal-mismatch") return `${o.what}: ${o.kind ?? ""}${end}`;
  return `${o.what}${o.out !== undefined && isGradient(o.out) ? " of a gradient" : ""} (${o.kind ?? ""})${end}`;
}
