// The addon and the software adapter for each platform that a package is published for: cross-compiled where a toolchain is available.
import { existsSync, mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { ask } from "../tools/program.ts";
import { ScriptError, at, headers, root, say } from "../tools/project.ts";
import { headersProblem } from "./headers.ts";
import { withLock } from "../tools/lock.ts";
import { runStep } from "../tools/steps.ts";
import { ensureSysroot, triplets, type Architecture } from "./sysroot.ts";
import { cannotZig } from "./zig.ts";
import { buildForWindows } from "../build-windows.ts";

const has = (command: string) => ask(command, ["--version"]) !== null;

const architectureOf = (platform: string) => platform.split("-").at(-1) as Architecture;

/** Why a platform's binaries can't be made on this machine, with what would help; null where they can. */
export function cannotBuild(platform: string): string | null {
  if (process.platform !== "linux") return "released binaries are made on Linux";
  if (platform === "win32-x64") return null;
  if (platform === "win32-arm64") return cannotZig();
  const triplet = triplets[architectureOf(platform)];
  const name = triplet.startsWith("x86") ? "g++" : `g++-${triplet}`;
  return has(`${triplet}-g++`) ? null : `${triplet}-g++ was not found: sudo apt-get install -y --no-install-recommends ${name}`;
}

/** Where a platform's build lies, and CMake's settings for linking against the sysroot. */
export async function sysrootSettings(arch: Architecture) {
  return {
    CMAKE_BUILD_TYPE: "Release",
    CMAKE_TOOLCHAIN_FILE: at("native", "cmake", "sysroot.cmake"),
    DXTENSOR_SYSROOT: await ensureSysroot(arch),
    DXTENSOR_TRIPLET: triplets[arch],
  };
}

export const defines = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => `-D${name}=${value}`);

/** The release tells of other things. */
const quietly = { isQuiet: true } as const;

async function buildLinux(arch: Architecture, wanted: readonly string[] = ["dxtensor_addon", "dxtensor_software"]) {
  const problem = headersProblem(headers);
  if (problem !== null) throw new ScriptError("HEADERS_MISSING", `No usable DirectX headers: ${problem}.`, "Run: npm run setup");
  const folder = at("build", `linux-${arch}`);
  const made = join(folder, "Release");
  const settings = {
    ...(await sysrootSettings(arch)),
    DXTENSOR_TESTS: "ON",
    CMAKE_JS_INC: at("node_modules", "node-api-headers", "include"),
    CMAKE_LIBRARY_OUTPUT_DIRECTORY: made,
  };
  await withLock(at("build", `linux-${arch}.lock`), async () => {
    mkdirSync(folder, { recursive: true });
    const generator = !existsSync(join(folder, "CMakeCache.txt")) && has("ninja") ? ["-G", "Ninja"] : [];
    await runStep("CMake", "cmake", ["-S", root, "-B", folder, "--log-level=WARNING", ...generator, ...defines(settings)], quietly);
    await runStep(
      `The build for linux-${arch}`,
      "cmake",
      ["--build", folder, "--parallel", String(availableParallelism()), "--target", ...wanted],
      quietly,
    );
  });
  return ["dxtensor.node", "libdxtensor_software.so"].map((name) => join(made, name));
}

/** One of the native test programs for another CPU. */
export async function buildLinuxTest(arch: Architecture, name: string): Promise<string> {
  await buildLinux(arch, [name]);
  return at("build", `linux-${arch}`, "native", "test", name);
}

/** The files of a platform's package; builds what is out of date. */
export async function buildPlatform(platform: string) {
  const start = performance.now();
  const arch = architectureOf(platform);
  const files = platform.startsWith("win32") ? (await buildForWindows({ arch, isRuntimeOnly: true })).files : await buildLinux(arch);
  say(`release: ${platform} built (${((performance.now() - start) / 1000).toFixed(0)} s)`);
  return files;
}
