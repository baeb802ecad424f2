// Programs of this machine: with a time limit, bounded output, and an end to their child processes.
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { execa, execaSync } from "execa";
import { onExit } from "signal-exit";
import { lineReader } from "./lines.ts";
import { Tail } from "./tail.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Channel = "stdout" | "stderr";

interface StartOptions {
  readonly cwd?: string | undefined;
  /** In addition to this process's own variables. */
  readonly env?: Environment | undefined;
  readonly limitMs?: number | undefined;
}

export interface ProgramOptions extends StartOptions {
  /** No variables but env's. */
  readonly isAlone?: boolean;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** Its whole standard input as text, or "open": Running.stdin is written to. Without, there is none. */
  readonly input?: string | "open" | undefined;
  /** Where its output goes instead of being read; 2 is this process's stderr. */
  readonly stdout?: "pipe" | "inherit" | "ignore" | 2;
  readonly stderr?: "pipe" | "inherit" | "ignore" | 2;
  /** What is read, as it comes; lines are without their ends and colours. */
  readonly onText?: (text: string, from: Channel) => void;
  readonly onLine?: (line: string, from: Channel) => void;
  /** Characters of each text of its end that are kept, the last ones (default: 16 Mi). */
  readonly keep?: number;
  /**
   * It leads a process group, which ends with it: by a limit, by a signal, with this process, and when it ends itself. False: it stays in this
   * process's group, and whoever ends that by force ends it too; a limit then ends the program alone.
   */
  readonly isGroup?: boolean;
}

/** How a program ended. */
export interface Ended {
  /** Null when a signal ended it, or it did not start. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It was ended at its limit. */
  readonly isLate: boolean;
  /** It was ended by the caller, or not started because that came first. */
  readonly isCancelled: boolean;
  /** Why it could not be started. */
  readonly error: string | null;
  readonly stdout: string;
  /** Both outputs as they came. */
  readonly text: string;
  readonly ms: number;
}

export interface Running {
  /** Undefined where it could not be started. */
  readonly pid: number | undefined;
  /** With input "open". */
  readonly stdin: Writable | null;
  /** A signal to the program alone. */
  send(signal: NodeJS.Signals): void;
  /** Ends it and what it started. */
  end(): void;
  readonly done: Promise<Ended>;
}

/** Ends a group, and on Windows a process with its children. */
function endGroup(pid: number): void {
  if (process.platform === "win32") {
    execaSync("taskkill", ["/PID", String(pid), "/T", "/F"], { reject: false });
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // EPERM: only processes that have ended are left, on macOS.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

const cancelled: Ended = { code: null, signal: null, isLate: false, isCancelled: true, error: null, stdout: "", text: "", ms: 0 };

/** Starts a program that is talked to while it runs; `done` never rejects. */
export function startProgram(command: string, args: readonly string[], options: ProgramOptions = {}): Running {
  const { input, limitMs, signal, onText, onLine, keep = 1 << 24, isGroup = true } = options;
  if (signal?.aborted) return { pid: undefined, stdin: null, send() {}, end() {}, done: Promise.resolve(cancelled) };
  const start = performance.now();
  const child = execa(command, args, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: options.env ?? {},
    extendEnv: options.isAlone !== true,
    ...(input === undefined || input === "open" ? { stdin: input === undefined ? "ignore" : "pipe" } : { input }),
    stdout: options.stdout ?? "pipe",
    stderr: options.stderr ?? "pipe",
    // On Windows it would get a window of its own.
    detached: isGroup && process.platform !== "win32",
    cleanup: false,
    buffer: false,
    reject: false,
  });
  let [isLate, isCancelled, hasEnded] = [false, false, false];
  const end = (): void => {
    if (child.pid === undefined) return;
    if (isGroup) endGroup(child.pid);
    if (!hasEnded) child.kill("SIGKILL");
    // What it started and left holds them open.
    if (!isGroup) for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  };
  const cancel = (): void => {
    if (hasEnded) return;
    isCancelled = true;
    end();
  };
  const [text, stdout] = [new Tail(keep), new Tail(keep)];
  const read = (stream: Readable | null | undefined, from: Channel): (() => void) => {
    const reader = onLine === undefined ? null : lineReader((line) => onLine(line, from));
    stream?.setEncoding("utf8").on("data", (piece: string) => {
      text.add(piece);
      if (from === "stdout") stdout.add(piece);
      onText?.(piece, from);
      reader?.take(piece);
    });
    return () => reader?.end();
  };
  const readers = [read(child.stdout, "stdout"), read(child.stderr, "stderr")];
  // A program that does not read its input ends the pipe early; its own end tells what was wrong.
  child.stdin?.on("error", () => {});
  child.once("exit", () => {
    hasEnded = true;
    // What it left in the background would hold the pipes open.
    if (isGroup) end();
  });
  const timer =
    limitMs === undefined
      ? undefined
      : setTimeout(() => {
          isLate = true;
          end();
        }, limitMs);
  signal?.addEventListener("abort", cancel, { once: true });
  const forget = onExit(end);
  const finish = async (): Promise<Ended> => {
    const result = await child;
    clearTimeout(timer);
    signal?.removeEventListener("abort", cancel);
    forget();
    for (const flush of readers) flush();
    const error = child.pid === undefined ? (result.originalMessage ?? result.shortMessage ?? "it could not be started") : null;
    const [code, by] = error === null ? [child.exitCode, child.signalCode] : [null, null];
    return { code, signal: by, isLate, isCancelled, error, stdout: stdout.text, text: text.text, ms: performance.now() - start };
  };
  return { pid: child.pid, stdin: child.stdin ?? null, send: (name) => void child.kill(name), end: cancel, done: finish() };
}

/** Runs a program to its end; never rejects. */
export const runProgram = (command: string, args: readonly string[], options?: ProgramOptions): Promise<Ended> =>
  startProgram(command, args, options).done;

/** How a program ended, in words; null when all was well. */
export function problemOf({ code, signal, isLate, isCancelled, error }: Ended): string | null {
  if (error !== null) return `could not be started: ${error}`;
  if (isLate) return "was not done in time";
  if (isCancelled) return "was interrupted";
  return code === 0 ? null : `ended with ${signal === null ? `status ${code}` : `signal ${signal}`}`;
}

interface Question extends StartOptions {
  /** Shows what it says on stderr. */
  readonly isShown?: boolean;
}

/** What a program says on standard output; null where it is not there, fails, or takes longer than 20 s. Waits: for short questions. */
export function ask(
  command: string,
  args: readonly string[],
  { cwd, env = {}, limitMs = 20_000, isShown = false }: Question = {},
): string | null {
  const stderr = isShown ? "inherit" : "ignore";
  const options = cwd === undefined ? {} : { cwd };
  const done = execaSync(command, args, { ...options, env, stdin: "ignore", stderr, timeout: limitMs, reject: false });
  return done.failed ? null : done.stdout;
}

/** Replaces this process by a program, with its terminal and its signals; gives the exit status, as a shell has it for a signal. */
export async function takeOver(command: string, args: readonly string[], { cwd, env }: StartOptions = {}): Promise<number> {
  const running = execa(command, args, { ...(cwd === undefined ? {} : { cwd }), env: env ?? {}, stdio: "inherit", reject: false });
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const forward = (name: NodeJS.Signals): void => {
    // A terminal sends Ctrl-C to both; a plain signal reaches this process alone. Its end is the other's.
    if (name !== "SIGINT" || !process.stdin.isTTY) running.kill(name);
  };
  for (const name of names) process.on(name, forward);
  const done = await running;
  for (const name of names) process.off(name, forward);
  if (running.pid === undefined) process.stderr.write(`${done.originalMessage ?? `${command} could not be started`}\n`);
  const { exitCode, signalCode } = running;
  return running.pid === undefined ? 1 : signalCode === null ? (exitCode ?? 1) : 128 + constants.signals[signalCode];
}
