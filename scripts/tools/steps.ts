// Steps of a script: programs without which it can't continue.
import { problemOf, runProgram, type ProgramOptions } from "./program.ts";
import { ScriptError, root } from "./project.ts";

interface StepOptions extends Pick<ProgramOptions, "cwd" | "env"> {
  /** Shows the end of what it said where it fails, instead of all of it on stderr as it comes. */
  readonly isQuiet?: boolean;
}

/** Runs a program, in the repository's root; `what` names it in the error of one that fails. Gives what it said on stdout where it is quiet. */
export async function runStep(
  what: string,
  command: string,
  args: readonly string[],
  { cwd = root, env, isQuiet = false }: StepOptions = {},
): Promise<string> {
  const to = isQuiet ? "pipe" : 2;
  // Who ends the script by force ends its steps too.
  const ended = await runProgram(command, args, { cwd, env, stdout: to, stderr: to, isGroup: false });
  const problem = problemOf(ended);
  if (problem === null) return ended.stdout;
  const end = isQuiet ? `\n${ended.text.trimEnd().split("\n").slice(-20).join("\n")}` : "";
  throw new ScriptError("STEP_FAILED", `${what} ${problem}.${end}`);
}
