// A device's facts for a report, from a process of its own: what a driver does to it does not end this one.
import { problemOf, runProgram } from "../tools/program.ts";
import type { DeviceFacts } from "./device.ts";

interface Options {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** args: the program of device.ts, and the device's name. Gives why there are no facts as text. */
export async function readFacts(args: readonly string[], options: Options = {}): Promise<DeviceFacts | string> {
  const ended = await runProgram(process.execPath, args, { limitMs: 120_000, stderr: "pipe", ...options });
  const problem = problemOf(ended);
  if (problem === null) return JSON.parse(ended.stdout.trim().split("\n").at(-1)!) as DeviceFacts;
  const last = ended.text.trim().split("\n").at(-1)!;
  return ended.code === 2 ? last : `the process ${problem}`;
}
