/** Ranks as processes of this machine, for measurements; and Gloo's own all-reduce in a small program. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Answer, Job, NetworkJob } from "./rank.ts";

const own = dirname(fileURLToPath(import.meta.url));
const root = join(own, "..", "..", "..");

function ended(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
  return new Promise((done, failed) => {
    child.on("error", failed);
    child.on("close", (status) => (status === 0 ? done(stdout) : failed(new Error(`${command} ended with status ${status}`))));
  });
}

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

const TASKSET = "/usr/bin/taskset";

const common = { DXTENSOR_DEVICE: "cpu", DXTENSOR_THREADS: "1" };

/** A process of rank.ts, or of torch_ddp.py by a Python that has PyTorch. core: null for any. */
function rankProcess(job: Job, env: Readonly<Record<string, string>>, core: number | null, python: string | null = null): Promise<string> {
  const rank = python === null ? [process.execPath, join(own, "rank.js")] : [python, join(root, "bench", "distributed", "torch_ddp.py")];
  const program = [...rank, JSON.stringify(job)];
  const [file, ...args] = core !== null && existsSync(TASKSET) ? [TASKSET, "-c", String(core), ...program] : program;
  return ended(file!, args, env);
}

/** What each of some processes measured that have no group, and a core each. They train a network at the same time. python: by PyTorch. */
export async function measuredApart(processes: number, job: Omit<NetworkJob, "meeting">, python: string | null = null): Promise<Answer[]> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-apart-"));
  try {
    const whole = { ...job, meeting: { folder, processes } };
    const texts = Array.from({ length: processes }, (_, i) =>
      rankProcess(whole, { ...common, PROCESS: String(i) }, i % availableParallelism(), python),
    );
    return (await Promise.all(texts)).map((text) => JSON.parse(text) as Answer);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What each rank measured; 0 ranks: one process without a group. Each has one thread. isPinned: and one core, where taskset is there. python: by
 * PyTorch.
 */
export async function measured(ranks: number, job: Job, isPinned = false, python: string | null = null): Promise<Answer[]> {
  const rank = (env: Readonly<Record<string, string>>, core: number): Promise<string> =>
    rankProcess(job, env, isPinned ? core : null, python);
  if (ranks === 0) return [JSON.parse(await rank(common, 0)) as Answer];
  const port = String(await freePort());
  const group = { WORLD_SIZE: String(ranks), MASTER_ADDR: "127.0.0.1", MASTER_PORT: port, ...common };
  const texts = Array.from({ length: ranks }, (_, i) => rank({ ...group, RANK: String(i) }, i % availableParallelism()));
  return (await Promise.all(texts)).map((text) => JSON.parse(text) as Answer);
}

/** Compiles Gloo's program where libgloo-dev and a compiler are; null elsewhere. */
function glooProgram(): string | null {
  const source = join(root, "bench", "distributed", "gloo_allreduce.cpp");
  const program = join(root, "build", "bench", "distributed", "gloo_allreduce");
  if (!existsSync("/usr/include/gloo/allreduce.h")) return null;
  if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) return program;
  mkdirSync(dirname(program), { recursive: true });
  const { status } = spawnSync("c++", ["-std=c++17", "-O3", source, "-o", program, "-lgloo", "-lpthread"], { stdio: ["ignore", 2, 2] });
  return status === 0 ? program : null;
}

/** Seconds of Gloo's all-reduce of float32 between two processes, a size each; null where it cannot be built. */
export async function glooSeconds(ranks: number, sizes: readonly number[], repeats: number): Promise<Answer | null> {
  const program = glooProgram();
  if (program === null) return null;
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-gloo-"));
  try {
    const args = (rank: number): string[] => [folder, String(rank), String(ranks), String(repeats), ...sizes.map(String)];
    const texts = await Promise.all(Array.from({ length: ranks }, (_, rank) => ended(program, args(rank), {})));
    return JSON.parse(texts[0]!) as Answer;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
