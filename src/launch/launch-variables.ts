/** What the launcher takes from variables where it has no options: torchrun's, those of an Indexed Job of Kubernetes, and Slurm's. Pure. */

type Variables = Readonly<Record<string, string | undefined>>;

/** What the variables say. */
export interface LaunchDefaults {
  readonly processes: number;
  readonly nodes: number;
  readonly nodeRank: number;
  /** HOST or HOST:PORT; null where no variable says. */
  readonly master: string | null;
}

/** The variables, in the order in which they count. test/launch/manifests.test.ts compares the files of examples/distributed with them. */
export const LAUNCH_VARIABLES = {
  processes: ["PET_NPROC_PER_NODE"],
  nodes: ["PET_NNODES", "SLURM_STEP_NUM_NODES"],
  nodeRank: ["PET_NODE_RANK", "JOB_COMPLETION_INDEX", "SLURM_NODEID"],
  host: ["PET_MASTER_ADDR", "MASTER_ADDR"],
  port: ["PET_MASTER_PORT", "MASTER_PORT"],
} as const;

/** A variable that is no integer. */
export class VariableError extends Error {}

const first = (env: Variables, names: readonly string[]): readonly [name: string, text: string] | null => {
  const name = names.find((one) => (env[one] ?? "") !== "");
  return name === undefined ? null : [name, env[name]!];
};

function integer(env: Variables, names: readonly string[], otherwise: number): number {
  const found = first(env, names);
  if (found === null) return otherwise;
  const [name, text] = found;
  if (!/^\d+$/.test(text)) throw new VariableError(`the environment variable ${name} must be an integer; it is "${text}".`);
  return Number(text);
}

/** The first host of Slurm's list: "node[07-09,12],other" gives "node07". */
export const firstHost = (list: string): string => /^[^,[]*(?:\[(\d+)[^\]]*\][^,]*)?/.exec(list)![0].replace(/\[(\d+)[^\]]*\]/, "$1");

/** The defaults of a machine. One machine alone needs no master: its ranks find each other on the loopback interface. */
export function launchDefaults(env: Variables, nodesOption: number | undefined): LaunchDefaults {
  const nodes = nodesOption ?? Math.max(1, integer(env, LAUNCH_VARIABLES.nodes, 1));
  const processes = Math.max(1, integer(env, LAUNCH_VARIABLES.processes, 1));
  if (nodes === 1) return { processes, nodes, nodeRank: 0, master: null };
  const host = first(env, LAUNCH_VARIABLES.host)?.[1] ?? null;
  const port = first(env, LAUNCH_VARIABLES.port)?.[1] ?? null;
  const list = env["SLURM_STEP_NODELIST"] ?? "";
  const master = host ?? (list === "" ? null : firstHost(list));
  const named = master?.includes(":") === true ? `[${master}]` : master;
  return {
    processes,
    nodes,
    nodeRank: integer(env, LAUNCH_VARIABLES.nodeRank, 0),
    master: named === null || port === null ? named : `${named}:${port}`,
  };
}
