/** The environment variables of a rank, as torchrun sets them. Pure. */

/** Which processes a launch starts. */
export interface LaunchPlan {
  /** Ranks on this machine. */
  readonly processes: number;
  readonly nodes: number;
  readonly nodeRank: number;
  readonly host: string;
  readonly port: number;
  /** Restarts so far, and at most. */
  readonly restart: number;
  readonly maxRestarts: number;
  /** CPUs of this machine. */
  readonly cpus: number;
}

/** The rank of a process of this machine. */
export const rankOf = ({ processes, nodeRank }: LaunchPlan, localRank: number): number => nodeRank * processes + localRank;

/** What a process gets in addition to the variables of the launcher. Threads are shared, unless the variables say how many. */
export function rankEnvironment(
  plan: LaunchPlan,
  localRank: number,
  own: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const { processes, nodes, nodeRank, host, port, restart, maxRestarts, cpus } = plan;
  const threads = own.DXTENSOR_THREADS ?? "";
  return {
    RANK: String(rankOf(plan, localRank)),
    WORLD_SIZE: String(processes * nodes),
    LOCAL_RANK: String(localRank),
    LOCAL_WORLD_SIZE: String(processes),
    GROUP_RANK: String(nodeRank),
    MASTER_ADDR: host,
    MASTER_PORT: String(port),
    TORCHELASTIC_RESTART_COUNT: String(restart),
    TORCHELASTIC_MAX_RESTARTS: String(maxRestarts),
    DXTENSOR_THREADS: threads === "" ? String(Math.max(1, Math.floor(cpus / processes))) : threads,
  };
}

/** Whole lines of pieces of text, each with a prefix; the end of the last line is held back until it comes, or until end(). */
export class PrefixedLines {
  readonly #prefix: string;
  readonly #write: (text: string) => void;
  #rest = "";

  constructor(prefix: string, write: (text: string) => void) {
    this.#prefix = prefix;
    this.#write = write;
  }

  /** Takes a piece. */
  add(piece: string): void {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop()!;
    if (lines.length > 0) this.#write(lines.map((line) => `${this.#prefix}${line}\n`).join(""));
  }

  /** Writes what is held back. */
  end(): void {
    if (this.#rest !== "") this.#write(`${this.#prefix}${this.#rest}\n`);
    this.#rest = "";
  }
}
