/** `dxtensor --version`, and the report of `--version --json`. */
import { findLibraries } from "../doctor/facts.ts";
import { thisHost } from "../doctor/machine.ts";
import { packageVersion } from "../native/load-addon.ts";

export { packageVersion as version };

/** One line of JSON: versions, and the libraries that a device would be opened with; none is loaded. */
export function versions(): string {
  const host = thisHost();
  const { addon, software, libraries } = findLibraries(host);
  return JSON.stringify({
    dxtensor: packageVersion(),
    node: host.node,
    platform: `${host.platform}-${host.arch}`,
    libraries: [addon, software, ...libraries].map(({ name, path, version: found, problem }) => ({ name, path, version: found, problem })),
  });
}
