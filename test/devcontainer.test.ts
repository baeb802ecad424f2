/** The dev container, as far as it can be tested without an engine. */
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, cpSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

interface Config {
  readonly build: { readonly dockerfile: string; readonly target: string; readonly args: Readonly<Record<string, string>> };
  readonly initializeCommand: readonly string[];
  readonly postCreateCommand: readonly string[];
  readonly runArgs: readonly string[];
  readonly mounts: readonly string[];
  readonly remoteUser: string;
}

const config = JSON.parse(readFileSync("devcontainer/devcontainer.json", "utf8").replace(/^\s*\/\/.*$/gm, "")) as Config;
const dockerfile = readFileSync("Dockerfile", "utf8");

it("lies where the tools look for it", () => {
  expect(lstatSync(".devcontainer").isSymbolicLink()).toBe(true);
  expect(readlinkSync(".devcontainer")).toBe("devcontainer");
});

it("agrees with the Dockerfile: stage, arguments, user", () => {
  expect(dockerfile).toMatch(new RegExp(`^FROM \\S+ AS ${config.build.target}$`, "m"));
  for (const name of Object.keys(config.build.args)) expect(dockerfile).toMatch(new RegExp(`^ARG ${name}=`, "m"));
  expect(dockerfile).toMatch(new RegExp(`^USER ${config.remoteUser}$`, "m"));
});

it("builds the first stages of the Dockerfile, word for word", async () => {
  const stages = dockerfile.slice(dockerfile.indexOf("ARG BASE_IMAGE"), dockerfile.indexOf("FROM packages AS build")).trimEnd();
  const head = `# The first stages of ../Dockerfile, word for word: builders without BuildKit build every stage of a file, and a dev container needs
# these only. After a change there: npx vitest run test/devcontainer.test.ts -u
`;
  await expect(`${head}${stages}\n`).toMatchFileSnapshot("../devcontainer/Dockerfile");
});

it("needs nothing that a plain builder lacks", () => {
  expect(dockerfile).not.toMatch(/^#\s*syntax=|--mount|<<|--link|--chmod/m);
});

it("runs files that are there", () => {
  for (const [, file] of [config.initializeCommand, config.postCreateCommand])
    expect(readFileSync(file!, "utf8")).toMatch(/^#!\/bin\/sh$/m);
});

it("every launch configuration's task exists", () => {
  const { tasks } = JSON.parse(readFileSync(".vscode/tasks.json", "utf8")) as { tasks: { label: string; dependsOn?: string }[] };
  const { configurations } = JSON.parse(readFileSync(".vscode/launch.json", "utf8")) as {
    configurations: { name: string; preLaunchTask?: string }[];
  };
  const labels = tasks.map(({ label }) => label);
  const wanted = [...configurations.map(({ preLaunchTask }) => preLaunchTask), ...tasks.map(({ dependsOn }) => dependsOn)];
  for (const label of wanted) if (label !== undefined) expect(labels).toContain(label);
  expect(configurations.map(({ name }) => name.split(":")[0])).toEqual(expect.arrayContaining(["TypeScript", "C++"]));
});

describe.runIf(process.platform === "linux")("host.sh", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "dxtensor-host-"));
    cpSync("devcontainer/host.sh", join(folder, "devcontainer/host.sh"));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  const host = async (root: string) => (await execa("sh", [join(folder, "devcontainer/host.sh"), root])).stdout;
  const leadsTo = (name: string) => readlinkSync(join(folder, "devcontainer/.host", name));

  it("leads to WSL's device and libraries where both are there, whatever it led to before", async () => {
    const root = join(folder, "root");
    mkdirSync(join(root, "usr/lib/wsl"), { recursive: true });
    mkdirSync(join(root, "dev"));
    expect(await host(root)).toMatch(/software adapter/);
    expect([leadsTo("dxg"), leadsTo("wsl")]).toEqual(["/dev/null", join(folder, "devcontainer/.host/nothing")]);
    symlinkSync("/dev/zero", join(root, "dev/dxg"));
    for (const _ of [1, 2]) expect(await host(root)).toMatch(/passed through/);
    expect([leadsTo("dxg"), leadsTo("wsl")]).toEqual([join(root, "dev/dxg"), join(root, "usr/lib/wsl")]);
  });
});
