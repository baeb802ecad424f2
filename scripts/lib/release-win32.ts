// The packages for Windows, installed as for Windows: that for x64 is run by its own node.exe in the Wine cell, of that for arm64 the files are read.
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ask } from "../tools/program.ts";
import { checkScripts, ended, installed, judged, judgedDoctor, judgedVersion } from "./release-checks.ts";
import { programs } from "./release-programs.ts";
import type { Architecture } from "./sysroot.ts";
import { windowsFiles } from "./windows-files.ts";
import { windowsProblems } from "./windows-image.ts";
import { makeCell } from "../cells/wine/cell.ts";
import { recipe } from "../cells/wine/recipe.ts";
import { runInCell } from "../cells/wine/run.ts";

/** Why the package can't be run on this machine; null where it can. */
export function cannotRunWindows(): string | null {
  if (process.platform !== "linux" || process.arch !== "x64") return "the Wine cell needs Linux on x64";
  if (process.getuid?.() !== 0) return "the Wine cell needs root";
  const hasNamespaces = ask("unshare", ["--mount", "--pid", "--fork", "true"]) !== null;
  return hasNamespaces ? null : "the Wine cell needs namespaces";
}

/** Force: npm would not install for another system. */
const foreign = ["--force"];
/** Neither the cell's DirectML.dll nor its adapter: a Windows machine without a GPU. */
const withoutGpu = { DXTENSOR_DIRECTML: "", DXTENSOR_CPU_ADAPTERS: "" };
const command = "node_modules/dxtensor/dist/bundle/cli.js";

/** The programs, the tour and the command on each node.exe of the cell that is asked for. tarballs: of the main package and of win32-x64. */
export async function checkWindows(tarballs: readonly string[], majors: readonly number[]): Promise<string[]> {
  await makeCell();
  const app = await installed(tarballs, foreign);
  const problems: (string | null)[] = checkScripts(app);
  try {
    for (const major of majors.filter((one) => recipe.nodes[one] !== undefined)) {
      const what = `Windows, Node ${recipe.nodes[major]}`;
      const run = (args: readonly string[], env: Record<string, string> = withoutGpu) =>
        runInCell(["node.exe", ...args], { mount: app, node: major, timeoutMs: 120_000, env, stdin: "ignore" });
      for (const name of Object.keys(programs)) problems.push(judged(`${what}, ${name}`, await run([name])));
      problems.push(ended(`${what}, the tour`, await run(["tour.mjs"])));
      problems.push(judgedVersion(what, "Z:\\work\\node_modules\\", await run([command, "--version", "--json"])));
      const doctor = await run([command, "doctor"], {});
      for (const device of ["cpu", "dml:0"]) problems.push(judgedDoctor(what, device, doctor));
    }
  } finally {
    rmSync(app, { recursive: true });
  }
  return problems.filter((problem) => problem !== null);
}

/** What a machine of another kind can tell: it installs, runs no script, and its files are for that processor and stand alone. */
export async function checkWindowsFiles(tarballs: readonly string[], arch: Architecture): Promise<string[]> {
  const app = await installed(tarballs, foreign);
  try {
    const name = `@dxtensor/win32-${arch}`;
    const problemsOf = (file: string): string[] =>
      windowsProblems(file, readFileSync(join(app, "node_modules", name, file)), arch).map((problem) => `${name}/${file} ${problem}`);
    return [...checkScripts(app), ...windowsFiles.flatMap(problemsOf)];
  } finally {
    rmSync(app, { recursive: true });
  }
}
