// Mesa's lavapipe, a Vulkan driver that runs on the processor, and Vulkan's loader: from Debian's archive, without root, into
// the cache. It stands in for a GPU's driver where there is none.
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { execa } from "execa";
import { $ } from "zx";
import { ownApt } from "../../tools/own-apt.ts";
import { causeOf } from "../../tools/cause.ts";
import { cached, fetchPackage, mirrors, unpackPackage } from "../../tools/archive.ts";
import { ScriptError, cache, say } from "../../tools/project.ts";

const shell = $({ quiet: true, nothrow: true });

// 25.0: DirectML's kernels fail on Debian 12's own 22.3.
const driverPackages = [
  {
    pool: "m/mesa/mesa-vulkan-drivers_25.0.7-2~bpo12+1_amd64.deb",
    sha256: "3899f1800424c60a05df5d6913076a526ca8fdbabec43672cd397563d1ca3263",
    sha1: "690815f474701be97646657f06069dcd3d56f644",
  },
  {
    pool: "v/vulkan-loader/libvulkan1_1.3.239.0-1_amd64.deb",
    sha256: "622f28b807ba55a1f5ad1622ff83aa2c5b11fedbec074850e04c10a8f28b43d3",
    sha1: "073903cdd77c6b6852e6adf3f566de3f7fa20e8d",
  },
];
const suite = "bookworm";
/** Names the driver and its version. */
export const lavapipe = "lavapipe-25.0.7-2";
const lib = "usr/lib/x86_64-linux-gnu";

/** Libraries that the driver needs and neither the machine nor the folder has. */
async function missingLibraries(folder: string) {
  const done = await execa("ldd", [join(folder, "libvulkan_lvp.so")], { env: { LD_LIBRARY_PATH: folder }, reject: false });
  if (done.exitCode === undefined) throw new ScriptError("LDD_MISSING", "ldd is needed to look at the driver, and was not found.");
  const versions = [...`${done.stdout}\n${done.stderr}`.matchAll(/version `(GLIBC_[\d.]+)' not found/g)].map((match) => match[1]!);
  if (versions.length > 0)
    throw new ScriptError(
      "GLIBC_OLD",
      `The driver needs ${versions.at(-1)}, which this machine's C library lacks.`,
      "Use a Vulkan driver of the machine's own: npm run verify:linux -- --driver system",
    );
  return [...done.stdout.matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1]!);
}

const apt = async (cwd: string, ...args: string[]) => {
  const done = await shell({ cwd })`${args}`;
  if (done.exitCode !== 0) throw new Error(done.stderr.trim().split("\n").at(-1));
  return done.stdout;
};

/** Arguments of an apt that has read the first mirror that has Debian's suite of the driver. */
async function readArchive(state: string) {
  const problems: string[] = [];
  for (const mirror of await mirrors()) {
    const options = ownApt(state, { mirror, suite, architecture: "amd64" });
    try {
      await apt(state, "apt-get", "-qq", ...options, "update");
      return options;
    } catch (error) {
      problems.push(`${mirror}: ${causeOf(error)}`);
    }
  }
  throw new Error(problems.join("; "));
}

/** Downloads and unpacks the packages that the driver depends on; apt checks the archive's signature. */
async function unpackDependencies(into: string) {
  const state = mkdtempSync(join(cache, "apt-"));
  try {
    const options = await readArchive(state);
    const recurse = ["recurse", "no-recommends", "no-suggests", "no-conflicts", "no-breaks", "no-replaces", "no-enhances"];
    const closure = await apt(state, "apt-cache", ...options, "depends", ...recurse.map((flag) => `--${flag}`), "mesa-vulkan-drivers");
    const names = [...new Set([...closure.matchAll(/^(lib[^:\s]*)$/gm)].map((match) => match[1]!))];
    // The C and C++ runtimes must be the machine's own.
    const wanted = names.filter((name) => !/^lib(c6|gcc-s1|stdc\+\+6|crypt1)$/.test(name));
    await apt(state, "apt-get", "-qq", ...options, "download", ...wanted);
    for (const file of readdirSync(state).filter((name) => name.endsWith(".deb"))) await unpackPackage(join(state, file), into);
  } catch (error) {
    if (error instanceof ScriptError) throw error;
    throw new ScriptError(
      "DRIVER_LIBRARIES",
      `The libraries that lavapipe needs could not be fetched: ${causeOf(error)}`,
      "Install Mesa's Vulkan drivers (Debian, Ubuntu: sudo apt-get install -y mesa-vulkan-drivers) and use them: npm run verify:linux -- --driver system",
    );
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}

/** Copies what the driver lacks out of an unpacked tree; a library may lack another one. */
async function copyMissing(from: string, folder: string) {
  const files = readdirSync(from, { recursive: true, encoding: "utf8" });
  for (let missing = await missingLibraries(folder); missing.length > 0;) {
    for (const name of missing) {
      const file = files.find((path) => basename(path) === name);
      if (file === undefined) throw new ScriptError("DRIVER_LIBRARIES", `The driver lacks ${name}, which none of its packages has.`);
      copyFileSync(join(from, file), join(folder, name));
    }
    missing = await missingLibraries(folder);
  }
}

async function make(work: string, folder: string) {
  for (const file of await Promise.all(driverPackages.map(fetchPackage))) await unpackPackage(file, join(work, "root"));
  const from = join(work, "root", lib);
  copyFileSync(join(from, "libvulkan_lvp.so"), join(work, "libvulkan_lvp.so"));
  copyFileSync(join(from, "libvulkan.so.1"), join(work, "libvulkan.so.1"));
  const missing = await missingLibraries(work);
  if (missing.length > 0) {
    say(`lavapipe: this machine lacks ${missing.join(", ")}`);
    await unpackDependencies(join(work, "root"));
    await copyMissing(join(work, "root"), work);
  }
  rmSync(join(work, "root"), { recursive: true });
  const driver = { file_format_version: "1.0.0", ICD: { library_path: join(folder, "libvulkan_lvp.so"), api_version: "1.4.305" } };
  writeFileSync(join(work, "lvp.json"), `${JSON.stringify(driver)}\n`);
}

/** Environment in which Vulkan is lavapipe alone. */
export async function lavapipeEnvironment() {
  const folder = await cached(lavapipe, make);
  if (!readFileSync(join(folder, "lvp.json"), "utf8").includes(folder)) {
    // The cache was moved.
    rmSync(folder, { recursive: true });
    return lavapipeEnvironment();
  }
  const driver = join(folder, "lvp.json");
  return {
    LD_LIBRARY_PATH: [folder, process.env.LD_LIBRARY_PATH].filter(Boolean).join(":"),
    VK_DRIVER_FILES: driver,
    // The name that loaders before 1.3.207 know.
    VK_ICD_FILENAMES: driver,
    MESA_SHADER_CACHE_DIR: process.env.MESA_SHADER_CACHE_DIR ?? join(cache, "shader-cache"),
  };
}
