/** `dxtensor launch`: runs a program in several processes. See docs/distributed.md. */
import { InvalidArgumentError, type Command } from "commander";
import type { LaunchOptions } from "../launch/launch-ranks.ts";
import { launchDefaults, VariableError, type LaunchDefaults } from "../launch/launch-variables.ts";
import { scriptFile } from "./script-file.ts";

interface Options {
  readonly nproc?: number;
  readonly nodes?: number;
  readonly nodeRank?: number;
  readonly master?: { readonly host: string; readonly port: number };
  readonly maxRestarts: number;
  readonly grace: number;
  readonly json: boolean;
}

const help = `
Starts SCRIPT in N processes with RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which initProcessGroup() reads. The script's
own arguments come behind it; behind "--" where they begin with a dash. Each line of output begins with its rank. When a process ends with an error, the others are ended
by SIGTERM, and by SIGKILL after the grace. Exit status: 0, that of the first process that failed, or 128 and the number of its signal.

  npx dxtensor launch -n 4 train.js
  npx dxtensor launch -n 8 --nodes 2 --node-rank 0 --master 10.0.0.1:29500 train.js      on the first of two machines, with --node-rank 1 on the other

Without --nodes, --node-rank and --master the variables count that torchrun reads (PET_NNODES, PET_NODE_RANK, PET_NPROC_PER_NODE, MASTER_ADDR, MASTER_PORT),
JOB_COMPLETION_INDEX of an Indexed Job of Kubernetes, and Slurm's under srun: SLURM_STEP_NUM_NODES, SLURM_NODEID, SLURM_STEP_NODELIST.

For programs: --json prints one line at the end, {"ok", "worldSize", "restarts", "failed": {"rank", "status", "signal", "seconds"}, "interrupted"}; all
output of the processes goes to stderr then.`;

const integer =
  (min: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || !Number.isSafeInteger(value))
      throw new InvalidArgumentError(`It must be an integer of at least ${min}.`);
    return value;
  };

const MASTER_PORT = 29_500;

/** HOST, HOST:PORT or [ADDRESS]:PORT. */
function master(text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? MASTER_PORT : Number(digits);
  if (host === undefined || port < 1 || port > 65_535) throw new InvalidArgumentError("It must be HOST or HOST:PORT.");
  return { host, port };
}

async function launch(script: string, args: readonly string[], options: Options): Promise<void> {
  const { maxRestarts, grace, json } = options;
  const refuse = (text: string): void => {
    process.stderr.write(`dxtensor: launch: ${text}\n`);
    process.exitCode = 2;
  };
  let defaults: LaunchDefaults;
  let where: ReturnType<typeof master> | undefined;
  try {
    defaults = launchDefaults(process.env, options.nodes);
    where = options.master ?? (defaults.master === null ? undefined : master(defaults.master));
  } catch (error) {
    if (error instanceof VariableError) return refuse(error.message);
    if (error instanceof InvalidArgumentError) return refuse("MASTER_ADDR and MASTER_PORT must be a host and a port.");
    throw error;
  }
  const { nodes } = defaults;
  const nodeRank = options.nodeRank ?? defaults.nodeRank;
  if (nodeRank >= nodes) return refuse(`--node-rank must be below --nodes (${nodes}).`);
  if (nodes > 1 && where === undefined) return refuse("--master must be given for several nodes: the host of the first one.");
  const { launchRanks, statusOf } = await import("../launch/launch-ranks.ts");
  const asked: LaunchOptions = {
    script,
    args,
    processes: options.nproc ?? defaults.processes,
    nodes,
    nodeRank,
    host: where?.host ?? "127.0.0.1",
    port: where?.port ?? null,
    maxRestarts,
    graceMs: grace * 1000,
  };
  const { worldSize, restarts, failed, interrupted } = await launchRanks(asked, {
    stdout: (text) => void (json ? process.stderr : process.stdout).write(text),
    stderr: (text) => void process.stderr.write(text),
  });
  const isOk = failed === null && interrupted === null;
  if (json) process.stdout.write(`${JSON.stringify({ ok: isOk, worldSize, restarts, failed, interrupted })}\n`);
  if (!isOk) process.exitCode = statusOf(interrupted === null ? failed! : { status: null, signal: interrupted });
}

export function addLaunch(program: Command): void {
  program
    .command("launch")
    .description("runs a program in several processes, of one machine or of several")
    .argument("<script>", "a JavaScript or TypeScript file", scriptFile)
    .argument("[args...]", "the script's own arguments")
    .option("-n, --nproc <n>", "processes on this machine (default: 1)", integer(1))
    .option("--nodes <n>", "machines (default: 1)", integer(1))
    .option("--node-rank <n>", "which of them this is, from 0 (default: 0)", integer(0))
    .option(
      "--master <host:port>",
      `where rank 0 serves the store (default: 127.0.0.1 and a free port; port ${MASTER_PORT} where a host is named)`,
      master,
    )
    .option("--max-restarts <n>", "starts all processes again after a failure, so often", integer(0), 0)
    .option("--grace <seconds>", "how long processes may take to end", integer(0), 5)
    .option("--json", "one line of JSON on stdout at the end", false)
    .addHelpText("after", help)
    .action(launch);
}
