/** The dev container by the official command line tool: up from a local base, commands inside, removed. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listContainers, removeContainer } from "../../scripts/tools/docker/containers.ts";
import { withEngine } from "../../scripts/tools/docker/engine.ts";
import { nodeSource } from "../../scripts/tools/node-source.ts";
import { baseImage } from "./docker.ts";

/** A checkout that the container's user may write to. */
let checkout: string;
let env: Record<string, string>;

/** What stands after the verb belongs to the command that is run inside, so the folder comes first. */
const devcontainer = (verb: string, args: readonly string[]) =>
  execa("node_modules/.bin/devcontainer", [verb, "--workspace-folder", checkout, ...args], { reject: false, env, stdin: "ignore" });

beforeAll(async () => {
  checkout = mkdtempSync(join(tmpdir(), "dxtensor-devcontainer-"));
  const { stdout } = await execa("git", ["ls-files"]);
  for (const file of stdout.split("\n")) cpSync(file, join(checkout, file), { verbatimSymlinks: true });
  await execa("chown", ["-R", "1000:1000", checkout]);
  env = { BASE_IMAGE: await baseImage("bullseye"), NODE_SOURCE: await nodeSource() };
});
afterAll(async () => {
  await withEngine(async (engine) => {
    for (const { id } of await listContainers(engine, { "devcontainer.local_folder": checkout })) await removeContainer(engine, id);
  });
  rmSync(checkout, { recursive: true, force: true });
});

describe("devcontainer up", () => {
  it("opens without a GPU, found through .devcontainer", async () => {
    // The tests that postCreateCommand runs are those of this repository: not again here.
    const done = await devcontainer("up", ["--skip-post-create"]);
    expect(JSON.parse(done.stdout.split("\n").at(-1)!)).toMatchObject({ outcome: "success", remoteUser: "dx" });
  });

  it("has a stand-in where WSL's GPU would be, and a checkout to write to", async () => {
    const script =
      "id -un; stat -Lc %t:%T /dev/dxg; ls -A /usr/lib/wsl; touch written && rm written; ls -d /opt/directx-headers/directx; sh -n devcontainer/post-create.sh";
    const done = await devcontainer("exec", ["sh", "-c", script]);
    expect(done.exitCode).toBe(0);
    expect(done.stdout.split("\n")).toEqual(["dx", "1:3", "/opt/directx-headers/directx"]);
  });

  it("passes a command's status on", async () => {
    expect((await devcontainer("exec", ["sh", "-c", "exit 7"])).exitCode).toBe(7);
  });
});
