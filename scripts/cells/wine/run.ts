// Runs a Windows program in the Wine cell.
import { join, resolve } from "node:path";
import { execa, type Options } from "execa";
import { enterCommand } from "./enter.ts";
import { ScriptError } from "../../tools/project.ts";
import { needCell } from "./cell.ts";
import { cellRoot, recipe, sources } from "./recipe.ts";

/** Seconds that the launcher gets to end its program and itself before everything is killed. */
const grace = 15;

export interface CellRun extends Pick<Options, "stdin" | "stdout" | "stderr" | "stdio" | "buffer"> {
  readonly mount?: string | undefined;
  readonly node?: string | number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts a program with the folder `mount` as its working folder Z:\work; gives execa's subprocess. It sees none of this process's
 * environment but `env`. Exit status: the program's; 139 access violation, 134 abort, 124 time limit, 127 not found, 125 any other over 255.
 */
export function runInCell(command: readonly string[], { mount = process.cwd(), node = 24, timeoutMs, env = {}, ...options }: CellRun = {}) {
  needCell();
  if (recipe.nodes[node] === undefined)
    throw new ScriptError("NO_NODE", `The cell has no Node ${node}.`, `It has ${Object.keys(recipe.nodes).join(", ")}.`);
  const script = join(sources, "root", "enter.sh");
  const started = enterCommand(command, { script, root: cellRoot(), mount: resolve(mount), node, timeoutMs, env });
  return execa(started.file, started.args, {
    reject: false,
    extendEnv: false,
    env: started.env,
    // The namespaces die with the process that made them, and all in them.
    killSignal: "SIGKILL",
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs + grace * 1000 }),
    ...options,
  });
}

/** What became of it, as an exit status. */
export const statusOf = (done: { readonly exitCode?: number | undefined; readonly timedOut: boolean }): number =>
  done.exitCode ?? (done.timedOut ? 124 : 125);
