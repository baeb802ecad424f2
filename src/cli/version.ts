/** `dxtensor --version`, and what `--version --json` lists beside it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findLibraries } from "../doctor/facts.ts";
import { thisHost } from "../doctor/host.ts";
import { surroundings } from "../native/load.ts";

/** The package's version, read from its package.json wherever this file runs from; "0.0.0" for a bundle that was copied away from it. */
export function version(): string {
  try {
    return (JSON.parse(readFileSync(join(surroundings().root, "package.json"), "utf8")) as { version: string }).version;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "0.0.0";
    throw error;
  }
}

/** One line of JSON: versions, and the libraries that a device would be opened with; none is loaded. */
export function versions(): string {
  const host = thisHost();
  const { addon, software, libraries } = findLibraries(host);
  return JSON.stringify({
    dxtensor: version(),
    node: host.node,
    platform: `${host.platform}-${host.arch}`,
    libraries: [addon, software, ...libraries].map(({ name, path, version: found, problem }) => ({ name, path, version: found, problem })),
  });
}
