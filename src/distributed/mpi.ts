/** The MPI library of this machine: which file it is, and its start. */
import { DistributedError } from "../core/errors.ts";
import type { Gloo } from "./gloo.ts";

/** @internal A library of MPI. */
export interface MpiLibrary {
  readonly file: string;
  /** Whose types it has. */
  readonly abi: "openmpi" | "mpich";
  /** "Open MPI v4.1.4", "MPICH 4.0.2". */
  readonly version: string;
}

/** @internal This process among those that MPI knows. */
export interface MpiProcess {
  readonly rank: number;
  readonly size: number;
}

const OPEN_MPI = ["libmpi.so.40", "libmpi.so.80"];
const MPICH = ["libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12"];

/** @internal Libraries to try, in order: DXTENSOR_MPI alone, else that of the launcher first. */
export function mpiFiles(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const explicit = env["DXTENSOR_MPI"] ?? "";
  if (explicit !== "") return [explicit];
  const isMpich = env["OMPI_COMM_WORLD_RANK"] === undefined && env["PMIX_RANK"] === undefined && env["PMI_RANK"] !== undefined;
  return isMpich ? [...MPICH, ...OPEN_MPI] : [...OPEN_MPI, ...MPICH];
}

/** @internal The first words of what a library says of itself. */
export const shortVersion = (text: string): string =>
  text
    .split(/[,\n]/, 1)[0]!
    .replace(/Version:/, "")
    .replaceAll(/\s+/g, " ")
    .trim();

const failed = (operation: string, reason: "engine" | "rendezvous", problem: string, cause?: unknown): DistributedError =>
  new DistributedError(operation, { reason, rank: -1, peer: null, group: "world", sequence: 0 }, problem, { cause });

/** @internal Loads the library. Throws DistributedError where there is none. */
export function loadMpi(operation: string, addon: Gloo): MpiLibrary {
  const files = mpiFiles(process.env);
  try {
    const { file, abi, version } = addon.loadMpi(files);
    return { file, abi, version: shortVersion(version) };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw failed(
      operation,
      "engine",
      `no MPI was loaded of ${files.join(", ")}: ${text}. Install Open MPI or MPICH, or name the library in DXTENSOR_MPI.`,
      error,
    );
  }
}

const POLL_MS = 2;

/** @internal Starts MPI in this process, once. Rejects with DistributedError where it does not start in time. */
export async function startMpi(operation: string, addon: Gloo, { version }: MpiLibrary, timeoutMs: number): Promise<MpiProcess> {
  const end = performance.now() + timeoutMs;
  for (;;) {
    const state = addon.startMpi();
    if (state !== null) {
      if (state.problem !== "") throw failed(operation, "engine", `${version}: ${state.problem}`);
      return state;
    }
    if (performance.now() >= end) throw failed(operation, "rendezvous", `${version}: MPI did not start within ${timeoutMs} ms`);
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
