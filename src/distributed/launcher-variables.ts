/** What the program that starts processes tells each of them: its variables, by program. Pure. */

type Variables = Readonly<Record<string, string | undefined>>;

/** @internal A process of several that were started together. */
export interface LaunchedRank {
  /** Who started it, for errors. */
  readonly launcher: string;
  readonly rank: number;
  readonly size: number;
  /** The rank among those of this machine; null where it is not told. */
  readonly localRank: number | null;
  /** Whether MPI can join what was started. */
  readonly hasMpi: boolean;
}

/** The integer of a variable; null where it is none. */
const integerOf = (text: string | undefined): number | null => (text !== undefined && /^\d+$/.test(text) ? Number(text) : null);

const LAUNCHERS: readonly (readonly [launcher: string, rank: string, size: string, localRank: string])[] = [
  ["mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
  ["srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"],
  ["mpiexec of MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
];

/** @internal By which of Open MPI's mpirun, Slurm's srun and MPICH's mpiexec this process was started; null: by none of them. */
export function launchedRank(env: Variables): LaunchedRank | null {
  for (const [launcher, rank, size, localRank] of LAUNCHERS) {
    const [own, all] = [integerOf(env[rank]), integerOf(env[size])];
    if (own === null || all === null) continue;
    // Slurm starts programs of MPI only where it is told which interface they have: --mpi=pmix, --mpi=pmi2.
    const hasMpi = launcher !== "srun" || env["PMIX_RANK"] !== undefined || env["PMI_RANK"] !== undefined;
    return { launcher, rank: own, size: all, localRank: integerOf(env[localRank]), hasMpi };
  }
  return null;
}

/** @internal The engine where none is named: MPI where MPI's launcher started the process, Gloo else. RANK, which `dxtensor launch` sets, goes before. */
export const defaultBackend = (env: Variables): "gloo" | "mpi" =>
  (env["RANK"] ?? "") === "" && launchedRank(env)?.hasMpi === true ? "mpi" : "gloo";
