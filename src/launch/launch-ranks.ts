/** Runs a program in several processes, and ends all of them when one fails. */
import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { availableParallelism, constants } from "node:os";
import { startGuard } from "./launch-guard.ts";
import { PrefixedLines, rankEnvironment, rankOf, type LaunchPlan } from "./rank-environment.ts";

/** What to launch. */
export interface LaunchOptions {
  readonly script: string;
  readonly args: readonly string[];
  readonly processes: number;
  readonly nodes: number;
  readonly nodeRank: number;
  readonly host: string;
  /** null: a free one. */
  readonly port: number | null;
  readonly maxRestarts: number;
  /** How long a process may take to end by SIGTERM, before SIGKILL. */
  readonly graceMs: number;
}

/** The rank that failed first. */
export interface FailedRank {
  readonly rank: number;
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly seconds: number;
}

/** How a launch ended. */
export interface LaunchResult {
  readonly worldSize: number;
  readonly restarts: number;
  readonly failed: FailedRank | null;
  /** The signal that ended the launcher. */
  readonly interrupted: NodeJS.Signals | null;
}

/** Where the ranks' output and the launcher's own words go. */
export interface LaunchOutput {
  stdout(text: string): void;
  stderr(text: string): void;
}

/** A port of this machine that is free now. */
export const freePort = (host: string): Promise<number> =>
  new Promise((done, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, host, () => {
      const address = server.address();
      server.close(() => done(typeof address === "object" && address !== null ? address.port : 0));
    });
  });

/** "exit status 3", "SIGKILL". */
export const describeEnd = ({ status, signal }: Pick<FailedRank, "status" | "signal">): string => signal ?? `exit status ${String(status)}`;

/** The exit status of a shell's command that ended so. */
export const statusOf = ({ status, signal }: Pick<FailedRank, "status" | "signal">): number =>
  signal === null ? (status ?? 1) : 128 + constants.signals[signal];

/** A child with all that it started: it has a process group of its own, but on Windows. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The processes of one start, until all have ended. */
async function runOnce(
  options: LaunchOptions,
  plan: LaunchPlan,
  output: LaunchOutput,
  stop: { signal: NodeJS.Signals | null; end: () => void },
): Promise<FailedRank | null> {
  const start = performance.now();
  let failed: FailedRank | null = null;
  let isStopping = false;
  const children: ChildProcess[] = [];
  const timers: NodeJS.Timeout[] = [];
  const endAll = (): void => {
    if (isStopping) return;
    isStopping = true;
    for (const child of children) kill(child, "SIGTERM");
    timers.push(
      setTimeout(() => {
        for (const child of children) kill(child, "SIGKILL");
      }, options.graceMs),
    );
  };
  stop.end = endAll;
  const guard = startGuard(options.graceMs);
  const width = String(plan.processes * plan.nodes - 1).length;
  const ends = Array.from({ length: plan.processes }, (_, localRank) => {
    const rank = rankOf(plan, localRank);
    const child = spawn(process.execPath, [options.script, ...options.args], {
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      env: { ...process.env, ...rankEnvironment(plan, localRank, process.env) },
    });
    children.push(child);
    if (child.pid !== undefined) guard.watch(child.pid);
    const prefix = `[${String(rank).padStart(width)}] `;
    const streams = (["stdout", "stderr"] as const).map((name) => {
      const lines = new PrefixedLines(prefix, (text) => output[name](text));
      child[name].setEncoding("utf8").on("data", (piece: string) => lines.add(piece));
      return lines;
    });
    const note = (status: number | null, signal: NodeJS.Signals | null): void => {
      if (failed !== null || isStopping || (status === 0 && signal === null)) return;
      failed = { rank, status, signal, seconds: (performance.now() - start) / 1000 };
      endAll();
    };
    child.on("exit", note);
    return new Promise<void>((done) => {
      child.on("error", (error) => {
        output.stderr(`${prefix}${error.message}\n`);
        note(1, null);
        done();
      });
      child.on("close", () => {
        for (const lines of streams) lines.end();
        done();
      });
    });
  });
  if (stop.signal !== null) endAll();
  await Promise.all(ends);
  for (const timer of timers) clearTimeout(timer);
  // What a process has started, and left behind.
  if (isStopping) for (const child of children) kill(child, "SIGKILL");
  guard.end();
  return failed;
}

/** Runs the program, again after a failure as often as is allowed. A signal to this process ends all. */
export async function launchRanks(options: LaunchOptions, output: LaunchOutput): Promise<LaunchResult> {
  const { processes, nodes, nodeRank, host, maxRestarts } = options;
  const worldSize = processes * nodes;
  const stop: { signal: NodeJS.Signals | null; end: () => void } = { signal: null, end: () => {} };
  const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
  const stopBy = (signal: NodeJS.Signals): void => {
    stop.signal ??= signal;
    stop.end();
  };
  for (const signal of signals) process.on(signal, stopBy);
  try {
    for (let restart = 0; ; restart++) {
      const port = options.port ?? (await freePort(host));
      const plan: LaunchPlan = { processes, nodes, nodeRank, host, port, restart, maxRestarts, cpus: availableParallelism() };
      const failed = await runOnce(options, plan, output, stop);
      if (failed !== null && stop.signal === null) {
        const again = restart < maxRestarts ? ` Restart ${restart + 1} of ${maxRestarts}.` : "";
        output.stderr(
          `dxtensor launch: rank ${failed.rank} of ${worldSize} ended first, with ${describeEnd(failed)}, after ${failed.seconds.toFixed(1)} s. The others were ended.${again}\n`,
        );
        if (again !== "") continue;
      }
      return { worldSize, restarts: restart, failed, interrupted: stop.signal };
    }
  } finally {
    for (const signal of signals) process.off(signal, stopBy);
  }
}
