// What the packages of a release have in common: version, licence, addresses.
import { readFileSync } from "node:fs";
import { at } from "../tools/project.ts";

/** What of package.json goes into the packages. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly engines: object;
  readonly bin: object;
  readonly binary: object;
  readonly peerDependencies: object;
  readonly peerDependenciesMeta: object;
  readonly repository?: { readonly url: string };
  readonly homepage?: string;
  readonly bugs?: object;
}

export const manifest: Manifest = JSON.parse(readFileSync(at("package.json"), "utf8"));

/** Of all packages alike. */
const { version, license, homepage, bugs } = manifest;
/** Provenance is of the repository that a CI job runs in. */
export const repository =
  manifest.repository ??
  (process.env.GITHUB_REPOSITORY ? { type: "git", url: `git+https://github.com/${process.env.GITHUB_REPOSITORY}.git` } : undefined);
export const common = { version, license, repository, homepage, bugs };
