/** scripts/docker-engine.ts with a separate engine: other namespaces for mounts and network, so that a running engine is not touched. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-engine-"));
});
afterAll(async () => {
  await execa("umount", [join(folder, "data")], { reject: false });
  rmSync(folder, { recursive: true });
});

/** Runs lines where no engine is yet; each script call writes one line of JSON. */
async function inside(lines: readonly string[], env: Record<string, string> = {}): Promise<Record<string, unknown>[]> {
  const script = ["mount --make-rprivate /", "mount -t tmpfs none /run", ...lines].join(" && ");
  const done = await execa("unshare", ["-m", "-n", "sh", "-c", script], { reject: false, env: { DXTENSOR_DOCKER_FOLDER: folder, ...env } });
  return done.stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
const engine = (verb: string): string => `node scripts/run.mjs docker-engine ${verb} --json`;

describe.runIf(process.platform === "linux" && process.getuid?.() === 0)("docker-engine", () => {
  it("starts one where none answers, uses it the second time, stops what it started", async () => {
    const [before, nothing, first, second, stopped, after] = await inside([
      `{ ${engine("status")} || true; }`,
      engine("stop"),
      engine("start"),
      engine("start"),
      engine("stop"),
      `{ ${engine("status")} || true; }`,
    ]);
    expect(before).toMatchObject({ version: null });
    expect(nothing).toMatchObject({ stopped: false });
    expect(first).toMatchObject({ started: true });
    expect(second).toMatchObject({ started: false, version: first!.version });
    expect(stopped).toMatchObject({ stopped: true });
    expect(after).toMatchObject({ version: null });
  });

  it("starts again after it was killed, while its containerd is still ending", async () => {
    const [first, again, stopped] = await inside([engine("start"), "kill -9 $(cat /run/docker.pid)", engine("start"), engine("stop")]);
    expect(first).toMatchObject({ started: true });
    expect(again).toMatchObject({ started: true });
    expect(stopped).toMatchObject({ stopped: true });
  });

  it("starts none when DOCKER_HOST names another", async () => {
    const done = await execa("node", ["scripts/run.mjs", "docker-engine"], { reject: false, env: { DOCKER_HOST: "tcp://127.0.0.1:9" } });
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toMatch(/No Docker engine answers.*DOCKER_HOST is tcp:\/\/127\.0\.0\.1:9/);
  });
});
