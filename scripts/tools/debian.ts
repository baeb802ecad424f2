// A minimal Debian, made by debootstrap from the first mirror that has it.
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { ScriptError, say } from "./project.ts";
import { mirrorsOf, readAptMirror } from "./suites.ts";

/** The text of apt's sources on this machine. */
function aptText(): string {
  const folder = "/etc/apt/sources.list.d";
  const files = ["/etc/apt/sources.list", ...(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [])];
  return files
    .filter((file) => existsSync(file) && /\.(list|sources)$/.test(file))
    .map((file) => readFileSync(file, "utf8"))
    .join("\n");
}

/** Mirrors to try for a suite: `given`, else DXTENSOR_DEBIAN_MIRROR's, else apt's own and the usual ones. */
const mirrorsFor = (suite: string, explicit: string | undefined): string[] =>
  mirrorsOf(suite, { explicit, variable: process.env.DXTENSOR_DEBIAN_MIRROR, apt: readAptMirror(aptText()) });

/** Null, or why it failed. */
async function attempt(suite: string, root: string, mirror: string, include: readonly string[]): Promise<string | null> {
  rmSync(root, { recursive: true, force: true });
  const options = ["--variant=minbase", ...(include.length > 0 ? [`--include=${include.join(",")}`] : [])];
  const done = await execa("debootstrap", [...options, suite, root, mirror], {
    reject: false,
    stdin: "ignore",
    all: true,
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin` },
  });
  if (!done.failed) return null;
  const lines = done.all.trim().split("\n");
  return lines.find((line) => line.startsWith("E:")) ?? lines.at(-1) ?? done.shortMessage ?? "it failed";
}

interface Options {
  readonly mirror?: string | undefined;
  /** Additional packages. */
  readonly include?: readonly string[];
  /** Who says so. */
  readonly caller: string;
}

/** Makes the suite in the folder `root`; gives the mirror that it came from. As root. */
export async function debootstrap(suite: string, root: string, { mirror: explicit, include = [], caller }: Options): Promise<string> {
  const problems: string[] = [];
  for (const mirror of mirrorsFor(suite, explicit)) {
    say(`${caller}: debootstrap ${suite} from ${mirror} (half a minute)`);
    const problem = await attempt(suite, root, mirror, include);
    if (problem === null) return mirror;
    problems.push(`${mirror}: ${problem}`);
  }
  throw new ScriptError(
    "BOOTSTRAP",
    `debootstrap could not make ${suite}:\n  ${problems.join("\n  ")}`,
    `If ${suite} has moved, name where it is now: DXTENSOR_DEBIAN_MIRROR=${suite}=URL or --mirror URL`,
  );
}
