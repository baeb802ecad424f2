/** The files that are tested: of the working tree, or of a commit. */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import * as tar from "tar";
import { MatrixError } from "../errors.ts";

export type Part = "all" | "native";

export interface Sources {
  /** "commit 0123456789ab", or how the working tree differs from it. */
  readonly what: string;
  /** Of everything that cells use, and of what the native build alone reads. */
  readonly hash: string;
  readonly nativeHash: string;
  /** A tar of the files; all bear the same time, so that equal content is never built again. */
  archive(part: Part): Promise<Buffer>;
}

/** What the native build reads: the scripts with the one file of src that they import, and CMake's inputs. */
const inNative = (path: string): boolean =>
  path.startsWith("native/") ||
  path.startsWith("scripts/") ||
  ["CMakeLists.txt", "package.json", "package-lock.json", ".npmrc", "src/core/did-you-mean.ts"].includes(path);

/** Files that no cell reads: a new page of the manual builds nothing again. */
const unused = (path: string): boolean =>
  ["docs/", ".github/", ".ci/", "devcontainer/", ".devcontainer", "wsl/"].some((start) => path.startsWith(start));

function hashOf(folder: string, files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const file of files) {
    const path = join(folder, file);
    const info = lstatSync(path);
    const body = info.isSymbolicLink() ? Buffer.from(readlinkSync(path)) : readFileSync(path);
    hash.update(`${file}\0${info.mode & 0o111 ? "x" : "-"}\0${body.length}\0`);
    hash.update(body);
  }
  return hash.digest("hex");
}

/** The whole tar: a file that has gone meanwhile is then an error of this promise and not of a stream that nobody looks at. */
const readTar = (pack: NodeJS.EventEmitter): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    pack.on("data", (piece: Buffer) => pieces.push(piece));
    pack.on("end", () => resolve(Buffer.concat(pieces)));
    pack.on("error", reject);
  });

/** A folder's files as sources. */
export function sourcesOf(folder: string, what: string, names: readonly string[]): Sources {
  const all = names.filter((name) => !unused(name)).toSorted();
  const native = all.filter(inNative);
  return {
    what,
    hash: hashOf(folder, all),
    nativeHash: hashOf(folder, native),
    archive: (part) =>
      readTar(tar.c({ cwd: folder, portable: true, mtime: new Date("2000-01-01"), noDirRecurse: true }, part === "all" ? all : native)),
  };
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  const done = await execa("git", args, { cwd, reject: false });
  if (done.failed)
    throw new MatrixError(
      `git ${args[0]} failed: ${done.stderr || done.shortMessage}`,
      "The matrix takes its sources from a git checkout.",
    );
  return done.stdout;
}

/** commit: undefined for the working tree as it is. A commit's files are laid into `work` first. */
export async function readSources(root: string, work: string, commit?: string): Promise<Sources> {
  if (commit === undefined) {
    const listed = await git(root, ["ls-files", "-coz", "--exclude-standard"]);
    const names = [...new Set(listed.split("\0"))].filter(
      (name) => name !== "" && existsSync(join(root, name)) && !lstatSync(join(root, name)).isDirectory(),
    );
    const head = (await git(root, ["rev-parse", "HEAD"])).trim().slice(0, 12);
    const isClean = (await git(root, ["status", "--porcelain"])) === "";
    return sourcesOf(root, isClean ? `commit ${head}` : `working tree, changed since commit ${head}`, names);
  }
  const id = (await git(root, ["rev-parse", "--verify", `${commit}^{commit}`])).trim();
  const folder = join(work, "source");
  mkdirSync(folder, { recursive: true });
  const file = join(work, "source.tar");
  await git(root, ["archive", "--format=tar", "-o", file, id]);
  await new Promise<void>((resolve, reject) => {
    createReadStream(file)
      .pipe(tar.x({ cwd: folder }))
      .on("close", resolve)
      .on("error", reject);
  });
  const names = (await git(root, ["ls-tree", "-r", "-z", "--name-only", id]))
    .split("\0")
    .filter((name) => name !== "" && existsSync(join(folder, name)));
  return sourcesOf(folder, `commit ${id.slice(0, 12)}`, names);
}
