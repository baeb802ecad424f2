import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { distTag, releaseProblems, waiting } from "../scripts/lib/release-rules.ts";

it("latest never goes back, and what comes before a release is next", () => {
  expect(distTag("0.1.0", null)).toBe("latest");
  expect(distTag("0.2.0", "0.1.9")).toBe("latest");
  expect(distTag("0.1.9", "0.1.9")).toBe("latest");
  expect(distTag("0.10.0", "0.9.0")).toBe("latest");
  expect(distTag("0.1.10", "0.2.0")).toBe("stable-0.1");
  expect(distTag("1.9.4", "2.0.0")).toBe("stable-1.9");
  expect(distTag("1.0.0-next.0", "0.9.0")).toBe("next");
  expect(distTag("0.8.0-next.0", "0.9.0")).toBe("next");
});

it("a tree with changes in no version, without its section or of another tag is no release", () => {
  const tree = { version: "0.2.0", changes: [], changelog: "# dxtensor\n\n## 0.2.0\n", gitTag: "v0.2.0" };
  expect(releaseProblems(tree)).toEqual([]);
  expect(releaseProblems({ ...tree, changes: ["one.md"] })[0]).toContain("npx changeset version");
  expect(releaseProblems({ ...tree, changelog: "## 0.2.0-next.1\n" })[0]).toContain('no section "## 0.2.0"');
  expect(releaseProblems({ ...tree, gitTag: "v0.3.0" })[0]).toContain("v0.3.0");
});

it("change files are next to the README", () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-changes-"));
  try {
    for (const name of ["README.md", "config.json", "brave-cats.md"]) writeFileSync(join(folder, name), "");
    expect(waiting(folder)).toEqual(["brave-cats.md"]);
    writeFileSync(join(folder, "pre.json"), JSON.stringify({ mode: "pre", changesets: ["brave-cats"] }));
    expect(waiting(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("publishing is asked for, whole", async () => {
  const run = (...args: string[]) => execa(process.execPath, ["scripts/run.mjs", "release", ...args], { reject: false });
  expect((await run()).stderr).toContain("--dry-run");
  expect((await run("--dry-run", "--publish")).stderr).toContain("--dry-run");
  const partly = await run("--publish", "--short");
  expect(partly.exitCode).toBe(1);
  expect(partly.stderr).toMatch(/whole|no release/);
});
