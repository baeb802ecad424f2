/** The machine that runs the plan, as data; host/probe.ts fills it in. */
export interface Adapter {
  /** Index in the `dml` list. */
  readonly index: number;
  readonly name: string;
}

export interface Host {
  /** process.platform */
  readonly system: string;
  readonly arch: string;
  /** "2.36"; null where there is no glibc. */
  readonly glibc: string | null;
  /** Windows' build number, also from WSL; null elsewhere. */
  readonly windowsBuild: number | null;
  /** Name of the WSL distribution that this is, null where it is none. */
  readonly distribution: string | null;
  /** Distributions that wsl.exe lists. */
  readonly distributions: readonly string[];
  /** Major versions of Node that can run on the host. */
  readonly nodes: readonly string[];
  /** Hardware adapters. */
  readonly adapters: readonly Adapter[];
  /** Names of engines that answer; empty: see engineProblem. */
  readonly engines: readonly string[];
  readonly engineProblem: string | null;
  /** npm scripts that are there. */
  readonly scripts: readonly string[];
}
