/** `dxtensor launch`, on the build: plain processes, without an engine. */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, it } from "vitest";
import { firstHost, launchDefaults } from "../../src/launch/launch-variables.ts";
import { PrefixedLines, rankEnvironment } from "../../src/launch/rank-environment.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-launch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const command = [resolve("dist/bundle/cli.js"), "launch"];

function script(name: string, code: string): string {
  const file = join(folder, name);
  writeFileSync(file, `const { env } = process, rank = Number(env.RANK);\n${code}`);
  return file;
}

const run = (...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
  spawnSync(process.execPath, [...command, ...args], { encoding: "utf8", timeout: 60_000 });

it("runs each rank with its variables and arguments, and shows whose line it is", () => {
  const file = script(
    "says.cjs",
    "console.log(env.RANK, env.WORLD_SIZE, env.LOCAL_RANK, env.MASTER_ADDR, process.argv.slice(2).join()); process.stdout.write('end');",
  );
  const { status, stdout, stderr } = run("-n", "3", file, "one", "--", "--two");
  expect([status, stderr]).toEqual([0, ""]);
  const lines = [0, 1, 2].flatMap((r) => [`[${r}] ${r} 3 ${r} 127.0.0.1 one,--two`, `[${r}] end`]);
  expect(stdout.trimEnd().split("\n").toSorted()).toEqual(lines.toSorted());
});

it("ends the others when one fails, what they started too, and has its exit status", () => {
  const left = join(folder, "left");
  const file = script(
    "fails.cjs",
    `if (rank === 1) setTimeout(() => { console.error("broken"); process.exit(7); }, 300);
else { process.on("SIGTERM", () => {}); const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }); require("node:fs").writeFileSync(${JSON.stringify(left)} + rank, c.pid + " " + process.pid); setInterval(() => {}, 1000); }`,
  );
  const start = performance.now();
  const { status, stdout, stderr } = run("-n", "2", "--grace", "1", "--json", file);
  expect(status).toBe(7);
  expect(performance.now() - start).toBeLessThan(20_000);
  expect(stderr).toContain("[1] broken\n");
  expect(stderr).toMatch(/rank 1 of 2 ended first, with exit status 7, after \d+\.\d s/);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, worldSize: 2, restarts: 0, failed: { rank: 1, status: 7, signal: null } });
  for (const pid of readFileSync(`${left}0`, "utf8").split(" ")) expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH");
});

it("starts all again, as often as is allowed", () => {
  const file = script("again.cjs", `if (rank === 0 && env.TORCHELASTIC_RESTART_COUNT !== "2") process.kill(process.pid, "SIGKILL");`);
  const { status, stdout, stderr } = run("-n", "2", "--max-restarts", "3", "--json", file);
  expect([status, JSON.parse(stdout)]).toEqual([0, { ok: true, worldSize: 2, restarts: 2, failed: null, interrupted: null }]);
  expect(stderr).toContain("rank 0 of 2 ended first, with SIGKILL");
  expect(stderr).toContain("Restart 2 of 3.");
});

it.skipIf(process.platform === "win32")("hands a signal on to the ranks (Windows has none)", async () => {
  const file = script("waits.cjs", `console.log("up"); setInterval(() => {}, 1000);`);
  const child = spawn(process.execPath, [...command, "-n", "2", file], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  const code = await new Promise((done) => {
    child.on("close", done);
    child.stdout.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (text.split("up").length === 3) child.kill("SIGINT");
    });
  });
  expect(code).toBe(130);
});

it.skipIf(process.platform === "win32")(
  "killed by SIGKILL, it leaves no rank, nor what a rank has started (Windows has no such signal)",
  async () => {
    const file = script(
      "left.cjs",
      `process.on("SIGTERM", () => {}); const c = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }); console.log(process.pid + " " + c.pid); setInterval(() => {}, 1000);`,
    );
    const child = spawn(process.execPath, [...command, "-n", "2", "--grace", "1", file], { stdio: ["ignore", "pipe", "inherit"] });
    let text = "";
    await new Promise<void>((done) => {
      child.on("close", () => done());
      child.stdout.on("data", (piece: Buffer) => {
        text += piece.toString();
        if (text.split("\n").length === 3) child.kill("SIGKILL");
      });
    });
    const pids = [...text.matchAll(/\d+/g)].map(([pid]) => Number(pid)).filter((pid) => pid > 1);
    expect(pids.length).toBe(4);
    const isGone = (pid: number): boolean => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    };
    const end = performance.now() + 10_000;
    while (!pids.every((pid) => isGone(pid)) && performance.now() < end) await new Promise((done) => setTimeout(done, 50));
    expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
  },
);

it("takes what a job's variables say, where there are no options", () => {
  const job = { PET_NNODES: "4", JOB_COMPLETION_INDEX: "2", MASTER_ADDR: "train-0.train", MASTER_PORT: "29500" };
  expect(launchDefaults(job, undefined)).toEqual({ processes: 1, nodes: 4, nodeRank: 2, master: "train-0.train:29500" });
  const slurm = { SLURM_STEP_NUM_NODES: "2", SLURM_NODEID: "1", SLURM_STEP_NODELIST: "gpu[07-08],other", PET_NPROC_PER_NODE: "8" };
  expect(launchDefaults(slurm, undefined)).toEqual({ processes: 8, nodes: 2, nodeRank: 1, master: "gpu07" });
  // One machine alone needs none of it.
  expect(launchDefaults({ ...job, PET_NNODES: undefined }, undefined)).toEqual({ processes: 1, nodes: 1, nodeRank: 0, master: null });
  expect(launchDefaults(job, 1)).toMatchObject({ nodes: 1, nodeRank: 0, master: null });
  expect(launchDefaults({ ...job, MASTER_ADDR: "fd00::1" }, undefined).master).toBe("[fd00::1]:29500");
  expect(() => launchDefaults({ PET_NNODES: "1:4" }, undefined)).toThrow('PET_NNODES must be an integer; it is "1:4"');
  for (const [list, host] of [
    ["node1", "node1"],
    ["a,b", "a"],
    ["rack1-n[003,005-007]-ib,x", "rack1-n003-ib"],
  ])
    expect(firstHost(list!)).toBe(host);
});

it("refuses what makes no sense", () => {
  const file = script("idle.cjs", "");
  for (const [args, text] of [
    [["--nodes", "2", file], "--master must be given"],
    [["--master", ":1", file], "HOST or HOST:PORT"],
    [["-n", "2", `${file}.absent`], "There is no such file."],
  ] as const) {
    const { status, stderr } = run(...args);
    expect([status, stderr]).toEqual([2, expect.stringContaining(text)]);
  }
});

it("numbers the ranks of several machines, and shares the CPUs", () => {
  const plan = { processes: 4, nodes: 2, nodeRank: 1, host: "10.0.0.1", port: 29500, restart: 0, maxRestarts: 1, cpus: 10 };
  expect(rankEnvironment(plan, 2, {})).toMatchObject({
    RANK: "6",
    WORLD_SIZE: "8",
    LOCAL_RANK: "2",
    GROUP_RANK: "1",
    MASTER_PORT: "29500",
    DXTENSOR_THREADS: "2",
  });
  expect(rankEnvironment(plan, 0, { DXTENSOR_THREADS: "3" }).DXTENSOR_THREADS).toBe("3");
  const written: string[] = [];
  const lines = new PrefixedLines("[1] ", (text) => written.push(text));
  for (const piece of ["a", "b\nc\n\nd", "e"]) lines.add(piece);
  lines.end();
  lines.end();
  expect(written.join("")).toBe("[1] ab\n[1] c\n[1] \n[1] de\n");
});
