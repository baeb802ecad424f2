// When a tree is a release, and under which tag it goes to npm.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const numbers = (version: string): number[] => version.split("-")[0]!.split(".").map(Number);
const isOlder = (a: string, b: string): boolean => {
  const [x, y] = [numbers(a), numbers(b)];
  const i = x.findIndex((part, k) => part !== y[k]);
  return i >= 0 && x[i]! < y[i]!;
};

/** next for what comes before a release, stable-0.1 for a fix of an older line: `latest` never goes back. latest: npm's, null for none. */
export function distTag(version: string, latest: string | null): string {
  if (version.includes("-")) return "next";
  if (latest === null || !isOlder(version, latest)) return "latest";
  return `stable-${numbers(version).slice(0, 2).join(".")}`;
}

/** What npx changeset version would still take up; before a release it keeps what it took up, and lists that in pre.json. */
export function waiting(folder: string): string[] {
  const pre = join(folder, "pre.json");
  const { changesets: taken } = (existsSync(pre) ? JSON.parse(readFileSync(pre, "utf8")) : { changesets: [] }) as { changesets: string[] };
  return readdirSync(folder).filter((name) => name.endsWith(".md") && name !== "README.md" && !taken.includes(name.slice(0, -3)));
}

interface Tree {
  version: string;
  changes: string[];
  changelog: string;
  gitTag?: string | undefined;
}

/** Why this tree is no release; nothing where it is one. gitTag: such as v0.1.0, undefined where none is known. */
export function releaseProblems({ version, changes, changelog, gitTag }: Tree): string[] {
  return [
    ...(changes.length > 0 ? [`${changes.length} changes are in no version yet (${changes.join(", ")}): npx changeset version`] : []),
    ...(changelog.split("\n").includes(`## ${version}`) ? [] : [`CHANGELOG.md has no section "## ${version}"`]),
    ...(gitTag === undefined || gitTag === `v${version}` ? [] : [`the tag is ${gitTag}, and package.json has ${version}`]),
  ];
}
