// npm run build:windows: the addon, the software adapter and the native test programs for Windows, made on Linux by mingw-w64 or zig.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { canInstall, installPackages } from "./tools/apt.ts";
import { ask } from "./tools/program.ts";
import { ScriptError, at, headers, main, root, say, tool } from "./tools/project.ts";
import { headersProblem } from "./lib/headers.ts";
import { withLock } from "./tools/lock.ts";
import { runStep } from "./tools/steps.ts";
import { triplets, type Architecture } from "./lib/sysroot.ts";
import { buildWindows, prebuiltWindows, windowsFiles, windowsPrograms } from "./lib/windows-files.ts";
import { windowsProblems } from "./lib/windows-image.ts";
import { ensureZigTools } from "./lib/zig.ts";

const help = `npm run build:windows [-- OPTIONS]

Cross-compiles for Windows x64: dxtensor.node and dxtensor_software.dll into prebuilds/win32-x64, where the library looks for them on Windows, and the
test programs into build/windows. Quick when nothing changed. Needs mingw-w64 (Debian, Ubuntu: g++-mingw-w64-x86-64-posix); on Windows itself
use npm run build. For arm64 (prebuilds/win32-arm64, build/windows-arm64) the compiler is zig's, which is fetched into the cache.

  --arch NAME  x64 or arm64 (x64)
  --runtime    leave the test programs out
  --fresh      configure again
  --json       one line of JSON on stdout: {ok, files, programs} or {ok, code, message, hint}
  --help       this text`;

const isArchitecture = (name: string): name is Architecture => Object.hasOwn(triplets, name);

const compiler = "x86_64-w64-mingw32-g++-posix";

async function needCompiler() {
  const isThere = () => ask(compiler, ["--version"]) !== null;
  if (isThere()) return;
  const name = "g++-mingw-w64-x86-64-posix";
  if (canInstall()) {
    await installPackages("build:windows", [name]);
    if (isThere()) return;
  }
  const install = `sudo apt-get install -y --no-install-recommends ${name}`;
  throw new ScriptError("TOOLS_MISSING", `${compiler} was not found.`, `Debian, Ubuntu: ${install}`);
}

/** CMake's settings for a compiler, which is there afterwards. */
async function compilerSettings(arch: Architecture): Promise<Readonly<Record<string, string>>> {
  if (arch === "arm64") return { CMAKE_TOOLCHAIN_FILE: at("native", "cmake", "zig.cmake"), DXTENSOR_ZIG_TOOLS: await ensureZigTools() };
  await needCompiler();
  return { CMAKE_TOOLCHAIN_FILE: at("native", "cmake", "mingw.cmake") };
}

interface WindowsBuild {
  readonly arch?: Architecture;
  readonly isRuntimeOnly?: boolean;
  readonly isReconfigured?: boolean;
}

/** Builds what is out of date; gives the files of the package and the test programs. */
export async function buildForWindows({ arch = "x64", isRuntimeOnly = false, isReconfigured = false }: WindowsBuild = {}) {
  if (process.platform === "win32") throw new ScriptError("PLATFORM", "This is Windows: npm run build makes everything here.");
  const settings = await compilerSettings(arch);
  const [folder, prebuilt] = [buildWindows(arch), prebuiltWindows(arch)];
  const problem = headersProblem(headers);
  if (problem !== null) throw new ScriptError("HEADERS_MISSING", `No usable DirectX headers: ${problem}.`, "Run: npm run setup");
  await withLock(`${folder}.lock`, async () => {
    const isConfigured = ["build.ninja", "Makefile"].some((name) => existsSync(join(folder, name)));
    if (isReconfigured || !isConfigured) {
      const args = [
        isReconfigured ? "reconfigure" : "configure",
        "-O",
        relative(root, folder),
        "--config",
        "Release",
        "--log-level",
        "warn",
      ];
      const defines = Object.entries(settings).map(([name, value]) => `--CD${name}=${value}`);
      await runStep("CMake", tool("cmake-js"), [...args, ...defines]);
    }
    const targets = isRuntimeOnly ? ["--target", "dxtensor_addon", "dxtensor_software"] : [];
    await runStep("The build for Windows", "cmake", ["--build", folder, "--parallel", String(availableParallelism()), ...targets]);
    mkdirSync(prebuilt, { recursive: true });
    for (const name of windowsFiles) {
      const made = join(folder, "Release", name);
      const problems = windowsProblems(name, readFileSync(made), arch);
      if (problems.length > 0) throw new ScriptError("FOREIGN", `${made}: ${problems.join("; ")}.`);
      copyFileSync(made, join(prebuilt, `${name}.new`));
      renameSync(join(prebuilt, `${name}.new`), join(prebuilt, name));
    }
  });
  return {
    files: windowsFiles.map((name) => join(prebuilt, name)),
    programs: isRuntimeOnly ? [] : windowsPrograms.map((name) => join(folder, "native", "test", name)),
  };
}

if (process.argv[1] === at("scripts", "build-windows.ts")) {
  const isJson = process.argv.includes("--json");
  await main(
    async () => {
      const { values } = parseArgs({
        options: {
          arch: { type: "string", default: "x64" },
          runtime: { type: "boolean", default: false },
          fresh: { type: "boolean", default: false },
          json: { type: "boolean", default: false },
        },
      });
      const { arch } = values;
      if (!isArchitecture(arch))
        throw new ScriptError("USAGE", `There is no build for "${arch}".`, `--arch takes ${Object.keys(triplets).join(" or ")}.`);
      const start = performance.now();
      const made = await buildForWindows({ arch, isRuntimeOnly: values.runtime, isReconfigured: values.fresh });
      if (isJson) console.log(JSON.stringify({ ok: true, ...made }));
      else say(`build:windows: ${made.files.join(", ")} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      return 0;
    },
    help,
    { tellsFailures: true },
  );
}
