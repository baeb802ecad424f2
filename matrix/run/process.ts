/** A program of this machine with everything it starts: lines out, a limit of time, and an end to all of it when asked. */
import { execFile, spawn } from "node:child_process";
import { finished } from "node:stream/promises";
import { messageOf } from "../errors.ts";
import { lineStream } from "./lines.ts";
import { variable, variableValue, type Owner } from "./owner.ts";

export interface ProcessRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Text for its standard input; without, there is none. */
  readonly input?: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly owner: Owner;
  onLine(line: string): void;
}

export interface ProcessEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly timedOut: boolean;
  /** Why it could not be started. */
  readonly error: string | null;
}

/** Ends a process and what it started. */
function killTree(pid: number): void {
  if (process.platform === "win32") {
    execFile("taskkill", ["/PID", String(pid), "/T", "/F"], () => undefined);
    return;
  }
  try {
    // It leads a group of its own.
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

export async function runProcess(request: ProcessRequest): Promise<ProcessEnd> {
  const { signal } = request;
  signal.throwIfAborted();
  const child = spawn(request.command, [...request.args], {
    cwd: request.cwd,
    env: { ...process.env, ...request.environment, [variable]: variableValue(request.owner) },
    stdio: [request.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    detached: process.platform !== "win32",
    windowsHide: true,
  });
  const streams = [lineStream(request.onLine), lineStream(request.onLine)] as const;
  child.stdout?.pipe(streams[0]);
  child.stderr?.pipe(streams[1]);
  // A program that does not read its input ends the pipe early; its own end tells what was wrong.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(request.input);
  let timedOut = false;
  const kill = (): void => {
    if (child.pid !== undefined) killTree(child.pid);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, request.timeoutMs);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const end = await new Promise<ProcessEnd>((resolve) => {
      child.once("error", (error) => resolve({ code: null, timedOut: false, error: messageOf(error) }));
      child.once("exit", (code) => resolve({ code, timedOut, error: null }));
    });
    // What it started in the background would hold the pipes open.
    kill();
    if (end.error === null) await Promise.all(streams.map((stream) => finished(stream)));
    signal.throwIfAborted();
    return { ...end, timedOut };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", kill);
  }
}

/** How a program ended, in words; null when all was well. */
export function processProblem(end: ProcessEnd, what: string, timeoutMs: number): string | null {
  if (end.error !== null) return `${what} could not be started: ${end.error}`;
  if (end.timedOut) return `${what} was not done after ${Math.round(timeoutMs / 1000)} s`;
  return end.code === 0 ? null : `${what} ended with ${end.code === null ? "a signal" : `status ${end.code}`}`;
}
