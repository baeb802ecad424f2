/** Where things lie. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder with package.json, whether this file runs compiled or as it is. */
function findRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    const up = dirname(folder);
    if (up === folder) throw new Error("no package.json above the matrix");
    folder = up;
  }
  return folder;
}

export const root = findRoot();
export const at = (...parts: string[]): string => join(root, ...parts);

/** Outlives the repository: Node's versions. */
export const cacheFolder = (...parts: string[]): string =>
  join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "dxtensor", ...parts);

/** Folders of the runs. */
export const runsFolder = (): string => process.env["DXTENSOR_MATRIX_FOLDER"] || at("test-results", "matrix");
