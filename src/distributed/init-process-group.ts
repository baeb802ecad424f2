/** The process group of all ranks, and groups of some of them. */
import { DistributedError, ValueError } from "../core/errors.ts";
import { setProcessRanks } from "../core/process-ranks.ts";
import { hasGloo, loadGloo, type Gloo } from "./gloo.ts";
import { ranksOf } from "./group-ranks.ts";
import { defaultBackend, launchedRank } from "./launcher-variables.ts";
import { loadMpi, startMpi } from "./mpi.ts";
import { ProcessGroup, type World } from "./process-group.ts";
import type { Store } from "./rendezvous-store.ts";
import { tcpStore } from "./tcp-store.ts";

/** Options of initProcessGroup(). */
export interface InitProcessGroupOptions {
  /**
   * The engine. "mpi" is the MPI library of the machine, for processes that its launcher started. Default: "mpi" under Open MPI's mpirun, MPICH's mpiexec,
   * and srun with --mpi, where neither rank nor store is given; else "gloo".
   */
  readonly backend?: "gloo" | "mpi" | undefined;
  /** This process's rank, from 0 to worldSize - 1. Default: the environment variable RANK, else what mpirun, mpiexec or srun tell. MPI: its own. */
  readonly rank?: number | undefined;
  /** The number of ranks. Default: WORLD_SIZE, else as of rank. */
  readonly worldSize?: number | undefined;
  /**
   * By what the ranks find each other: fileStore() or tcpStore(), or an object with their functions. Default: a store over TCP that rank 0 serves at
   * MASTER_ADDR and MASTER_PORT. The group closes it. MPI needs none.
   */
  readonly store?: Store | undefined;
  /** How long a call waits for the other ranks, in milliseconds. Default: 1,800,000. */
  readonly timeoutMs?: number | undefined;
  /** The address at which the other ranks reach this one. Default: that from which the store is reached, else 127.0.0.1. */
  readonly host?: string | undefined;
  /** The network interface by which they reach it, in place of host. Default: GLOO_SOCKET_IFNAME. */
  readonly interface?: string | undefined;
  /**
   * Whether each call first compares operation, reduction, dtype, shape and order with the other ranks: a message more for each call. Default:
   * DXTENSOR_DISTRIBUTED_DEBUG.
   */
  readonly debug?: boolean | undefined;
}

/** Options of newGroup(). */
export interface NewGroupOptions {
  /** How long a call waits for the other ranks, in milliseconds. Default: that of the group of all. */
  readonly timeoutMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 1_800_000;

let world: { readonly shared: World; readonly group: ProcessGroup; readonly groups: ProcessGroup[]; made: number } | null = null;
let isStarting = false;

/** How often this process has joined: part of MPI's numbers of groups. */
let joined = 0;
const GROUPS = 4096;

/** An integer of an option, of a variable, or of what the launcher tells. */
function integer(option: string, value: number | undefined, variable: string, min: number, told: number | null = null): number {
  if (value !== undefined) {
    if (!Number.isSafeInteger(value) || value < min)
      throw new ValueError("initProcessGroup", option, `an integer of at least ${min}`, value);
    return value;
  }
  const text = process.env[variable];
  if ((text === undefined || text === "") && told !== null) return told;
  if (text === undefined || text === "")
    throw new ValueError(
      "initProcessGroup",
      option,
      `given, since the environment variable ${variable} is not set`,
      undefined,
      launchedRank(process.env)?.launcher === "srun"
        ? "srun --mpi=pmix starts ranks of MPI. For Gloo, export MASTER_ADDR and MASTER_PORT, or let srun start npx dxtensor launch."
        : "npx dxtensor launch -n 2 train.js sets it.",
    );
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < min) throw new ValueError("environment", variable, `an integer of at least ${min}`, text);
  return number;
}

function requireTimeout(operation: string, ms: number): number {
  if (!Number.isFinite(ms) || ms < 1 || ms > 0x7fffffff) throw new ValueError(operation, "timeoutMs", "from 1 to 2147483647", ms);
  return Math.ceil(ms);
}

function isDebugByDefault(): boolean {
  const text = process.env.DXTENSOR_DISTRIBUTED_DEBUG ?? "";
  return text !== "" && !["0", "false", "no", "off"].includes(text.toLowerCase());
}

const OPERATION = "initProcessGroup";

interface Joined {
  readonly shared: World;
  readonly worldSize: number;
}

/** What is known when joining fails. */
interface Joining {
  rank: number;
  store: Store | null;
}

async function joinGloo(options: InitProcessGroupOptions, timeoutMs: number, joining: Joining): Promise<Joined> {
  const { debug = isDebugByDefault() } = options;
  const told = launchedRank(process.env);
  const worldSize = integer("worldSize", options.worldSize, "WORLD_SIZE", 1, told?.size);
  const rank = integer("rank", options.rank, "RANK", 0, told?.rank);
  if (rank >= worldSize) throw new ValueError(OPERATION, "rank", `in [0, ${worldSize})`, rank);
  const gloo = loadGloo(OPERATION);
  joining.rank = rank;
  joining.store = options.store ?? null;
  if (joining.store === null) {
    const host = process.env.MASTER_ADDR ?? "127.0.0.1";
    const port = integer("store", undefined, "MASTER_PORT", 1);
    joining.store = await tcpStore({ host, port, isMaster: rank === 0, timeoutMs: Math.min(timeoutMs, 300_000) });
  }
  const { store } = joining;
  const name = options.interface ?? process.env.GLOO_SOCKET_IFNAME ?? "";
  const host = options.host ?? (name === "" ? (store.localAddress ?? "127.0.0.1").replace(/^::ffff:/, "") : "");
  const engine = `Gloo ${gloo.version} ${name === "" ? `at ${host}` : `over ${name}`}`;
  const common = { gloo, backend: "gloo", engine, version: gloo.version, root: null } as const;
  return { shared: { ...common, store, rank, host, interface: name, isDebug: debug }, worldSize };
}

/** The ranks are those that MPI's launcher started. */
async function joinMpi(options: InitProcessGroupOptions, timeoutMs: number, joining: Joining): Promise<Joined> {
  const { debug = isDebugByDefault() } = options;
  const gloo: Gloo = loadGloo(OPERATION, "mpi");
  const library = loadMpi(OPERATION, gloo);
  const { rank, size } = await startMpi(OPERATION, gloo, library, timeoutMs);
  const told = launchedRank(process.env)?.size ?? null;
  for (const [argument, own, other] of [
    ["worldSize", size, options.worldSize ?? told],
    ["rank", rank, options.rank],
  ] as const)
    if (other !== null && other !== undefined && other !== own)
      throw new ValueError(
        OPERATION,
        argument,
        `${own}, as ${library.version} has it`,
        other,
        "Is this the MPI of the launcher? DXTENSOR_MPI names another one; srun needs --mpi=pmix or --mpi=pmi2.",
      );
  joining.rank = rank;
  joining.store = options.store ?? null;
  const common = { gloo, backend: "mpi", engine: library.version, version: library.version, root: null } as const;
  return { shared: { ...common, store: joining.store, rank, host: "", interface: "", isDebug: debug }, worldSize: size };
}

/**
 * Joins the group of all ranks; all of them call it. Resolves when all are connected.
 *
 * rank, worldSize and store have PyTorch's environment variables as defaults: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT. `npx dxtensor launch`
 * sets them. Over MPI the ranks are the processes that its launcher started. Rejects with MissingPackageError where the package of the engines is not
 * installed (it names it), UnsupportedError on a platform that has none, DistributedError (reason "engine") where no MPI is found, DistributedError (reason "rendezvous") when the ranks do not find each other in time, ValueError for a rank outside of worldSize.
 * Reference: torch.distributed.init_process_group.
 */
export async function initProcessGroup(options: InitProcessGroupOptions = {}): Promise<ProcessGroup> {
  const operation = "initProcessGroup";
  if (world !== null || isStarting)
    throw new ValueError(
      operation,
      "the process group",
      "destroyed before it is made again",
      world?.group.name ?? "one that is being made",
    );
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const isTold = options.store === undefined && options.rank === undefined;
  const { backend = isTold ? defaultBackend(process.env) : "gloo" } = options;
  if (backend !== "gloo" && backend !== "mpi") throw new ValueError(operation, "backend", '"gloo" or "mpi"', backend);
  requireTimeout(operation, timeoutMs);
  isStarting = true;
  const joining: Joining = { rank: -1, store: null };
  try {
    const { shared, worldSize } = await (backend === "mpi" ? joinMpi : joinGloo)(options, timeoutMs, joining);
    const group = new ProcessGroup(
      shared,
      "world",
      Array.from({ length: worldSize }, (_, i) => i),
      requireTimeout(operation, timeoutMs),
    );
    await group.connect(joined++ * GROUPS);
    world = { shared, group, groups: [group], made: 0 };
    setProcessRanks(ranksOf(group));
    return group;
  } catch (error) {
    await joining.store?.close();
    if (error instanceof DistributedError && error.rank < 0) {
      const { rank } = joining;
      const { reason, peer, sequence, received } = error;
      throw new DistributedError(operation, { reason, rank, peer, group: "world", sequence }, received ?? error.message, { cause: error });
    }
    throw error;
  } finally {
    isStarting = false;
  }
}

const none = (operation: string): DistributedError =>
  new DistributedError(
    operation,
    { reason: "closed", rank: -1, peer: null, group: "world", sequence: 0 },
    "there is no process group: await dx.distributed.initProcessGroup() first.",
  );

/** @internal The group that is meant: the one that is given, else that of all ranks. */
export function groupOf(operation: string, group: ProcessGroup | undefined): ProcessGroup {
  if (group !== undefined) return group;
  if (world === null) throw none(operation);
  return world.group;
}

/**
 * A group of some ranks. All ranks of the world call it, in the same order, members or not. Resolves to null on a rank that is no member. Calls of two
 * groups may run at the same time. Throws ValueError for ranks outside of the world, or one that appears twice. Reference: torch.distributed.new_group.
 */
export async function newGroup(ranks: readonly number[], options: NewGroupOptions = {}): Promise<ProcessGroup | null> {
  if (world === null) throw none("newGroup");
  const { shared, group, groups } = world;
  if (ranks.length === 0) throw new ValueError("newGroup", "ranks", "at least one rank", ranks);
  ranks.forEach((rank, i) => {
    if (!Number.isInteger(rank) || rank < 0 || rank >= group.size || ranks.indexOf(rank) < i)
      throw new ValueError("newGroup", "ranks", `different integers in [0, ${group.size})`, ranks);
  });
  const timeoutMs = requireTimeout("newGroup", options.timeoutMs ?? group.timeoutMs);
  const name = `group ${++world.made}`;
  if (!ranks.includes(shared.rank)) return null;
  const made = new ProcessGroup(shared, name, [...ranks], timeoutMs);
  await made.connect((joined - 1) * GROUPS + (world.made % GROUPS));
  groups.push(made);
  return made;
}

const LEAVE_MS = 10_000;

/**
 * Leaves the process groups: waits for the other ranks, for at most ten seconds, then closes all connections and the store. Without a group it does
 * nothing. All ranks call it at their end; one that ends without it counts as lost. With a group of newGroup() it closes that one alone, without
 * waiting. Reference: torch.distributed.destroy_process_group.
 */
export async function destroyProcessGroup(group?: ProcessGroup): Promise<void> {
  if (world === null) return;
  const { shared, groups, group: all } = world;
  if (group !== undefined && group !== all) {
    group.close(true);
    groups.splice(groups.indexOf(group), groups.includes(group) ? 1 : 0);
    return;
  }
  const leaving = world;
  try {
    let end: NodeJS.Timeout | undefined;
    await Promise.race([
      all.call(
        "destroyProcessGroup",
        async () => ({ kind: "barrier", what: "destroyProcessGroup", input: null, output: null }),
        () => null,
      ),
      new Promise((done) => void (end = setTimeout(done, LEAVE_MS))),
    ]).finally(() => clearTimeout(end));
  } catch {
    // A rank is gone: there is nobody to wait for.
  }
  if (world === leaving) {
    world = null;
    setProcessRanks(null);
  }
  for (const one of groups.toReversed()) one.close(true);
  await shared.store?.close();
}

/** Whether this process is in a process group. Reference: torch.distributed.is_initialized. */
export const isInitialized = (): boolean => world !== null;

/**
 * Whether a launcher has told this process its rank: `dxtensor launch`, torchrun, mpirun, mpiexec or srun. A program that also runs alone joins where it
 * is so. Reference: torch.distributed.is_torchelastic_launched.
 */
export const isLaunched = (): boolean => (process.env.RANK ?? "") !== "" || launchedRank(process.env) !== null;

/** Whether the engine's package is there for this platform. Reference: torch.distributed.is_available. */
export const isAvailable = (): boolean => hasGloo();

/** This process's rank in a group, that of all ranks by default; -1 where it is no member. Reference: torch.distributed.get_rank. */
export const getRank = (group?: ProcessGroup): number => groupOf("getRank", group).rank;

/** The number of ranks in a group, that of all ranks by default. Reference: torch.distributed.get_world_size. */
export const getWorldSize = (group?: ProcessGroup): number => groupOf("getWorldSize", group).size;

/** The engine that is in use. */
export interface EngineInfo {
  /** "gloo" or "mpi". */
  readonly backend: "gloo" | "mpi";
  /** "0.5.0", "Open MPI v4.1.4". */
  readonly version: string;
  /** Of Gloo: the address or the interface at which other ranks reach this one. MPI chooses for itself: null. */
  readonly network: string | null;
}

/** The engine in use: { backend: "gloo", version: "0.5.0", network: "127.0.0.1" }. */
export function engineInfo(): EngineInfo {
  if (world === null) throw none("engineInfo");
  const { backend, version, host, interface: name } = world.shared;
  return { backend, version, network: backend === "mpi" ? null : name === "" ? host : name };
}
