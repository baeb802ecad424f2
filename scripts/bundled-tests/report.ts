// The report of a test file's process to its parent, as JSON.

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
  readonly fellBack?: readonly { readonly operation: string; readonly reason: string; readonly calls: number }[];
  /** What failed in addition to tests: hooks, imports, the process itself. */
  readonly broken: readonly string[];
}
