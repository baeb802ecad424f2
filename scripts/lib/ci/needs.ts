// Checks the requirements of a suite on the machine. Each check runs once, before the first suite that needs it.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installPackages } from "../../tools/apt.ts";
import { engineProblem } from "../../tools/docker/probe.ts";
import { ask, runProgram } from "../../tools/program.ts";
import { say, script } from "../../tools/project.ts";
import { needs, type Need, type Suite } from "./table.ts";

/** Programs and libraries that the always-run suites need, with Debian's packages: those of g++ bring the sanitizers' runtimes. */
const tools: readonly (readonly [command: string, pack: string])[] = [
  ["g++", "g++"],
  ["cmake", "cmake"],
  ["ninja", "ninja-build"],
  ["clang-format-14", "clang-format-14"],
  // The same sources are compiled again in each clone, and for each package.
  ["ccache", "ccache"],
  // It names the lines in the sanitizers' reports.
  ["addr2line", "binutils"],
];
const cross: readonly (readonly [command: string, pack: string])[] = [
  ["aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"],
  ["qemu-aarch64-static", "qemu-user-static"],
];

export const hasCommand = (name: string): boolean => ask("which", [name]) !== null;
const lacking = (list: readonly (readonly [command: string, pack: string])[]): string[] =>
  list.filter(([command]) => !hasCommand(command)).map(([, pack]) => pack);

/** Installs what the suites need, where this is CI. False: something could not be installed. */
export async function installTools(): Promise<boolean> {
  const wanted = lacking(tools);
  // dx.linalg runs over it; without, its tests would see the routines in JavaScript only.
  if (!(ask("ldconfig", ["-p"]) ?? ask("/sbin/ldconfig", ["-p"]) ?? "").includes("liblapack.so.3")) wanted.push("liblapack3");
  return wanted.length === 0 || installPackages("ci", wanted);
}

/** An archive answers when apt can read its lists, into a folder of our own. */
async function archiveAnswers(): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-apt-"));
  try {
    for (const name of ["lists/partial", "cache/archives/partial"]) mkdirSync(join(folder, name), { recursive: true });
    const settings = [`Dir::State::Lists=${folder}/lists`, `Dir::Cache=${folder}/cache`, "APT::Update::Error-Mode=any"];
    const args = ["-qq", ...settings.flatMap((setting) => ["-o", setting]), "update"];
    return (await runProgram("apt-get", args, { limitMs: 180_000, stdout: 2, stderr: 2 })).code === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The hosts of apt's sources. */
function archiveHosts(): string[] {
  const folder = "/etc/apt/sources.list.d";
  const files = ["/etc/apt/sources.list", ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [])];
  const text = files.map((file) => (existsSync(file) ? readFileSync(file, "utf8") : "")).join("\n");
  return [...new Set([...text.matchAll(/^[^#\n]*?https?:\/\/([^/ \n]+)/gm)].map(([, host]) => host!))];
}

async function engineWorks(): Promise<boolean> {
  const [command, ...args] = [process.execPath, ...script("docker-engine", "start")] as [string, ...string[]];
  if ((await runProgram(command, args, { limitMs: 300_000, stdout: 2, stderr: 2 })).code !== 0) return false;
  const problem = await engineProblem(archiveHosts());
  if (problem !== null) say(`ci: the Docker engine is of no use: ${problem}`);
  return problem === null;
}

const checks: Readonly<Record<Need, () => boolean | Promise<boolean>>> = {
  "linux-x64": () => process.platform === "linux" && process.arch === "x64",
  root: () => process.getuid?.() === 0,
  namespaces: async () =>
    (await runProgram("unshare", ["--mount", "--pid", "--fork", "true"], { stdout: "ignore", stderr: "ignore" })).code === 0,
  archive: archiveAnswers,
  cross: async () => lacking(cross).length === 0 || (Boolean(process.env.CI) && (await installPackages("ci", lacking(cross)))),
  docker: engineWorks,
};

/** Those that take no time to look at, as for a list. */
const quick: readonly Need[] = ["linux-x64", "root"];

const known = new Map<Need, boolean>();
async function isThere(need: Need): Promise<boolean> {
  const found = known.get(need) ?? (await checks[need]());
  known.set(need, found);
  return found;
}

/** Why this Node is none for the suite; null: it is. */
const nodeProblem = ({ node }: Suite): string | null =>
  node !== undefined && process.versions.node.startsWith(`${node}.`) ? `this is Node ${node}: npm test runs on it` : null;

/** What the machine lacks for a suite, in words; null: nothing. */
export async function lackOf(suite: Suite): Promise<string | null> {
  const problem = nodeProblem(suite);
  if (problem !== null) return problem;
  for (const need of suite.needs) if (!(await isThere(need))) return `this machine lacks ${needs[need]}`;
  return null;
}

/** The same, of what takes no time to look at. */
export function quickLackOf(suite: Suite): string | null {
  const need = suite.needs.find((name) => quick.includes(name) && checks[name]() === false);
  return nodeProblem(suite) ?? (need === undefined ? null : `this machine lacks ${needs[need]}`);
}
