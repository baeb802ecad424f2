// The report of a test file's process to its parent, as JSON.
import type { FallenBack } from "./fallbacks.ts";

export interface TestResult {
  readonly name: string;
  readonly suites: readonly string[];
  readonly status: "passed" | "failed" | "skipped" | "pending" | "other";
  /** In milliseconds. */
  readonly duration: number;
  readonly message?: string;
  readonly trace?: string;
}

export interface Report {
  readonly isComplete: boolean;
  readonly tests: readonly TestResult[];
  /** What ran on the software adapter instead of the device; with how many calls, as far as tests did not reset the counts. */
  readonly fellBack?: readonly FallenBack[];
  /** What failed in addition to tests: hooks, imports, the process itself. */
  readonly broken: readonly string[];
}
