/** The folder of this code: in an ES module, a CommonJS module, or a bundle. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, parse } from "node:path";
import { fileURLToPath } from "node:url";

/** The file that this code runs from; null in a CommonJS bundle, which does not say. */
export function ownFile(): string | null {
  const url = import.meta.url as string | undefined;
  return url?.startsWith("file:") === true ? fileURLToPath(url) : null;
}

/** The folder of all of this library's code: src or dist, or where its bundle is; null where ownFile() is. */
export function ownFolder(): string | null {
  const file = ownFile();
  return file === null ? null : /[\\/]core[\\/]home\.[jt]s$/.test(file) ? dirname(dirname(file)) : dirname(file);
}

/** Whether a file or folder is there and may be seen: Node's permission model throws where it is asked for what it does not allow. */
export function exists(path: string): boolean {
  try {
    return existsSync(path);
  } catch {
    return false;
  }
}

let lastFolder: string | null = null;

/** The working folder; where it has been deleted, the last one known; null where none was ever there. */
export function workingFolder(): string | null {
  try {
    lastFolder = process.cwd();
  } catch {
    // ENOENT: a deploy replaces folders under running programs.
  }
  return lastFolder;
}

/** The user's home folder. A user that the system does not know and whose HOME is not set, as in some containers, has the root. */
export function homeFolder(): string {
  try {
    return homedir();
  } catch {
    return parse(process.execPath).root;
  }
}

/** A path in the working folder, to resolve packages from: no file need be there. null where there is no working folder. */
function fileInWorkingFolder(): string | null {
  const folder = workingFolder();
  return folder === null ? null : join(folder, "index.js");
}

/** The folder of this package's package.json, whether this file runs from src or from dist; null in a bundle. */
export function packageRoot(): string | null {
  const file = ownFile();
  if (file === null) return null;
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, "package.json");
    if (exists(manifest) && (JSON.parse(readFileSync(manifest, "utf8")) as { name?: string }).name === "dxtensor") return folder;
    if (folder === dirname(folder)) return null;
  }
}

/** As its package.json says; null in a bundle. */
export function packageVersion(): string | null {
  const root = packageRoot();
  return root === null ? null : (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
}

/** Not by import: bundlers would follow what is asked of it. */
const { createRequire } = process.getBuiltinModule("node:module");

/** The program's own file; links are followed, as Node does. */
export function program(): string | null {
  const started = process.argv[1];
  try {
    return started === undefined ? fileInWorkingFolder() : realpathSync(started);
  } catch {
    return fileInWorkingFolder();
  }
}

/** The folder of an installed package, looked for from this code, then from the program: a bundle may be anywhere. */
export function packageFolder(name: string): string | null {
  for (const from of [ownFile(), program(), fileInWorkingFolder()]) {
    if (from === null) continue;
    try {
      return unpacked(dirname(createRequire(from).resolve(`${name}/package.json`)));
    } catch {
      // Not from there.
    }
  }
  return null;
}

/** Electron's archive keeps files for the system's loader in a folder next to it. */
function unpacked(folder: string): string {
  const folderOutside = folder.replace(/app\.asar(?=[\\/])/, "app.asar.unpacked");
  return exists(folderOutside) ? folderOutside : folder;
}

/** Node's own require, which the tests' runners and bundlers do not replace. */
export const requireFrom = (path: string): NodeJS.Require => createRequire(path);

/** The addon of a file. */
export const loadAddon = (path: string): unknown => createRequire(path)(path);
