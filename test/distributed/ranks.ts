/** Ranks as processes over the built package: what each prints, and how it ended. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** `npm run distributed` builds the engine, and sets the variable. */
export const hasEngine = process.env.DXTENSOR_GLOO_TESTS === "1";

const index = pathToFileURL(join(process.cwd(), "dist", "bundle", "dxtensor.js")).href;

/** How a rank ended. */
export interface RankEnd {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it said by tell(), in order. */
  readonly told: readonly unknown[];
  readonly stderr: string;
  readonly seconds: number;
}

/** How the ranks of an engine are started. */
export interface Engine {
  readonly name: "gloo" | "openmpi" | "mpich";
  /** What engineInfo() says. */
  readonly version: RegExp;
  /** A program that starts `size` of another one; null: the test does it. */
  readonly command: readonly [file: string, ...args: readonly string[]] | null;
}

// Loopback only; root is allowed, and more ranks than processors.
const openMpi =
  "--allow-run-as-root --oversubscribe --bind-to none --mca btl self,vader,tcp --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo";
const all: readonly Engine[] = [
  { name: "gloo", version: /^\d+\.\d+\.\d+$/, command: null },
  { name: "openmpi", version: /^Open MPI v\d/, command: ["/usr/bin/mpirun.openmpi", ...openMpi.split(" "), "-n"] },
  { name: "mpich", version: /^MPICH \d/, command: ["/usr/bin/mpiexec.mpich", "-launcher", "fork", "-iface", "lo", "-n"] },
];

/** Those that this machine has: `npm run distributed` installs all. */
export const engines: readonly Engine[] = hasEngine ? all.filter(({ command }) => command === null || existsSync(command[0])) : [];
export const gloo = all[0]!;

/** Ended: its status, its signal, its stderr. */
type Ended = Omit<RankEnd, "told">;

function runProcess(file: string, args: readonly string[], env: Readonly<Record<string, string>>, seconds: number): Promise<Ended> {
  const start = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  let stderr = "";
  child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
  const timer = setTimeout(() => child.kill("SIGKILL"), seconds * 1000);
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (status, signal) => {
      clearTimeout(timer);
      done({ status, signal, stderr, seconds: (performance.now() - start) / 1000 });
    });
  });
}

/**
 * Runs a module in `size` processes. It has the library as `dx` and `d`, `rank`, `size`, `init(options)` that joins, by a store in a folder over Gloo,
 * `store` that folder, tell(value), and error(fn): what an error says. Over MPI all ranks have the status and stderr of the program that started them.
 */
export async function runRanks(
  size: number,
  code: string,
  {
    env = {},
    seconds = 60,
    engine = gloo,
  }: { readonly env?: Readonly<Record<string, string>>; readonly seconds?: number; readonly engine?: Engine } = {},
): Promise<RankEnd[]> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-ranks-"));
  const file = join(folder, "rank.mjs");
  writeFileSync(
    file,
    `import * as dx from ${JSON.stringify(index)};
import { appendFileSync } from "node:fs";
const d = dx.distributed, { env } = process;
const rank = Number(env.RANK ?? env.OMPI_COMM_WORLD_RANK ?? env.PMI_RANK), size = ${size}, store = ${JSON.stringify(join(folder, "store"))};
const tell = (value) => appendFileSync(${JSON.stringify(join(folder, "told."))} + rank, JSON.stringify(value, (_, v) => typeof v === "bigint" ? String(v) : v) + "\\n");
const init = (options = {}) => d.initProcessGroup({ ...(env.RANK ? { store: d.fileStore(store) } : {}), timeoutMs: 20000, ...options });
const error = async (fn) => { try { await fn(); return null; } catch (e) { return { name: e.name, reason: e.reason, rank: e.rank, peer: e.peer, group: e.group, sequence: e.sequence, operation: e.operation, message: e.message }; } };
const list = (t) => t.toArraySync();
${code}
`,
  );
  const told = (rank: number): unknown[] => {
    const path = join(folder, `told.${rank}`);
    const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as unknown);
  };
  const common = { DXTENSOR_DEVICE: "cpu", DXTENSOR_THREADS: "1", ...env };
  const ranks = Array.from({ length: size }, (_, rank) => rank);
  try {
    if (engine.command === null) {
      const own = (rank: number) => ({ RANK: String(rank), WORLD_SIZE: String(size), ...common });
      const ends = await Promise.all(ranks.map((rank) => runProcess(process.execPath, [file], own(rank), seconds)));
      return ends.map((end, rank) => ({ ...end, told: told(rank) }));
    }
    const [command, ...args] = engine.command;
    const end = await runProcess(command, [...args, String(size), process.execPath, file], common, seconds);
    return ranks.map((rank) => ({ ...end, told: told(rank) }));
  } finally {
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
  }
}
