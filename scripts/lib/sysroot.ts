// The sysroot of released Linux binaries: glibc 2.31 and GCC 10's C++ library of Debian 11 (glibc 2.31 is Ubuntu 20.04's too).
import { existsSync, lstatSync, readFileSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { createHash } from "node:crypto";
import { at } from "../tools/project.ts";
import { cached, fetchPackage, unpackPackage, type Package } from "../tools/archive.ts";

/** Pinned, by Node's name of the architecture. */
const packages: Readonly<Record<Architecture | "run-arm64" | "engines-arm64" | "run-engines-arm64", readonly Package[]>> = JSON.parse(
  readFileSync(at("scripts", "lib", "sysroot-packages.json"), "utf8"),
);

const versionOf = (wanted: readonly Package[]) => createHash("sha256").update(JSON.stringify(wanted)).digest("hex").slice(0, 8);

/** The newest glibc that a released binary may ask for, and nothing of a C++ library of the system's. */
export const glibc = "2.31";

export type Architecture = "x64" | "arm64";

export const triplets: Readonly<Record<Architecture, string>> = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };

/** Debian's links lead from the root of the system: here they lead from the folder. */
function makeLinksRelative(folder: string, root = folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makeLinksRelative(path, root);
    else if (lstatSync(path).isSymbolicLink() && readlinkSync(path).startsWith("/")) {
      const target = join(root, readlinkSync(path));
      rmSync(path);
      symlinkSync(relative(dirname(path), target), path);
    }
  }
}

/** The folder to hand to a compiler as --sysroot; fetched once into the cache. */
export async function ensureSysroot(arch: Architecture): Promise<string> {
  const wanted = packages[arch];
  return cached(`sysroot-${glibc}-${arch}-${versionOf(wanted)}`, async (work: string) => {
    for (const file of await Promise.all(wanted.map(fetchPackage))) await unpackPackage(file, work);
    makeLinksRelative(work);
    // A compiler's intrinsics are its own: GCC 10's would be found first.
    for (const name of ["include", "include-fixed", "plugin"])
      rmSync(join(work, "usr", "lib", "gcc", triplets[arch], "10", name), { recursive: true, force: true });
    // Debian 11 has merged its folders: the linker's scripts name /lib.
    for (const name of ["lib", "lib64"]) if (!existsSync(join(work, name))) symlinkSync(`usr/${name}`, join(work, name));
  });
}

/** What Node's own binary needs in addition to the sysroot, to run it under emulation: a folder of libraries. */
export async function ensureRunLibraries(arch: "arm64"): Promise<string> {
  const wanted = packages[`run-${arch}`];
  const folder = await cached(`run-${glibc}-${arch}-${versionOf(wanted)}`, async (work: string) => {
    for (const file of await Promise.all(wanted.map(fetchPackage))) await unpackPackage(file, work);
  });
  return join(folder, "usr", "lib", triplets[arch]);
}

/** Gloo with what it needs, and the headers of both kinds of MPI, for another CPU: Debian 12's, as this machine's own are. */
export async function ensureEngineRoot(arch: "arm64"): Promise<string> {
  const wanted = packages[`engines-${arch}`];
  return cached(`engines-${arch}-${versionOf(wanted)}`, async (work) => {
    for (const file of await Promise.all(wanted.map(fetchPackage))) await unpackPackage(file, work);
  });
}

/** A system of another CPU that has the glibc of the engines: to run their addon under emulation. */
export async function ensureEngineSystem(arch: "arm64"): Promise<string> {
  const wanted = packages[`run-engines-${arch}`];
  return cached(`run-engines-${arch}-${versionOf(wanted)}`, async (work) => {
    for (const file of await Promise.all(wanted.map(fetchPackage))) await unpackPackage(file, work);
    makeLinksRelative(work);
  });
}
