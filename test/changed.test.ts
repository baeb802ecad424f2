/** Changed files, from git: commits of a day, a branch, files that are not committed, clones without their history. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execaSync } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changesOfLastDay, changesSince } from "../scripts/lib/changed.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-changed-"));
const repository = join(folder, "repository");
const now = new Date("2026-11-27T12:00:00Z");

const git = (cwd: string, args: readonly string[], when = now): string => {
  const date = when.toISOString();
  const env = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" };
  return execaSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd, env }).stdout;
};
const write = (name: string, text: string): void => {
  writeFileSync(join(repository, name), text);
};
const commit = (hoursAgo: number, message: string): void => {
  git(repository, ["add", "-A"]);
  git(repository, ["commit", "-q", "-m", message], new Date(now.getTime() - hoursAgo * 3_600_000));
};

beforeAll(() => {
  mkdirSync(join(repository, "a b"), { recursive: true });
  git(folder, ["init", "-q", "-b", "main", "repository"]);
  for (const name of ["old.ts", "kept.ts", "renamed.ts", "a b/größe.ts"]) write(name, "1");
  commit(72, "three days ago");
  write("old.ts", "2");
  commit(30, "more than a day ago");
  git(repository, ["switch", "-q", "-c", "branch"]);
  write("a b/größe.ts", "2");
  commit(5, "today");
  renameSync(join(repository, "renamed.ts"), join(repository, "new name.ts"));
  commit(2, "renamed");
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const today = ["a b/größe.ts", "new name.ts", "renamed.ts"];

describe("the last day", () => {
  it("is that of the commits, with both names of what was renamed, and what is not committed", () => {
    expect(changesOfLastDay(repository, now)).toEqual({
      paths: today,
      since: "in the 2 commits of the last day, and in what is not committed",
    });
    write("fresh.ts", "1");
    write("kept.ts", "3");
    expect(changesOfLastDay(repository, now).paths).toEqual([...today, "fresh.ts", "kept.ts"].toSorted());
    rmSync(join(repository, "fresh.ts"));
    git(repository, ["checkout", "-q", "kept.ts"]);
  });

  it("of a merge is what it brought", () => {
    const at = git(repository, ["rev-parse", "HEAD"]);
    git(repository, ["switch", "-q", "-c", "side", "main"]);
    write("side.ts", "1");
    commit(40, "on the side, long ago");
    git(repository, ["switch", "-q", "branch"]);
    git(repository, ["merge", "-q", "--no-ff", "-m", "merge", "side"], new Date(now.getTime() - 3_600_000));
    expect(changesOfLastDay(repository, now).paths).toContain("side.ts");
    git(repository, ["reset", "-q", "--hard", at]);
  });

  it("is unknown in a shallow clone whose history ends within it, and known in one that reaches further", () => {
    const clone = (depth: number): string => {
      const to = join(folder, `depth-${depth}`);
      git(folder, ["clone", "-q", `--depth=${depth}`, `file://${repository}`, to]);
      return to;
    };
    const short = changesOfLastDay(clone(1), now);
    expect(short.paths).toBeNull();
    expect(short.since).toMatch(/shallow clone, whose history ends within the last day .*: everything counts as changed/);
    expect(changesOfLastDay(clone(3), now).paths).toEqual(today);
    // Two days later all of it is older than a day.
    expect(changesOfLastDay(join(folder, "depth-1"), new Date(now.getTime() + 172_800_000)).paths).toEqual([]);
  });

  it("is unknown where there is no clone, and no commit", () => {
    const plain = mkdtempSync(join(folder, "plain-"));
    expect(changesOfLastDay(plain, now)).toEqual({ paths: null, since: "this is no clone: everything counts as changed" });
    git(plain, ["init", "-q"]);
    expect(changesOfLastDay(plain, now)).toEqual({ paths: null, since: "there is no commit here: everything counts as changed" });
    expect(() => changesSince(undefined, plain)).toThrow("What changed is not known: there is no commit here.");
  });
});

describe("a branch", () => {
  it("has changed since it left main, whatever the dates", () => {
    const { paths, since } = changesSince(undefined, repository);
    expect(paths).toEqual(today);
    expect(since).toMatch(/^since [0-9a-f]{9} \(where this branch left main\)$/);
    expect(changesSince("HEAD~1", repository).paths).toEqual(["new name.ts", "renamed.ts"]);
  });

  it("on main itself has what is not committed", () => {
    git(repository, ["switch", "-q", "main"]);
    expect(changesSince(undefined, repository)).toEqual({ paths: [], since: "since HEAD" });
    write("kept.ts", "3");
    expect(changesSince(undefined, repository).paths).toEqual(["kept.ts"]);
    git(repository, ["checkout", "-q", "kept.ts"]);
    git(repository, ["switch", "-q", "branch"]);
  });

  it("of a commit that there is not, or that has nothing in common, is refused", () => {
    expect(() => changesSince("nowhere", repository)).toThrow('there is no commit "nowhere"');
    git(repository, ["switch", "-q", "--orphan", "alone"]);
    write("alone.ts", "1");
    commit(1, "alone");
    expect(() => changesSince("main", repository)).toThrow("no commit in common with main");
    git(repository, ["switch", "-q", "branch"]);
  });
});
