// What the process of one test file tells the one that started it, as JSON.

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
  /** What failed in addition to tests: hooks, imports, the process itself. */
  readonly broken: readonly string[];
}
