/** Cells on this machine as it is: the working tree, built in its own build folder. */
import { delimiter, join } from "node:path";
import { cellArguments } from "../cell/arguments.ts";
import { processProblem, runProcess } from "../run/process.ts";
import { ensureNode, packages } from "../run/nodes.ts";
import { root } from "../root.ts";
import { failed, passed, type Outcome, type RunContext } from "./runner.ts";

/** The program and folder of a version of Node: the running one where it is that, else the registry's. */
export async function nodeProgram(major: string): Promise<{ readonly program: string; readonly path: string | null }> {
  if (process.versions.node.split(".")[0] === major || packages[`${process.platform}-${process.arch}`] === undefined)
    return { program: process.execPath, path: null };
  const { folder } = await ensureNode(major);
  const bin = join(folder, "bin");
  return { program: join(bin, process.platform === "win32" ? "node.exe" : "node"), path: bin };
}

export const withPath = (path: string | null): Record<string, string> =>
  path === null ? {} : { PATH: `${path}${delimiter}${process.env["PATH"] ?? ""}` };

/** npm by its own file: no shell is needed, on Windows either. */
const npm = (args: readonly string[]): readonly [string, readonly string[]] =>
  process.env["npm_execpath"] === undefined
    ? [process.platform === "win32" ? "npm.cmd" : "npm", args]
    : [process.execPath, [process.env["npm_execpath"], ...args]];

/** Built once for a run of the matrix; the promise is what the others wait for. */
let built: Promise<string | null> | null = null;

async function build(context: RunContext): Promise<string | null> {
  for (const script of ["setup", "build"]) {
    const [command, args] = npm(["run", script]);
    const end = await runProcess({ ...context, command, args, cwd: root, timeoutMs: context.buildMs });
    const problem = processProblem(end, `npm run ${script}`, context.buildMs);
    if (problem !== null) return problem;
  }
  return null;
}

export async function runOnHost(context: RunContext): Promise<Outcome> {
  const where = "this machine";
  built ??= build(context);
  const unbuilt = await built;
  if (unbuilt !== null) return failed(where, unbuilt);
  const { program, path } = await nodeProgram(context.run.node);
  const end = await runProcess({
    ...context,
    command: program,
    args: cellArguments(context.run, context.platform, context.tests, context.out),
    cwd: root,
    environment: { CI: "1", NO_COLOR: "1", FORCE_COLOR: undefined, ...withPath(path) },
  });
  const problem = processProblem(end, "the cell", context.timeoutMs);
  return problem === null ? passed(where) : failed(where, problem);
}
