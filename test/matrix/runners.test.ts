import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { ReportBuilder, TestBuilder } from "ctrf";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cellArguments, quote } from "../../matrix/cell/arguments.ts";
import { deviceEnvironment, formatDevice, parseDevice } from "../../matrix/cell/device.ts";
import { loadConfig } from "../../matrix/config/load.ts";
import type { Command } from "../../matrix/config/schema.ts";
import { toolsDockerfile } from "../../matrix/docker/images.ts";
import { distributionName, readWindowsBuild } from "../../matrix/host/probe.ts";
import { processProblem, runProcess, type ProcessRequest } from "../../matrix/run/process.ts";
import { findProcesses, removeLeftovers } from "../../matrix/run/leftovers.ts";
import {
  folderName,
  isAlive,
  newOwner,
  ownerLabels,
  readOwner,
  readVariable,
  variable,
  variableValue,
  type Owner,
} from "../../matrix/run/owner.ts";
import { startTime } from "../../scripts/tools/process.ts";
import { describeResult, plainProgress } from "../../matrix/run/progress.ts";
import { schedule, type Executor } from "../../matrix/run/schedule.ts";
import { sourcesOf } from "../../matrix/run/sources.ts";
import { CommandOutcome, commandArguments, readCounts } from "../../matrix/runners/command.ts";
import { encoded, windowsScript } from "../../matrix/runners/windows.ts";
import { wslArguments, wslScript } from "../../matrix/runners/wsl.ts";
import type { Run } from "../../matrix/types.ts";

const config = loadConfig("matrix/matrix.yaml");
const isLinux = process.platform === "linux";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-test-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const run = (platform: string, node = "22"): Run => ({
  id: `${platform}/node-${node}/gtx-1070`,
  platform,
  node,
  device: { kind: "simulated", profile: "gtx-1070" },
  cells: [],
  native: false,
});

describe("the cell's device", () => {
  it("goes through its arguments unchanged", () => {
    for (const text of ["software", "simulated:rx-580@6.2", "hardware:1"]) {
      const device = parseDevice(text);
      expect(formatDevice(device, device.kind === "simulated" ? device.level : "")).toBe(text);
    }
    expect(() => parseDevice("simulated:rx-580")).toThrow("received simulated:rx-580");
  });

  it("joins simulated profiles to the list only where one is meant, without a real library", () => {
    expect(deviceEnvironment({ kind: "software" })).toMatchObject({ DXTENSOR_TEST_DEVICES: "cpu", DXTENSOR_SIMULATE: "" });
    expect(deviceEnvironment({ kind: "hardware", index: 2 })).toMatchObject({ DXTENSOR_TEST_DEVICES: "dml:2", DXTENSOR_SIMULATE: "" });
    const simulated = deviceEnvironment({ kind: "simulated", profile: "rx-580", level: "6.2" });
    expect(simulated).toMatchObject({ DXTENSOR_TEST_DEVICES: "dml:0", DXTENSOR_SIMULATE: "rx-580@6.2" });
    expect(existsSync(simulated["DXTENSOR_D3D12"]!)).toBe(false);
  });

  it("is no argument where the platform's own command decides", () => {
    const platform = config.platforms.find(({ id }) => id === "windows-wine")!;
    expect(() => cellArguments({ ...run("windows-wine"), device: { kind: "emulated" } }, platform, [], "out")).toThrow(/own command/);
  });
});

describe("processes", () => {
  const controller = (): AbortController => new AbortController();
  const request = (script: string, more: Partial<ProcessRequest> = {}): { lines: string[]; request: ProcessRequest } => {
    const lines: string[] = [];
    const base = {
      command: process.execPath,
      args: ["-e", script],
      cwd: folder,
      timeoutMs: 30_000,
      signal: controller().signal,
      owner: newOwner(),
    };
    return { lines, request: { ...base, onLine: (line) => lines.push(line), ...more } };
  };

  it("give lines without colours, their status and what they are told", async () => {
    const { lines, request: r } = request(
      `process.stdin.on("data", (d) => console.log("\\x1b[32mgot\\x1b[0m " + d)); console.error("é"); process.exitCode = 3`,
      { input: "text" },
    );
    const end = await runProcess(r);
    expect(end).toMatchObject({ code: 3, isLate: false, error: null });
    expect(lines.toSorted()).toEqual(["got text", "é"]);
    expect(processProblem(end, "it", 1)).toBe("it ended with status 3");
  });

  it("end with all that they started when their time is over", async () => {
    const child = `require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" }); console.log("up"); setInterval(() => {}, 1000)`;
    const { request: r } = request(child, { timeoutMs: 1500 });
    const end = await runProcess(r);
    expect(end.isLate).toBe(true);
    expect(processProblem(end, "it", 1500)).toBe("it was not done after 2 s");
  });

  it("end at once when the run is interrupted", async () => {
    const aborting = controller();
    const { request: r } = request(`console.log("up"); setInterval(() => {}, 1000)`, {
      signal: aborting.signal,
      onLine: () => aborting.abort(new Error("interrupted")),
    });
    await expect(runProcess(r)).rejects.toThrow("interrupted");
  });

  it("that are not there are a problem with a name", async () => {
    const { request: r } = request("", { command: join(folder, "nothing") });
    expect(processProblem(await runProcess(r), "the cell", 1)).toMatch(/^the cell could not be started: .*ENOENT/);
  });

  it.runIf(isLinux)("of a dead run are found by their variable and ended, those of a living one are not", async () => {
    const dead: Owner = { run: "20200101-000000-dead", pid: 1, start: "0", host: hostname() };
    const start = (owner: Owner) =>
      execa(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
        env: { [variable]: variableValue(owner) },
        reject: false,
      });
    const [orphan, mine] = [start(dead), start(newOwner())];
    await Promise.all([orphan, mine].map((child) => new Promise((resolve) => void child.stdout!.once("data", resolve))));
    expect(findProcesses()).toContainEqual([orphan.pid, dead.run]);
    expect(findProcesses().map(([pid]) => pid)).not.toContain(mine.pid);
    expect(removeLeftovers().processes).toBeGreaterThanOrEqual(1);
    expect((await orphan).signal).toBe("SIGKILL");
    expect(mine.exitCode).toBeNull();
    mine.kill();
    await mine;
  });
});

describe("owners", () => {
  it("go through labels and the variable", () => {
    const owner = newOwner(new Date("2026-01-02T03:04:05Z"));
    expect(owner.run).toMatch(/^20260102-030405-[0-9a-f]{4}$/);
    expect(readOwner(ownerLabels(owner))).toEqual(owner);
    expect(readVariable(variableValue(owner))).toEqual(owner);
    expect(readOwner({ "dxtensor.matrix": "cache" })).toBeNull();
    expect(readVariable("nonsense")).toBeNull();
  });

  it.runIf(isLinux)("keep their folders while they live, and lose them when they are dead", () => {
    const [mine, dead] = [newOwner(), { ...newOwner(), start: "1" }].map((owner) => mkdtempSync(join(tmpdir(), folderName(owner)))) as [
      string,
      string,
    ];
    removeLeftovers();
    expect([existsSync(mine), existsSync(dead)]).toEqual([true, false]);
    rmSync(mine, { recursive: true });
  });

  it.runIf(isLinux)("live as long as their process, and not as another that was given its number", () => {
    const owner = newOwner();
    expect(isAlive(owner)).toBe(true);
    expect(isAlive({ ...owner, start: "1" })).toBe(false);
    expect(isAlive({ ...owner, pid: 2 ** 22 + 1 })).toBe(false);
    expect(startTime(process.pid)).toMatch(/^\d+$/);
  });
});

describe("schedule", () => {
  const executor = (name: string, limit: number, accepts = (): boolean => true): Executor => ({ name, limit, accepts });
  const runs = ["a", "a", "b", "b"].map((platform, i) => ({ ...run(platform), id: `${platform}${i}` }));

  it("keeps the limit of each executor, and a platform's runs together", async () => {
    let [now, max] = [0, 0];
    const usedBy = new Map<string, Set<string>>();
    const rest = await schedule(runs, [executor("one", 2), executor("two", 1)], new AbortController().signal, async (r, p) => {
      if (p.name === "one") max = Math.max(max, ++now);
      usedBy.set(r.platform, (usedBy.get(r.platform) ?? new Set()).add(p.name));
      await new Promise((resolve) => setImmediate(resolve));
      if (p.name === "one") now--;
    });
    expect(rest).toEqual([]);
    expect(max).toBe(2);
    expect(usedBy.get("a")).toEqual(new Set(["one"]));
  });

  it("begins nothing after an interruption, and says what is left", async () => {
    const controller = new AbortController();
    const rest = await schedule(runs, [executor("one", 1)], controller.signal, async () => controller.abort());
    expect(rest).toHaveLength(3);
  });

  it("does what shares folders one after another, and first", async () => {
    const events: string[] = [];
    const open: (() => void)[] = [];
    const done = schedule(
      runs,
      [executor("one", 3)],
      new AbortController().signal,
      async (r) => {
        events.push(`+${r.id}`);
        await new Promise<void>((resolve) => open.push(resolve));
        events.push(`-${r.id}`);
      },
      (r) => (r.platform === "b" ? "folders" : null),
    );
    while (open.length > 0) {
      open.shift()!();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await done).toEqual([]);
    expect(events.slice(0, 4)).toEqual(["+b2", "+a0", "+a1", "-b2"]);
    expect(events.indexOf("+b3")).toBeGreaterThan(events.indexOf("-b2"));
    expect(events).toHaveLength(8);
  });

  it("leaves to others what an executor does not take", async () => {
    const seen: string[] = [];
    const rest = await schedule(
      runs,
      [{ ...executor("one", 1), accepts: (r) => r.platform === "b" }],
      new AbortController().signal,
      async (r) => void seen.push(r.id),
    );
    expect(seen).toEqual(["b2", "b3"]);
    expect(rest.map(({ id }) => id)).toEqual(["a0", "a1"]);
  });
});

describe("sources", () => {
  it("have a hash of their content, of the native part apart, and a tar that is the same each time", async () => {
    mkdirSync(join(folder, "native"));
    for (const [name, text] of [
      ["native/a.cpp", "1"],
      ["b.ts", "2"],
      ["docs.md", "3"],
    ] as const)
      writeFileSync(join(folder, name), text);
    const names = ["b.ts", "native/a.cpp"];
    const read = (): Promise<Buffer> => sourcesOf(folder, "it", names).archive("all");
    const first = sourcesOf(folder, "it", names);
    const tar = await read();
    writeFileSync(join(folder, "b.ts"), "2");
    expect(await read()).toEqual(tar);
    writeFileSync(join(folder, "b.ts"), "changed");
    const second = sourcesOf(folder, "it", names);
    expect(second.hash).not.toBe(first.hash);
    expect(second.nativeHash).toBe(first.nativeHash);
    writeFileSync(join(folder, "native/a.cpp"), "changed");
    expect(sourcesOf(folder, "it", names).nativeHash).not.toBe(first.nativeHash);
    const gone = sourcesOf(folder, "it", names);
    rmSync(join(folder, "b.ts"));
    await expect(gone.archive("all")).rejects.toThrow("ENOENT");
    writeFileSync(join(folder, "b.ts"), "");
    expect(sourcesOf(folder, "it", [...names, "docs/x.md"]).hash).toBe(sourcesOf(folder, "it", names).hash);
  });
});

describe("WSL", () => {
  const context = {
    run: run("wsl-ubuntu-20.04"),
    platform: config.platforms.find(({ id }) => id === "wsl-ubuntu-20.04")!,
    tests: ["test/ops/"],
    out: "C:\\it's\\out",
    sources: { what: "", hash: "abc", nativeHash: "", archive: () => null as never },
  };

  it("is given a script that bash understands, on standard input", async () => {
    expect(wslArguments("Ubuntu-20.04")).toEqual(["-d", "Ubuntu-20.04", "--exec", "bash", "-s"]);
    const script = wslScript(context, "C:\\dx tensor");
    expect((await execa("bash", ["-n"], { input: script, reject: false })).stderr).toBe("");
    expect(script).toContain("'--device' 'simulated:gtx-1070@6.2'");
    expect(script).not.toContain("\r");
  });

  it.runIf(isLinux)("copies, builds once, runs the cell and brings its report and status back", async () => {
    // Stand-ins for what the distribution brings; the script itself is run.
    const [bin, source, home, out] = ["bin", "source", "home", "out"].map((name) => join(folder, name)) as [string, string, string, string];
    for (const path of [bin, join(source, "scripts"), home]) mkdirSync(path, { recursive: true });
    const program = (name: string, body: string): void => {
      writeFileSync(join(bin, name), `#!/bin/sh\n${body}\n`);
      chmodSync(join(bin, name), 0o755);
    };
    program("npm", `echo "npm $*" >>${folder}/calls`);
    program("git", 'printf "scripts/install-node.sh\\0"');
    // Node's installer of the repository: here it installs a program that fails as a cell with a failed test does.
    writeFileSync(
      join(source, "scripts", "install-node.sh"),
      `mkdir -p "$4/bin"; printf '#!/bin/sh\\nmkdir -p out; echo "$*" >out/ctrf.json; exit 1\\n' >"$4/bin/node"; chmod 755 "$4/bin/node"; echo install >>${folder}/calls`,
    );
    const script = wslScript({ ...context, out }, source);
    const once = (): Promise<{ exitCode?: number; stderr: string }> =>
      execa("bash", ["-s"], { input: script, reject: false, extendEnv: false, env: { PATH: `${bin}:/usr/bin:/bin`, HOME: home } });
    const first = await once();
    expect(first.stderr).toBe("");
    expect(first.exitCode).toBe(1);
    expect(readFileSync(join(out, "ctrf.json"), "utf8")).toContain("--device simulated:gtx-1070@6.2");
    const calls = readFileSync(join(folder, "calls"), "utf8").split("\n");
    expect(calls.slice(0, 4)).toEqual(["install", "npm ci --no-audit --no-fund", "npm run setup", "npm run build"]);
    await once();
    expect(readFileSync(join(folder, "calls"), "utf8").split("\n")).toEqual(calls);
  });

  it("knows a distribution, and no container on WSL for one", () => {
    const kernel = "5.15.153.1-microsoft-standard-WSL2";
    expect(distributionName({ WSL_DISTRO_NAME: "Ubuntu-22.04" }, kernel, false, "")).toBe("Ubuntu-22.04");
    expect(distributionName({}, kernel, false, 'ID=ubuntu\nVERSION_ID="20.04"\n')).toBe("Ubuntu-20.04");
    expect(distributionName({ WSL_DISTRO_NAME: "Ubuntu-22.04" }, kernel, true, "")).toBeNull();
    expect(distributionName({}, "6.1.0-13-amd64", false, "ID=debian")).toBeNull();
  });
});

describe("Windows", () => {
  it("is given a script whose text arrives as it is", () => {
    const context = {
      run: run("windows-11"),
      platform: config.platforms.find(({ id }) => id === "windows-11")!,
      tests: ["test/ops/"],
      sources: { what: "", hash: "abc", nativeHash: "", archive: () => null as never },
    };
    const script = windowsScript(context, { source: "\\\\wsl$\\it's", node: "C:\\node", out: "C:\\out" });
    expect(script).toContain("'\\\\wsl$\\it''s'");
    expect(script).toContain("'simulated:gtx-1070@6.4'");
    expect(Buffer.from(encoded(script), "base64").toString("utf16le")).toBe(script);
  });

  it("tells its build", () => {
    expect(readWindowsBuild("\r\nMicrosoft Windows [Version 10.0.19045.3803]\r\n")).toBe(19045);
    expect(readWindowsBuild("")).toBeNull();
  });
});

describe("small things", () => {
  it("quote for a shell", async () => {
    const text = `it's "$HOME" \\ \`x\``;
    expect((await execa("sh", ["-c", `printf %s ${quote(text)}`])).stdout).toBe(text);
  });

  it("ask a platform's script for everything once, and afterwards for what its Node changes", () => {
    const { command } = config.platforms.find(({ id }) => id === "windows-wine") as { command: Command };
    expect(commandArguments(command, { ...run("windows-wine"), native: true })).toEqual(["--quick", "--node", "22"]);
    const later = commandArguments(command, run("windows-wine", "24"));
    expect(later).toEqual(["--quick", "--node", "24", "--only", "addon", "--only", "tests"]);
  });

  it("take a script's own report with its versions, and make one where it left none", () => {
    const counted = (line: string): CommandOutcome => {
      const outcome = new CommandOutcome("here", "verify", ["--quick"]);
      for (const text of ["noise", line, ""]) outcome.onLine(text);
      return outcome;
    };
    const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));
    expect(counted("3 passed, 0 failed").finish(folder, null)).toEqual({ status: "passed", reason: null, where: "here" });
    expect(read("ctrf.json")).toMatchObject({ results: { summary: { tests: 1, passed: 1 } } });
    expect(read("facts.json")).toEqual({ command: "npm run verify -- --quick" });

    const report = new ReportBuilder()
      .tool({ name: "verify" })
      .environment({ extra: { versions: { node: ["20", "22"], wine: "10.0", folder: "/home/me", isRight: true } } })
      .addTest(new TestBuilder().name("adds").status("passed").duration(1).build())
      .build();
    writeFileSync(join(folder, "ctrf.json"), JSON.stringify(report));
    expect(counted("3 passed, 1 failed").finish(folder, null)).toMatchObject({ status: "failed", reason: "1 failed" });
    expect(read("ctrf.json")).toMatchObject({ results: { tests: [{ name: "adds" }] } });
    expect(read("facts.json")).toEqual({ command: "npm run verify -- --quick", node: "20, 22", wine: "10.0" });

    writeFileSync(join(folder, "ctrf.json"), JSON.stringify({ results: "cut off" }));
    expect(counted("no count").finish(folder, null).reason).toBe("npm run verify -- --quick said no count of tests");
    expect(read("ctrf.json")).toMatchObject({ results: { summary: { failed: 1 } } });
    expect(counted("3 passed, 0 failed").finish(folder, "it ended with status 2").reason).toBe("it ended with status 2");
  });

  it("read the closing line of a command", () => {
    expect(readCounts(["3 passed, 1 failed", "12 passed, 0 failed", "noise"])).toEqual({ passed: 12, failed: 0 });
    expect(readCounts(["nothing"])).toBeNull();
  });

  it("make Dockerfiles that the oldest builder takes", () => {
    const platform = config.platforms.find(({ id }) => id === "linux-glibc-2.31")!;
    if (platform.runner !== "docker") throw new Error("not a container");
    const text = toolsDockerfile("ubuntu:20.04", platform);
    expect(text).toMatch(/^FROM ubuntu:20\.04\n/);
    expect(text).toContain('ln -s "$(command -v g++-9)" /usr/local/bin/g++');
    expect(text).not.toMatch(/--mount|<<|syntax=/);
  });

  it("write plain lines where there is no terminal", () => {
    const written: string[] = [];
    const progress = plainProgress((text) => written.push(text));
    const result = {
      id: "a/node-20/software",
      status: "failed",
      reason: "add failed",
      startedAt: 0,
      endedAt: 61_000,
      facts: {},
      where: "",
      counts: { passed: 3, failed: 1, skipped: 0 },
    } as const;
    progress.begin(result.id);
    progress.note(result.id, "noise");
    progress.end(result, 1, 2);
    expect(written).toEqual([
      "  a/node-20/software: started\n",
      "✗ a/node-20/software: 3 passed, 1 failed; add failed (1 min 1 s) [1/2]\n",
    ]);
    expect(describeResult({ ...result, status: "passed", reason: null })).toMatch(/^✓ /);
  });
});
