/** Runs programs without a network, and counts their attempts: connections and datagrams to internet addresses. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { findTools } from "../../scripts/lib/toolchain.ts";
import { typescript } from "../scripts.ts";
import { environmentIn } from "./environment.ts";

/** What stands before a command, and in its environment, so that its calls are logged into a file. */
export interface Counter {
  readonly name: string;
  readonly command: (log: string) => readonly string[];
  readonly env: (log: string) => Readonly<Record<string, string>>;
}

const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args, { stdio: "ignore" }).status === 0;

const traced = ["-f", "-qq", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-e", "signal=none", "-s", "0", "-o"];

/** The system's calls, by strace. */
export const strace = (): Counter | null =>
  runs("strace", ...traced, "/dev/null", "true") ? { name: "strace", command: (log) => ["strace", ...traced, log], env: () => ({}) } : null;

/** The C library's calls, by a library that is preloaded; the C++ compiler is the one that builds the addon. */
export function preloaded(folder: string): Counter {
  const tools = findTools();
  const library = join(folder, "connects.so");
  const args = ["-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", library, "test/telemetry/connects.cpp", "-ldl"];
  const { status, stderr } = spawnSync(tools.compiler?.command ?? "c++", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`connects.cpp: ${stderr}`);
  return { name: "preloaded library", command: () => [], env: (log) => ({ LD_PRELOAD: library, CONNECTS_LOG: log }) };
}

/** What stands before a command that runs in a network namespace without interfaces; null where that is not permitted. */
export const namespace = (): readonly string[] | null =>
  [["-n"], ["-r", "-n"]].map((flags) => ["unshare", ...flags]).find(([command, ...flags]) => runs(command!, ...flags, "true")) ?? null;

/** The same with the loopback interface up. */
export function withLoopback(outside: readonly string[]): readonly string[] | null {
  const ups = ["ip link set lo up", "ifconfig lo up"];
  const up = ups.find((line) => runs(outside[0]!, ...outside.slice(1), "sh", "-c", line));
  return up === undefined ? null : [...outside, "sh", "-c", `${up} && exec "$0" "$@"`];
}

export interface Observed {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** What the collector next to it received, to the byte. */
  readonly requests: readonly string[];
  /** A line for each attempt to reach an internet address. */
  readonly calls: readonly string[];
}

export interface Setting {
  readonly counter: Counter;
  /** What stands before the command. */
  readonly room: readonly string[];
  /** Folder of consent, and of the program's files. */
  readonly data: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** With a collector, whose endpoint is in the environment. */
  readonly collects?: boolean;
}

const hold = pathToFileURL(resolve("test", "telemetry", "hold.mjs")).href;

/** Runs Node with these arguments. */
export async function observe(
  args: readonly string[],
  { counter, room, data, cwd = data, env = {}, collects = false }: Setting,
): Promise<Observed> {
  const log = join(mkdtempSync(join(data, "calls-")), "calls");
  const inside = collects
    ? [process.execPath, ...typescript.map((arg) => (arg.startsWith(".") ? resolve(arg) : arg)), resolve("test", "telemetry", "inside.ts")]
    : [];
  // The variables are the program's alone: the collector is not counted.
  const own = Object.entries({ ...counter.env(log), NODE_OPTIONS: `--import=${hold}` }).map(([name, value]) => `${name}=${value}`);
  const [command, ...rest] = [...room, ...inside, ...counter.command(log), "env", ...own, process.execPath, ...args];
  const options = {
    cwd,
    env: environmentIn(data, { DXTENSOR_DEVICE: "cpu", ...env }),
    extendEnv: false,
    reject: false,
    stdin: "ignore",
  } as const;
  const { exitCode = null, stdout, stderr } = await execa(command!, rest, options);
  const calls = (existsSync(log) ? readFileSync(log, "utf8") : "").split("\n").filter((line) => line.includes("AF_INET"));
  if (!collects) return { status: exitCode, stdout, stderr, requests: [], calls };
  if (exitCode !== 0) throw new Error(`inside.ts: ${stderr}`);
  return { ...(JSON.parse(stdout) as Omit<Observed, "calls">), calls };
}
