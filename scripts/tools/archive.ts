// Packages of Debian's archive that are pinned by version and SHA-256: fetched without root into a cache outside the repository.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { execa } from "execa";
import { $, which } from "zx";
import { causeOf } from "./cause.ts";
import { ScriptError, cache, say } from "./project.ts";

const shell = $({ quiet: true, nothrow: true });

const digest = (bytes: Buffer | Uint8Array, algorithm = "sha256") => createHash(algorithm).update(bytes).digest("hex");

export interface Package {
  /** Path below pool/main. */
  readonly pool: string;
  readonly sha256: string;
  readonly sha1: string;
}

/** The mirror that this machine's apt takes Debian's packages from, undefined where it has none. */
async function aptMirror() {
  if (!(await which("apt-get", { nothrow: true }))) return undefined;
  const uris = await shell`apt-get update --print-uris -o Debug::NoLocking=1`;
  // security and updates are other archives
  return uris.stdout.match(/^'(\S+)\/dists\/[\w.]+\/InRelease'/m)?.[1]?.replace(/\/debian-security$/, "/debian");
}

/** Mirrors of Debian's archive, best first: the named one, apt's own, Debian's. */
export const mirrors = async () =>
  [process.env.DXTENSOR_DEBIAN_MIRROR, await aptMirror(), "http://deb.debian.org/debian"]
    .filter((mirror): mirror is string => mirror !== undefined && mirror !== "")
    .map((mirror) => mirror.replace(/\/$/, ""));

async function addresses({ pool, sha1 }: Package): Promise<string[]> {
  const names = [...new Set((await mirrors()).map((mirror) => `${mirror}/pool/main/${pool}`))];
  // It keeps what mirrors drop when a newer version comes.
  return [...names, `https://snapshot.debian.org/file/${sha1}`];
}

/** Bytes from an address; apt's own helper is asked too, since it knows the machine's proxies. */
async function download(url: string) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(120_000) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return Buffer.from(await answer.arrayBuffer());
  } catch (error) {
    const helper = "/usr/lib/apt/apt-helper";
    if (!existsSync(helper)) throw error;
    const work = mkdtempSync(join(cache, "download-"));
    try {
      const done = await execa(helper, ["-o", "APT::Sandbox::User=root", "download-file", url, join(work, "file")], { reject: false });
      if (done.failed) throw error;
      return readFileSync(join(work, "file"));
    } finally {
      rmSync(work, { recursive: true });
    }
  }
}

/** The file in the cache, fetched if it is not there. package: {pool: path below pool/main, sha256, sha1}. */
export async function fetchPackage(wanted: Package): Promise<string> {
  const file = join(cache, "packages", basename(wanted.pool));
  if (existsSync(file) && digest(readFileSync(file)) === wanted.sha256) return file;
  mkdirSync(dirname(file), { recursive: true });
  const problems: string[] = [];
  for (const url of await addresses(wanted)) {
    try {
      const bytes = await download(url);
      const received = digest(bytes);
      if (received !== wanted.sha256) throw new Error(`SHA-256 is ${received}, expected ${wanted.sha256}`);
      writeFileSync(`${file}.new`, bytes);
      renameSync(`${file}.new`, file);
      return file;
    } catch (error) {
      problems.push(`  ${url}: ${causeOf(error)}`);
    }
  }
  throw new ScriptError(
    "PACKAGE_FETCH",
    `${basename(wanted.pool)} could not be fetched:\n${problems.join("\n")}`,
    `Set DXTENSOR_DEBIAN_MIRROR to a Debian mirror, or put the file into ${dirname(file)}.`,
  );
}

/** Unpacks a package into a folder. */
export async function unpackPackage(file: string, into: string) {
  mkdirSync(into, { recursive: true });
  const done = (await which("dpkg-deb", { nothrow: true }))
    ? await shell`dpkg-deb -x ${file} ${into}`
    : // A .deb is an ar archive around data.tar.xz.
      await shell`cd ${into} && ar x ${file} && tar -xf data.tar.* && rm -f data.tar.* control.tar.* debian-binary`;
  if (done.exitCode !== 0)
    throw new ScriptError(
      "PACKAGE_UNPACK",
      `${file} could not be unpacked: ${done.stderr.trim()}`,
      "Install dpkg, or binutils, tar and xz.",
    );
}

/**
 * A folder in the cache, made by body when it is not there; it appears at once and whole. The name holds the versions, so that a
 * change of a pin makes another folder.
 */
export async function cached(name: string, body: (work: string, folder: string) => Promise<void>): Promise<string> {
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, "making-"));
  try {
    say(`fetching ${name} into ${cache}`);
    await body(work, folder);
    try {
      renameSync(work, folder);
    } catch (error) {
      // Another process was faster.
      if (!existsSync(folder)) throw error;
    }
    return folder;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
