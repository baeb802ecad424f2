// What of a release goes to npm, in which order.
import { existsSync, readFileSync } from "node:fs";
import { execa } from "execa";
import { ScriptError, at, say } from "../tools/project.ts";
import { companions, engines } from "./companions.ts";
import { manifest } from "./manifest.ts";
import { optional } from "./packages.ts";
import { distTag, releaseProblems, waiting } from "./release-rules.ts";

export const treeProblems = (): string[] =>
  releaseProblems({
    version: manifest.version,
    changes: waiting(at(".changeset")),
    changelog: existsSync(at("CHANGELOG.md")) ? readFileSync(at("CHANGELOG.md"), "utf8") : "",
    gitTag: process.env.GITHUB_REF_TYPE === "tag" ? process.env.GITHUB_REF_NAME : undefined,
  });

/** The main package after those that it brings, and before those that need it: whoever installs one finds the others. */
export const order: readonly string[] = [...optional, "dxtensor", ...companions, ...engines];
/** Built on their own processors: a release of this machine may lack them, and says so. They are published by the same command there. */
const foreign: readonly string[] = engines.filter((name) => !name.endsWith(`-${process.platform}-${process.arch}`));

const npm = (args: string[]) => execa("npm", args, { reject: false, stdin: "ignore", env: { npm_config_loglevel: "error" } });

async function registryVersion(spec: string): Promise<string | null> {
  const { stdout, failed, stderr } = await npm(["view", spec, "version"]);
  if (!failed) return stdout.trim() || null;
  if (/E404/.test(stderr)) return null;
  throw new ScriptError("REGISTRY", `npm view ${spec} failed: ${stderr.trim().slice(-500)}`);
}

/** Publishes what is not there yet: a release that broke off is taken up by running it again. isTrial: npm's own --dry-run. */
export async function publish(tarballs: Record<string, string>, { isTrial = false } = {}): Promise<void> {
  const missing = order.filter((name) => tarballs[name] === undefined && !foreign.includes(name));
  if (missing.length > 0) throw new ScriptError("INCOMPLETE", `Not all packages of a release are there: ${missing.join(", ")}.`);
  const tag = distTag(manifest.version, await registryVersion(`${manifest.name}@latest`));
  for (const name of order) {
    if (tarballs[name] === undefined) {
      say(`release: !!!! @dxtensor/${name} is not published by this machine`);
      continue;
    }
    const full = name === "dxtensor" ? name : `@dxtensor/${name}`;
    if ((await registryVersion(`${full}@${manifest.version}`)) !== null) {
      say(`release: ${full} ${manifest.version} is published already`);
      continue;
    }
    const args = ["publish", tarballs[name], "--access", "public", "--tag", tag, ...(isTrial ? ["--dry-run"] : ["--provenance"])];
    const done = await npm(args);
    if (done.failed) throw new ScriptError("PUBLISH", `npm publish ${full} failed: ${done.stderr.trim().slice(-1000)}`);
    say(`release: ${isTrial ? "would publish" : "published"} ${full} ${manifest.version} as ${tag}`);
  }
}
