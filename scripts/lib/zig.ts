// zig's clang, which makes Windows binaries for arm64 on Linux: it comes with mingw-w64's headers and libc++ for that processor, as no
// package of Debian's does.
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { downloadWheel } from "../../src/fetch/download.ts";
import { FetchFailure } from "../../src/fetch/download-failure.ts";
import { sha256 } from "../../src/fetch/directml-library.ts";
import { cached } from "../tools/archive.ts";
import { ScriptError, at, cacheFolder } from "../tools/project.ts";

const version = "0.17.1";

export const pinnedZig = {
  project: "ziglang",
  file: `ziglang-${version}-py3-none-manylinux_2_12_x86_64.manylinux2010_x86_64.musllinux_1_1_x86_64.whl`,
  sha256: "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54",
};

const by = `Check the network and the index (PIP_INDEX_URL; behind a proxy NODE_USE_ENV_PROXY=1 from Node 24 on), or put the file into ${cacheFolder("packages")}.`;

/** The wheel: from the cache where it lies there, else from the index. */
async function wheel(): Promise<Buffer> {
  const file = cacheFolder("packages", pinnedZig.file);
  try {
    const index = process.env.PIP_INDEX_URL || "https://pypi.org/simple";
    const bytes = existsSync(file) ? readFileSync(file) : await downloadWheel(index, pinnedZig, () => {});
    const received = sha256(bytes);
    if (received !== pinnedZig.sha256)
      throw new ScriptError("DIGEST", `${pinnedZig.file} has SHA-256 ${received}, expected ${pinnedZig.sha256}.`, by);
    return bytes;
  } catch (error) {
    if (error instanceof FetchFailure) throw new ScriptError(error.code, error.message, by);
    throw error;
  }
}

/** The program, fetched once into the cache with its libraries and its licence. */
async function ensureZig(): Promise<string> {
  const folder = await cached(`zig-${version}`, async (work) => {
    const { unzipSync } = await import("fflate");
    const files = unzipSync(await wheel(), { filter: ({ name }) => name.startsWith("ziglang/") && !name.endsWith("/") });
    for (const [name, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(work, name)), { recursive: true });
      writeFileSync(join(work, name), bytes);
    }
    chmodSync(join(work, "ziglang", "zig"), 0o755);
  });
  return join(folder, "ziglang", "zig");
}

/**
 * Optimized and without symbols, whatever follows: zig compiles its C++ library again for each such kind of program, CMake's trials are
 * programs too, and no installed strip reads these files.
 */
const target = ["-target", "aarch64-windows-gnu", "-O2", "-s"];

/** CMake wants a program for each job, where zig is one with verbs. */
const programs: Readonly<Record<string, readonly string[]>> = {
  "c++": ["c++", ...target],
  ar: ["ar"],
  ranlib: ["ranlib"],
  dlltool: ["dlltool", "-m", "arm64"],
  rc: ["rc"],
};

/** What a program's file says. Its own libraries, which zig compiles when they are first linked (minutes), outlive the repository. */
export const wrapper = (zig: string, verb: readonly string[]): string =>
  `#!/bin/sh
ZIG_GLOBAL_CACHE_DIR='${cacheFolder("zig-cache")}' ZIG_LOCAL_CACHE_DIR='${at("build", "zig", "cache")}' exec '${zig}' ${verb.join(" ")} "$@"
`;

/** Why zig can't run on this machine; null where it can. */
export const cannotZig = (platform = process.platform, arch = process.arch): string | null =>
  platform === "linux" && arch === "x64"
    ? null
    : `the compiler for Windows on arm64 is pinned for Linux on x64; this is ${platform}-${arch}`;

/** The folder of programs that native/cmake/zig.cmake asks for. */
export async function ensureZigTools(): Promise<string> {
  const problem = cannotZig();
  if (problem !== null) throw new ScriptError("PLATFORM", `No compiler: ${problem}.`);
  const zig = await ensureZig();
  const folder = at("build", "zig", "tools");
  mkdirSync(folder, { recursive: true });
  for (const [name, verb] of Object.entries(programs)) {
    const [file, text] = [join(folder, name), wrapper(zig, verb)];
    // Another build may be running it.
    if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text, { mode: 0o755 });
  }
  return folder;
}
