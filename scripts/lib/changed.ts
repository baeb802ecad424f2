// The changed files, from git.
import { existsSync } from "node:fs";
import { ask } from "../tools/program.ts";
import { ScriptError, at, root } from "../tools/project.ts";

export interface Changes {
  /** Paths from the repository's root; null: nobody knows, so everything counts. */
  readonly paths: readonly string[] | null;
  /** Since when, or why nobody knows, in words. */
  readonly since: string;
}

const git = (cwd: string, ...args: string[]): string | null => ask("git", ["-C", cwd, "-c", "core.quotePath=false", ...args]);
const listOf = (text: string | null): string[] => (text ?? "").split("\0").filter((path) => path !== "");

/** What is not committed: changed, staged, new. */
const uncommitted = (cwd: string): string[] => [
  ...listOf(git(cwd, "diff", "--name-only", "--no-renames", "-z", "HEAD")),
  ...listOf(git(cwd, "ls-files", "--others", "--exclude-standard", "-z")),
];

const unique = (paths: readonly string[]): string[] => [...new Set(paths)].toSorted();

/** Why git shows no changes here; null if it can. */
function problem(cwd: string): string | null {
  if (ask("git", ["--version"]) === null) return "git is not installed";
  // A worktree's .git is a file; a folder inside another repository is none of that repository's.
  if (!existsSync(cwd === root ? at(".git") : `${cwd}/.git`)) return "this is no clone";
  return git(cwd, "rev-parse", "--verify", "HEAD") === null ? "there is no commit here" : null;
}

/** Files that the commits of the last day touched, and those that are not committed. A history that ends within that day gives null. */
export function changesOfLastDay(cwd = root, now = new Date()): Changes {
  const why = problem(cwd);
  if (why !== null) return { paths: null, since: `${why}: everything counts as changed` };
  const day = new Date(now.getTime() - 86_400_000).toISOString();
  const isShallow = git(cwd, "rev-parse", "--is-shallow-repository") === "true";
  // Commits whose parents are not here: git would show all their files as new.
  const ends = isShallow ? (git(cwd, "log", `--since=${day}`, "--max-parents=0", "--format=%h") ?? "") : "";
  if (ends !== "")
    return {
      paths: null,
      since: `this is a shallow clone, whose history ends within the last day (at ${ends.split("\n")[0]}): everything counts as changed`,
    };
  const log = git(cwd, "log", `--since=${day}`, "-m", "--name-only", "--no-renames", "--format=", "-z");
  if (log === null) return { paths: null, since: "git log failed: everything counts as changed" };
  const commits = git(cwd, "rev-list", "--count", `--since=${day}`, "HEAD") ?? "0";
  return {
    paths: unique([...listOf(log), ...uncommitted(cwd)]),
    since: `in the ${commits} commits of the last day, and in what is not committed`,
  };
}

/** Files that differ from the commit in which HEAD's history left `base`, and those that are not committed. Throws where git can't tell. */
export function changesSince(base: string | undefined, cwd = root): Changes & { readonly paths: readonly string[] } {
  const why = problem(cwd);
  if (why !== null) throw new ScriptError("GIT", `What changed is not known: ${why}.`);
  const candidates = base === undefined ? ["origin/main", "main"] : [base];
  const known = candidates.find((name) => git(cwd, "rev-parse", "--verify", "--quiet", `${name}^{commit}`) !== null);
  if (known === undefined && base !== undefined)
    throw new ScriptError("BASE", `there is no commit "${base}".`, "--base takes a branch, a tag or a commit.");
  const from = known === undefined ? null : git(cwd, "merge-base", known, "HEAD");
  if (known !== undefined && from === null && base !== undefined)
    throw new ScriptError("BASE", `HEAD has no commit in common with ${base}, as in a shallow clone.`, "git fetch --unshallow");
  const head = git(cwd, "rev-parse", "HEAD")!;
  const committed = from === null || from === head ? [] : listOf(git(cwd, "diff", "--name-only", "--no-renames", "-z", from, head));
  const since = from === null || from === head ? "HEAD" : `${from.slice(0, 9)} (where this branch left ${known})`;
  return { paths: unique([...committed, ...uncommitted(cwd)]), since: `since ${since}` };
}
