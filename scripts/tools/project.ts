// Where things lie in the repository, and how scripts speak.
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The folder with package.json, whether this file runs compiled or as it is; in a bundle, what lies two folders up. */
function findRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (dirname(folder) === folder) return resolve(start, "..", "..");
  }
}

export const root = findRoot();
export const at = (...parts: string[]): string => join(root, ...parts);
/** Arguments with which Node runs a script of this folder. */
export const script = (name: string, ...args: string[]) => [at("scripts", "run.mjs"), name, ...args];
/** Options with which Node takes a file in TypeScript. */
export const takesTypeScript = ["--import", pathToFileURL(at("scripts", "typescript.mjs")).href];
export const buildNative = at("build", "native");
/** Where cmake-js puts the addon and the libraries. */
export const release = join(buildNative, "Release");
export const headers = at("build", "headers", "usr", "include");

/** In the folder for what can be made again, which outlives the repository: DXTENSOR_CACHE, else the user's cache folder. */
export const cacheFolder = (...parts: string[]) =>
  join(process.env.DXTENSOR_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "dxtensor"), ...parts);
export const cache = cacheFolder();

/** Progress goes to stderr: stdout belongs to results (--json, pack, the programs that a script starts). */
export const say = (text: string): boolean => process.stderr.write(`${text}\n`);

/** A failure with a remedy, shown without a stack. */
export class ScriptError extends Error {
  readonly code: string;
  readonly problem: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(hint === undefined ? message : `${message}\n${hint}`);
    this.name = "ScriptError";
    this.code = code;
    this.problem = message;
    this.hint = hint;
  }
}

/** The help text of a program in TypeScript, read from its source: it may not be compiled yet. */
export function helpOf(...path: string[]): string {
  const found = /^const help = `([^`]*)`;$/m.exec(readFileSync(at(...path), "utf8"));
  if (found === null) throw new Error(`${path.join("/")} has no help text.`);
  return found[1]!;
}

/** What util.parseArgs() says of options that there are not. */
const isUsage = (error: unknown): error is Error =>
  error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("ERR_PARSE_ARGS");

/** The exit status; 0 where none is given. */
type Status = number | undefined | void;

/**
 * Runs a script's body; ScriptErrors end it with status 1 and their text. help: answers --help before anything else is done.
 * tellsFailures: with --json a ScriptError is a line of JSON on stdout, {ok, code, message, hint}.
 */
export async function main(
  body: () => Status | Promise<Status>,
  help?: string,
  { tellsFailures = false }: { readonly tellsFailures?: boolean } = {},
): Promise<void> {
  try {
    if (help !== undefined && process.argv.includes("--help")) {
      console.log(help);
      return;
    }
    const status = await body();
    process.exitCode = status ?? 0;
  } catch (error) {
    if (error instanceof ScriptError && tellsFailures && process.argv.includes("--json"))
      console.log(JSON.stringify({ ok: false, code: error.code, message: error.problem, hint: error.hint }));
    else if (error instanceof ScriptError) say(error.message);
    else if (isUsage(error)) say(`${error.message} (--help lists the options)`);
    else throw error;
    process.exitCode = 1;
  }
}

/** Arguments in which "--json", where no file follows it, stands for "--json=-": standard output. */
export const optionalFile = (args: readonly string[]) =>
  args.map((arg, i: number) => (arg === "--json" && (args[i + 1] ?? "--").startsWith("--") ? "--json=-" : arg));

/** The node_modules/.bin file of a development dependency. */
export function tool(name: string) {
  const file = at("node_modules", ".bin", process.platform === "win32" ? `${name}.cmd` : name);
  if (!existsSync(file)) throw new ScriptError("TOOL_MISSING", `${name} is not installed.`, "Run: npm ci");
  return file;
}
