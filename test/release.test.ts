import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it } from "vitest";
import { backend } from "../packages/openreg/src/backend.ts";
import { companionManifest, companions, engineManifest, engines } from "../scripts/lib/companions.ts";
import { manifest } from "../scripts/lib/manifest.ts";
import { order } from "../scripts/lib/publish.ts";
import { contentProblems, manifestProblems } from "../scripts/lib/release-companions.ts";
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

it("the main package is published after what it brings, and before what needs it", () => {
  const at = order.indexOf("dxtensor");
  expect(order.slice(0, at)).toEqual(expect.arrayContaining(["linux-x64", "win32-x64", "vulkan-linux-x64"]));
  expect(order.slice(at + 1)).toEqual(["openreg", "conformance", "distributed-linux-x64", "distributed-linux-arm64"]);
});

it("every folder of packages is released, at the main package's version, and its manifest has nothing of the repository", () => {
  expect([...companions, ...engines].toSorted()).toEqual(readdirSync("packages").toSorted());
  for (const name of companions) {
    const own = JSON.parse(readFileSync(join("packages", name, "package.json"), "utf8")) as { version: string; scripts?: object };
    expect([name, own.version, own.scripts === undefined]).toEqual([name, manifest.version, false]);
    const made = companionManifest(name);
    expect(made).toMatchObject({ name: `@dxtensor/${name}`, version: manifest.version, license: "MIT", engines: manifest.engines });
    for (const field of ["scripts", "devDependencies", "dependencies", "private", "files"]) expect(made).not.toHaveProperty(field);
    expect(manifestProblems(name, made)).toEqual([]);
  }
  for (const name of engines) {
    const made = engineManifest(name);
    expect(made).toMatchObject({ name: `@dxtensor/${name}`, version: manifest.version, os: ["linux"], engines: manifest.engines });
    expect([made["peerDependencies"], made["scripts"]]).toEqual([{ dxtensor: `^${manifest.version}` }, undefined]);
  }
  expect(backend.version).toBe(manifest.version);
  expect(companionManifest("openreg")["peerDependencies"]).toEqual({ dxtensor: `^${manifest.version}` });
  // The tests contain the library of their own version.
  expect(companionManifest("conformance")["peerDependencies"]).toEqual({ dxtensor: manifest.version });
});

it("a companion package with fields of the repository, without its files or with others' is refused", () => {
  const made = companionManifest("openreg");
  expect(manifestProblems("openreg", { ...made, scripts: { prepack: "node build.mjs" } })[0]).toMatch(
    /openreg: package.json has scripts \{/,
  );
  expect(manifestProblems("openreg", { ...made, peerDependencies: { dxtensor: "*" } })).toHaveLength(1);
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-companion-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(made));
    for (const name of ["README.md", "LICENSE"]) writeFileSync(join(folder, name), "");
    mkdirSync(join(folder, "dist", "node_modules"), { recursive: true });
    for (const name of ["index.js", "index.d.ts", "source.ts"]) writeFileSync(join(folder, "dist", name), "");
    expect(contentProblems("openreg", folder).toSorted()).toEqual([
      `@dxtensor/openreg contains ${join("dist", "node_modules")}`,
      `@dxtensor/openreg contains ${join("dist", "source.ts")}`,
      "@dxtensor/openreg lacks ./dist/backend.cjs",
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
