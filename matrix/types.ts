/** The types of the matrix: cells, runs, and their results. Data only. */

/** What a cell's numbers are worth as evidence. Only `hardware` is a tested GPU. */
export type Evidence = "hardware" | "software" | "simulated" | "emulated";

export type Status = "passed" | "failed" | "not run";

/** One cell of the matrix: a platform, a version of Node, a GPU. */
export interface Cell {
  /** "linux-glibc-2.31/node-20/rtx-3070" */
  readonly id: string;
  readonly platform: string;
  readonly node: string;
  readonly gpu: string;
  readonly evidence: Evidence;
  readonly mustPass: boolean;
  /** The run that decides this cell; null: not run. */
  readonly run: string | null;
  /** Why it is not run; null when it is planned. */
  readonly reason: string | null;
}

/** One execution. Cells whose device leads to the same lowerings share it. */
export interface Run {
  /** "linux-glibc-2.31/node-20/rtx-3070": that of the cell it is done as. */
  readonly id: string;
  readonly platform: string;
  readonly node: string;
  readonly device: DeviceChoice;
  readonly cells: readonly string[];
  /** What needs no Node runs too, such as the native test programs: once for a platform. */
  readonly native: boolean;
}

export type DeviceChoice =
  | { readonly kind: "software" }
  | { readonly kind: "simulated"; readonly profile: string }
  | { readonly kind: "hardware"; readonly index: number; readonly name: string }
  /** The platform's own command decides. */
  | { readonly kind: "emulated" };

export interface Plan {
  readonly suite: string;
  readonly cells: readonly Cell[];
  readonly runs: readonly Run[];
  /** Combinations that make no sense, by reason. */
  readonly leftOut: readonly { readonly platform: string; readonly gpus: readonly string[]; readonly reason: string }[];
  /** The lowerings that differ between simulated profiles of a platform. */
  readonly lowerings: readonly LoweringReport[];
}

/** How the simulated profiles of one feature level fall into groups with equal lowerings. */
export interface LoweringReport {
  readonly featureLevel: string;
  readonly groups: readonly (readonly string[])[];
  /** "gelu float16": what each group makes of it, in the order of groups. */
  readonly differences: readonly { readonly operation: string; readonly forms: readonly string[] }[];
  /** Operations asked, so that a report of no differences can be weighed. */
  readonly asked: number;
}

/** What a run reports about its environment; any value may be missing. */
export interface Facts {
  readonly [name: string]: string;
}

export interface RunResult {
  readonly id: string;
  readonly status: Status;
  /** Why it failed or was not run, in a sentence; null when it passed. */
  readonly reason: string | null;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly facts: Facts;
  readonly counts: { readonly passed: number; readonly failed: number; readonly skipped: number };
  /** Where it ran: "docker: local", "host". */
  readonly where: string;
}
