/** The addon over Gloo and MPI: its functions, and where its file is found. Loaded by the first group. */
import { join } from "node:path";
import { DistributedError, MissingPackageError, UnsupportedError } from "../core/errors.ts";
import { exists, loadAddon, packageFolder, packageRoot } from "../core/home.ts";
import type { DType } from "../core/dtype.ts";
import type { EngineBytes } from "./engine-memory.ts";

/** @internal A process group's engine, and a work of it: opaque. */
export type GlooGroup = { readonly gloo: "group" };
export type GlooWork = { readonly gloo: "work" };

/** @internal What a work failed of. */
export interface GlooFailure {
  readonly reason: "timeout" | "connection" | "mismatch" | "closed" | "engine";
  readonly message: string;
  /** The rank in the group; -1: not known. */
  readonly peer: number;
  /** Of a mismatch: what that rank called. */
  readonly other: string;
}

/** @internal The positions in the addon's lists. */
export const KINDS = [
  "allReduce",
  "reduce",
  "broadcast",
  "allGather",
  "reduceScatter",
  "allToAll",
  "gather",
  "scatter",
  "barrier",
  "connect",
  "send",
  "recv",
] as const;
export type Kind = (typeof KINDS)[number];
const DTYPES_OF_ADDON: readonly DType[] = [
  "float32",
  "float16",
  "float64",
  "bfloat16",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
  "bool",
];
const REDUCTIONS = ["sum", "product", "min", "max"];

/** @internal What a work does. */
export interface GlooCall {
  readonly kind: Kind;
  readonly tag: number;
  readonly sequence: number;
  readonly dtype: DType;
  readonly reduction: "sum" | "mean" | "product" | "min" | "max";
  readonly root: number;
  readonly timeoutMs: number;
  readonly input: EngineBytes | null;
  readonly output: EngineBytes | null;
  readonly description: string;
  readonly addresses: readonly Uint8Array[] | null;
}

/** @internal The addon's functions. */
export interface Gloo {
  readonly version: string;
  readonly interfaceVersion: number;
  createGroup(options: {
    readonly rank: number;
    readonly size: number;
    readonly host: string;
    readonly interface: string;
    /** Connections of two ranks for large all-reduces; 0: the engine's choice. */
    readonly channels: number;
    readonly timeoutMs: number;
    readonly ranks: readonly number[];
    readonly world: GlooGroup | null;
  }): { readonly group: GlooGroup; readonly addresses: readonly Uint8Array[] };
  /** A group over MPI. Its number is the same on all ranks. */
  createMpiGroup(options: { readonly number: number; readonly ranks: readonly number[]; readonly world: GlooGroup | null }): GlooGroup;
  loadMpi(files: readonly string[]): { readonly file: string; readonly abi: "openmpi" | "mpich"; readonly version: string };
  /** null while MPI starts. */
  startMpi(): { readonly rank: number; readonly size: number; readonly threadLevel: number; readonly problem: string } | null;
  start(group: GlooGroup, call: object, callback: (failure: GlooFailure | null) => void): GlooWork;
  wait(work: GlooWork): GlooFailure | null;
  watch(group: GlooGroup): void;
  close(group: GlooGroup, isClean: boolean): void;
}

/** @internal Starts a call. */
export const startGloo = (gloo: Gloo, group: GlooGroup, call: GlooCall, ended: (failure: GlooFailure | null) => void): GlooWork =>
  gloo.start(
    group,
    {
      ...call,
      kind: KINDS.indexOf(call.kind),
      dtype: DTYPES_OF_ADDON.indexOf(call.dtype),
      reduction: REDUCTIONS.indexOf(call.reduction === "mean" ? "sum" : call.reduction),
      isMean: call.reduction === "mean" ? 1 : 0,
    },
    ended,
  );

const INTERFACE_VERSION = 4;
let loaded: Gloo | undefined;

/** The package with the addon for this platform. */
const packageName = (): string => `@dxtensor/distributed-${process.platform}-${process.arch}`;

/** Files to try, in order: DXTENSOR_DISTRIBUTED alone, else a repository's own build, then the platform's package. */
function files(): string[] {
  const explicit = process.env.DXTENSOR_DISTRIBUTED;
  if (explicit !== undefined && explicit !== "") return [explicit].filter((file) => exists(file));
  const root = packageRoot();
  const folder = packageFolder(packageName());
  return [
    ...(root === null ? [] : [join(root, "build", "distributed", "distributed.node")]),
    ...(folder === null ? [] : [join(folder, "distributed.node")]),
  ].filter((file) => exists(file));
}

/** @internal Whether the addon of this platform is there; it need not load. */
export const hasGloo = (): boolean => process.platform === "linux" && files().length > 0;

/**
 * @internal The addon. Throws UnsupportedError where there is no package for the platform, MissingPackageError where it is not installed, and
 * DistributedError for a file that does not load.
 */
export function loadGloo(operation: string, backend: "gloo" | "mpi" = "gloo"): Gloo {
  if (loaded !== undefined) return loaded;
  if (process.platform === "win32")
    throw new UnsupportedError({
      operation,
      received: "Windows, for which the engines are not built",
      hint: "Run the ranks in WSL: docs/wsl.md sets it up, and @dxtensor/distributed-linux-x64 is the package there.",
    });
  if (process.platform !== "linux")
    throw new UnsupportedError({ operation, received: `${process.platform}, for which the engines are not built` });
  const [file] = files();
  if (file === undefined) throw new MissingPackageError(operation, `backend "${backend}"`, packageName());
  try {
    const found = loadAddon(file) as Partial<Gloo> | null;
    if (found?.interfaceVersion !== INTERFACE_VERSION)
      throw new Error(`its interface is version ${found?.interfaceVersion ?? "unknown"}, not ${INTERFACE_VERSION}`);
    return (loaded = found as Gloo);
  } catch (error) {
    const problem = `${file} was not loaded: ${error instanceof Error ? error.message : String(error)}`;
    throw new DistributedError(operation, { reason: "engine", rank: -1, peer: null, group: "world", sequence: 0 }, problem, {
      cause: error,
    });
  }
}
