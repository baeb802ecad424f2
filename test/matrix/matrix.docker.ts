/** The matrix on a real engine: containers, interruption, and leftovers of a killed run. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../matrix/config/load.ts";
import type { DockerPlatform } from "../../matrix/config/schema.ts";
import { workFolder } from "../../matrix/docker/cell.ts";
import { connect } from "../../matrix/docker/connect.ts";
import { cacheVolume } from "../../matrix/docker/images.ts";
import { runInDocker } from "../../matrix/docker/runner.ts";
import { findProcesses } from "../../matrix/run/leftovers.ts";
import { newOwner } from "../../matrix/run/owner.ts";
import type { Outcome } from "../../matrix/runners/runner.ts";
import { listContainers } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { buildImage, removeImage } from "../../scripts/tools/docker/images.ts";
import { removeVolume } from "../../scripts/tools/docker/volumes.ts";
import { baseImage } from "../docker/docker.ts";

const owner = newOwner();
let engine: Engine;
let image: string;
let folder: string;
beforeAll(async () => {
  await execa("node", ["scripts/run.mjs", "build", "ts"], { stdio: ["ignore", "ignore", "inherit"] });
  image = await baseImage("bookworm");
  const { engines, problem } = await connect([], false, owner);
  if (engines[0] === undefined) throw new Error(problem ?? "no engine");
  [engine] = engines;
  folder = mkdtempSync(join(tmpdir(), "dxtensor-test-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Containers of runs on the engine. */
const containers = (run?: string) =>
  listContainers(engine, run === undefined ? { "dxtensor.matrix": "run" } : { "dxtensor.matrix.run": run });

/** What stands for an npm script that runs Microsoft's library: it reports, keeps something in the cache, and closes with a count. */
const script = `
const { mkdirSync, writeFileSync } = require("node:fs");
const [cache, ...args] = [process.env.DXTENSOR_CACHE, ...process.argv.slice(2)];
mkdirSync(cache, { recursive: true });
writeFileSync(cache + "/kept", "");
if (args.includes("--silent")) process.exit(0);
mkdirSync("test-results", { recursive: true });
const tests = [{ name: args.join(" "), status: "passed", duration: 1 }];
const summary = { tests: 1, passed: 1, failed: 0, skipped: 0, pending: 0, other: 0, start: 0, stop: 1 };
const environment = { extra: { versions: { node: process.versions.node } } };
const report = { reportFormat: "CTRF", specVersion: "0.0.0", results: { tool: { name: "verify" }, summary, tests, environment } };
writeFileSync("test-results/verify.json", JSON.stringify(report));
console.log("1 passed, 0 failed");
`;

describe("a container whose platform names a script", () => {
  const made = "dxtensor-matrix-test-command";
  const platform: DockerPlatform = {
    id: "test-command",
    name: "Test",
    runner: "docker",
    directml: "6.2",
    base: { image: "debian:bookworm", suite: "test-command" },
    packages: ["make"],
    links: {},
    command: { script: "verify", arguments: ["--quick", "it's"], later: ["--node", "{node}"], report: "test-results/verify.json" },
  };
  const finish = async (more: readonly string[], native: boolean): Promise<{ outcome: Outcome; out: string }> => {
    const out = mkdtempSync(join(folder, "cell-"));
    const outcome = await runInDocker(
      engine,
      { image: made, base: image },
      { ...platform, command: { ...platform.command!, later: [...more] } },
      {
        run: { id: "test-command/node-20/lavapipe", platform: "test-command", node: "20", device: { kind: "emulated" }, cells: [], native },
        platform,
        config: loadConfig("matrix/matrix.yaml"),
        sources: { what: "", hash: "", nativeHash: "", archive: () => Promise.reject(new Error("not asked for")) },
        tests: [],
        out,
        owner,
        signal: new AbortController().signal,
        timeoutMs: 60_000,
        buildMs: 60_000,
        onLine: () => undefined,
      },
    );
    return { outcome, out };
  };
  const read = (out: string, name: string): unknown => JSON.parse(readFileSync(join(out, name), "utf8"));

  beforeAll(async () => {
    const context = join(folder, "image");
    mkdirSync(context);
    writeFileSync(join(context, "verify.cjs"), script);
    writeFileSync(join(context, "package.json"), JSON.stringify({ name: "x", scripts: { verify: "node verify.cjs" } }));
    writeFileSync(join(context, "Dockerfile"), `FROM ${image}\nENV PATH=/opt/node/bin:/usr/bin:/bin\nWORKDIR ${workFolder}\nCOPY . .\n`);
    await buildImage(engine, { image: made, context: { folder: context } });
  });
  afterAll(async () => {
    await removeImage(engine, made, { force: true });
    await removeVolume(engine, cacheVolume(platform));
  });

  it("passes by the script's own report, with its versions", async () => {
    const { outcome, out } = await finish(["--node", "{node}"], false);
    expect(outcome).toEqual({ status: "passed", reason: null, where: `docker: ${engine.name}` });
    expect(read(out, "ctrf.json")).toMatchObject({ results: { tests: [{ name: "--quick it's --node 20", status: "passed" }] } });
    expect(read(out, "facts.json")).toMatchObject({ node: expect.stringMatching(/^20\./) });
  });

  it("fails when the script says no count, and gets a report all the same", async () => {
    const { outcome, out } = await finish(["--silent"], false);
    expect(outcome).toMatchObject({ status: "failed", reason: "npm run verify -- --quick it's --silent said no count of tests" });
    expect(read(out, "ctrf.json")).toMatchObject({ results: { summary: { failed: 1 } } });
  });
});

const start = (runs: string) =>
  execa(process.execPath, ["build/matrix/cli.js", "--quick"], { reject: false, all: true, env: { DXTENSOR_MATRIX_FOLDER: runs } });

/** Starts a run, and waits until the engine has started or made a container of it. */
async function begin(): Promise<{
  child: ReturnType<typeof start>;
  run: string;
  runs: string;
}> {
  const runs = join(folder, `runs-${Math.random()}`);
  const child = start(runs);
  const ended = child.then(({ all }) => Promise.reject(new Error(`the run ended before it made a container: ${all}`)));
  for (;;) {
    const mine = (await containers()).map(({ labels }) => labels["dxtensor.matrix.run"]!);
    const run = mine.find((name) => existsSync(join(runs, name, "run.json")));
    if (run !== undefined) {
      ended.catch(() => undefined);
      return { child, run, runs };
    }
    await Promise.race([ended, delay(20)]);
  }
}

const clean = (runs: string): Promise<{ stdout: string }> =>
  execa(process.execPath, ["build/matrix/cli.js", "clean", "--json"], { env: { DXTENSOR_MATRIX_FOLDER: runs } });

describe("npm run matrix", () => {
  it("ends its containers on Ctrl-C, writes a report and can be resumed", async () => {
    const { child, run, runs } = await begin();
    child.kill("SIGINT");
    const done = await child;
    expect(done.exitCode).toBe(130);
    expect(done.all).toContain(`--resume ${run}`);
    expect(await containers(run)).toEqual([]);
    expect(readFileSync(join(runs, run, "report.html"), "utf8")).toContain("it was not begun");
    expect(JSON.parse(readFileSync(join(runs, run, "run.json"), "utf8"))).toMatchObject({ results: [] });
  });

  it("leaves nothing after kill -9 that clean does not remove, and works while another run continues", async () => {
    const { child, run, runs } = await begin();
    child.kill("SIGKILL");
    await child;
    const other = await begin();
    await clean(runs);
    expect(await containers(run)).toEqual([]);
    expect(findProcesses().map(([, name]) => name)).not.toContain(run);
    expect(other.child.exitCode).toBeNull();
    other.child.kill("SIGKILL");
    await other.child;
    await clean(other.runs);
    expect(await containers(other.run)).toEqual([]);
    const again = await begin();
    again.child.kill("SIGINT");
    expect((await again.child).exitCode).toBe(130);
  });
});
