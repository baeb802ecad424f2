/** A program of a run on this machine, which bears the run's mark. */
import { runProgram, type Ended } from "../../scripts/tools/program.ts";
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

/** Throws the signal's reason when the run is interrupted. */
export async function runProcess(request: ProcessRequest): Promise<Ended> {
  const { command, args, cwd, environment, input, timeoutMs, signal, owner } = request;
  signal.throwIfAborted();
  const ended = await runProgram(command, args, {
    cwd,
    env: { ...environment, [variable]: variableValue(owner) },
    input,
    limitMs: timeoutMs,
    signal,
    keep: 0,
    onLine: (line) => request.onLine(line),
  });
  signal.throwIfAborted();
  return ended;
}

/** How a program ended, in words; null when all was well. */
export function processProblem({ code, error, isLate }: Ended, what: string, timeoutMs: number): string | null {
  if (error !== null) return `${what} could not be started: ${error}`;
  if (isLate) return `${what} was not done after ${Math.round(timeoutMs / 1000)} s`;
  return code === 0 ? null : `${what} ended with ${code === null ? "a signal" : `status ${code}`}`;
}
