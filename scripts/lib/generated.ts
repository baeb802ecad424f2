// Generated files on disk.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ScriptError, at } from "../tools/project.ts";

/** A file below the root, and what it has to hold. */
export type Generated = readonly [file: string, text: string];

const isCurrent = ([file, text]: Generated): boolean => existsSync(at(file)) && readFileSync(at(file), "utf8") === text;

/** Writes the files that differ; with isCheck it writes nothing, and throws. */
export function writeGenerated(files: readonly Generated[], { isCheck = false, remedy = "npm run generate" } = {}): void {
  for (const [file, text] of files.filter((made) => !isCurrent(made))) {
    if (isCheck) throw new ScriptError("OUT_OF_DATE", `${file} is out of date.`, `Run: ${remedy}`);
    mkdirSync(dirname(at(file)), { recursive: true });
    writeFileSync(at(file), text);
  }
}
