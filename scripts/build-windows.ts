// npm run build:windows: the addon, the software adapter and the native test programs for Windows x64, made on Linux by mingw-w64.
import { copyFileSync, existsSync, mkdirSync, renameSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { canInstall, installPackages } from "./tools/apt.ts";
import { ask } from "./tools/program.ts";
import { ScriptError, at, headers, main, say, tool } from "./tools/project.ts";
import { headersProblem } from "./lib/headers.ts";
import { withLock } from "./tools/lock.ts";
import { runStep } from "./tools/steps.ts";
import { buildWindows, prebuiltWindows, windowsFiles, windowsPrograms } from "./lib/windows-files.ts";

const help = `npm run build:windows [-- OPTIONS]

Cross-compiles for Windows x64: dxtensor.node and dxtensor_software.dll into prebuilds/win32-x64, where the library looks for them there, and the
test programs into build/windows. Quick when nothing changed. Needs mingw-w64 (Debian, Ubuntu: g++-mingw-w64-x86-64-posix); on Windows itself
npm run build does it.

  --runtime  leave the test programs out
  --fresh    configure anew
  --json     one line of JSON on stdout: {ok, files, programs} or {ok, code, message, hint}
  --help     this text`;

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

/** Builds what is out of date; gives the files of the package and the test programs. */
export async function buildForWindows({ isRuntimeOnly = false, isFresh = false } = {}) {
  if (process.platform === "win32") throw new ScriptError("PLATFORM", "This is Windows: npm run build makes everything here.");
  await needCompiler();
  const problem = headersProblem(headers);
  if (problem !== null) throw new ScriptError("HEADERS_MISSING", `No usable DirectX headers: ${problem}.`, "Run: npm run setup");
  await withLock(at("build", "windows.lock"), async () => {
    const isConfigured = ["build.ninja", "Makefile"].some((name) => existsSync(join(buildWindows, name)));
    if (isFresh || !isConfigured) {
      const args = [isFresh ? "reconfigure" : "configure", "-O", "build/windows", "--config", "Release", "--log-level", "warn"];
      await runStep("CMake", tool("cmake-js"), [...args, `--CDCMAKE_TOOLCHAIN_FILE=${at("native", "cmake", "mingw.cmake")}`]);
    }
    const targets = isRuntimeOnly ? ["--target", "dxtensor_addon", "dxtensor_software"] : [];
    await runStep("The build for Windows", "cmake", ["--build", buildWindows, "--parallel", String(availableParallelism()), ...targets]);
    mkdirSync(prebuiltWindows, { recursive: true });
    for (const name of windowsFiles) {
      copyFileSync(join(buildWindows, "Release", name), join(prebuiltWindows, `${name}.new`));
      renameSync(join(prebuiltWindows, `${name}.new`), join(prebuiltWindows, name));
    }
  });
  return {
    files: windowsFiles.map((name) => join(prebuiltWindows, name)),
    programs: isRuntimeOnly ? [] : windowsPrograms.map((name) => join(buildWindows, "native", "test", name)),
  };
}

if (process.argv[1] === at("scripts", "build-windows.ts")) {
  const isJson = process.argv.includes("--json");
  await main(
    async () => {
      const { values } = parseArgs({
        options: {
          runtime: { type: "boolean", default: false },
          fresh: { type: "boolean", default: false },
          json: { type: "boolean", default: false },
        },
      });
      const start = performance.now();
      const made = await buildForWindows({ isRuntimeOnly: values.runtime, isFresh: values.fresh });
      if (isJson) console.log(JSON.stringify({ ok: true, ...made }));
      else say(`build:windows: ${made.files.join(", ")} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      return 0;
    },
    help,
    { tellsFailures: true },
  );
}
