// The device-generic tests on Microsoft's DirectML.dll, in Windows' node.exe: a vendor's application in the Wine cell.
import { copyFileSync, cpSync, existsSync, mkdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { buildForWindows } from "../build-windows.ts";
import { buildTypeScript } from "../build.ts";
import { makeCell } from "../cells/wine/cell.ts";
import { runInCell, statusOf } from "../cells/wine/run.ts";
import { ensureSetup } from "../lib/ensure.ts";
import { prebuiltWindows } from "../lib/windows-files.ts";
import { at } from "../tools/project.ts";
import { makeApplication } from "./application.ts";

/** The package with its build for Windows, as far as the tests need it: the cell shows the application's folder and no other. */
function copyPackage(folder: string): void {
  for (const name of ["package.json", join("dist", "bundle")]) cpSync(at(name), join(folder, name), { recursive: true });
  cpSync(prebuiltWindows("x64"), join(folder, "prebuilds", "win32-x64"), { recursive: true });
}

interface Arguments {
  /** Of the program in the cell, which finds all files in its folder. */
  readonly args: readonly string[];
  /** The file that it reads there: the caller's, its own. */
  readonly read: readonly (readonly [from: string, to: string])[];
  /** The file that it writes there: its own, the caller's. */
  readonly written: readonly (readonly [from: string, to: string])[];
}

/** Reports that the options name: the cell does not see the caller's files. Paths count from the application's folder. */
export function cellArguments(all: readonly string[], folder: string): Arguments {
  const args: string[] = [];
  const files = new Map<string, { readonly inside: string; isWritten: boolean; isRead: boolean }>();
  for (let i = 0; i < all.length; i++) {
    const [option, joined] = all[i]!.split(/=(.*)/s) as [string, string | undefined];
    const value = joined ?? all[i + 1];
    if (!["--ctrf", "--resume"].includes(option) || value === undefined) {
      args.push(all[i]!);
      continue;
    }
    if (joined === undefined) i++;
    const file = resolve(folder, value);
    const known = files.get(file) ?? { inside: `${files.size}-${basename(file)}`, isWritten: false, isRead: false };
    files.set(file, known);
    if (option === "--ctrf") known.isWritten = true;
    else known.isRead = true;
    args.push(option, known.inside);
  }
  const list = [...files];
  // Without --ctrf the report is written to the file of --resume.
  const hasTarget = list.some(([, { isWritten }]) => isWritten);
  return {
    args,
    read: list.filter(([, { isRead }]) => isRead).map(([file, { inside }]) => [file, join(folder, inside)]),
    written: list.filter(([, { isWritten }]) => isWritten || !hasTarget).map(([file, { inside }]) => [join(folder, inside), file]),
  };
}

/** Runs `dxtensor conformance` with these options; gives its exit status. */
export async function conformanceOnWindows(all: readonly string[]): Promise<number> {
  await ensureSetup();
  await buildForWindows({ isRuntimeOnly: true });
  await buildTypeScript(["src"]);
  await makeCell();
  const folder = at("build", "conformance-windows");
  const { args, read, written } = cellArguments(all, folder);
  await makeApplication(folder, copyPackage);
  for (const [from, to] of read) if (existsSync(from)) copyFileSync(from, to);
  const program = ["node.exe", "node_modules/dxtensor/dist/bundle/cli.js", "conformance", ...args];
  const running = runInCell(program, { mount: folder, stdio: "inherit" });
  let isStopped = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      isStopped = true;
      running.kill("SIGKILL");
    });
  }
  const status = statusOf(await running);
  for (const [from, to] of written) {
    if (!existsSync(from)) continue;
    mkdirSync(resolve(to, ".."), { recursive: true });
    copyFileSync(from, to);
  }
  return isStopped ? 130 : status;
}
