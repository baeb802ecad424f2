/** The package's version, read from its package.json wherever this file runs from. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { surroundings } from "../native/load.ts";

/** "0.0.0" for a bundle that was copied away from its package. */
export function version(): string {
  try {
    return (JSON.parse(readFileSync(join(surroundings().root, "package.json"), "utf8")) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "0.0.0";
    throw error;
  }
}
