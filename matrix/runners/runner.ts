/** The interface of a runner: its input and its result. */
import type { Config, Platform } from "../config/schema.ts";
import type { Owner } from "../run/owner.ts";
import type { Sources } from "../run/sources.ts";
import type { Run } from "../types.ts";

export interface RunContext {
  readonly run: Run;
  readonly platform: Platform;
  readonly config: Config;
  readonly sources: Sources;
  /** Test files. */
  readonly tests: readonly string[];
  /** Where ctrf.json and facts.json belong. */
  readonly out: string;
  readonly owner: Owner;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly buildMs: number;
  onLine(line: string): void;
}

export interface Outcome {
  readonly status: "passed" | "failed" | "not run";
  readonly reason: string | null;
  readonly where: string;
}

export const passed = (where: string): Outcome => ({ status: "passed", reason: null, where });
export const failed = (where: string, reason: string): Outcome => ({ status: "failed", reason, where });
