import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gather, isNodeSupported, type Facts } from "../../src/doctor/facts.ts";
import { decode } from "../../src/doctor/machine.ts";
import { readProbe, runProbe } from "../../src/doctor/probe.ts";
import { describe as show } from "../../src/doctor/report-text.ts";
import { judge } from "../../src/doctor/verdict.ts";
import { compareVersions } from "../../src/doctor/executable.ts";
import { driverProblem, readGpus, readWslVersions } from "../../src/doctor/wsl.ts";
import { hostOf, lay, type Tree } from "./tree.ts";
import { linuxTrees, windowsTrees } from "./trees/linux.ts";
import { wslTrees } from "./trees/wsl.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-tree-"));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

async function examine(tree: Tree): Promise<Facts> {
  lay(tree, root);
  const host = hostOf(tree, root);
  return gather(host, "0.1.0", await runProbe(host, "cli.js"));
}

describe.each([
  ["WSL", wslTrees],
  ["Linux", linuxTrees],
  ["Windows", windowsTrees],
] as const)("%s", (_, trees) => {
  it.each(trees.map((tree) => [tree.name, tree] as const))("%s", async (_name, tree) => {
    const facts = await examine(tree);
    const verdict = judge(facts);
    const text = show(facts, verdict);
    const { expected } = tree;
    expect({ verdict: verdict.code, ok: verdict.isHealthy, codes: verdict.problems.map(({ code }) => code) }).toEqual({
      verdict: expected.verdict,
      ok: expected.ok,
      codes: expected.codes,
    });
    if (expected.mend !== undefined) expect(verdict.problems[0]?.mend).toMatch(expected.mend);
    for (const pattern of expected.shows) expect(text).toMatch(pattern);
    // One screen, and every problem has its way out.
    expect(text.split("\n").length).toBeLessThanOrEqual(40);
    for (const { mend, text: what } of verdict.problems) {
      expect(mend).not.toBe("");
      expect(text).toContain(mend);
      expect(text).toContain(what);
    }
    expect(JSON.parse(JSON.stringify(facts))).toEqual(facts);
  });
});

it("every tree names its sources", () => {
  const without = [...wslTrees, ...linuxTrees, ...windowsTrees].filter(({ sources }) => sources.length === 0);
  expect(without.map(({ name }) => name)).toEqual([]);
});

it("nothing at all: no file, no command, no Node to start again", async () => {
  const host = hostOf(
    { name: "", sources: [], files: {}, expected: { verdict: "broken", ok: false, codes: [], shows: [] } },
    join(root, "nowhere"),
  );
  const facts = await gather({ ...host, node: "", platform: "sunos", arch: "sparc" }, "0.1.0", readProbe(null, 1));
  const verdict = judge(facts);
  expect(verdict.code).toBe("broken");
  expect(show(facts, verdict)).toContain("NOT OK");
});

describe("how the process with the devices ended", () => {
  const line = (step: object): string => `${JSON.stringify(step)}\n`;
  const loaded = line({ step: "loaded", libraries: { software: "/x" }, refused: [] });
  const cpu =
    line({ step: "trying", device: "cpu", name: "" }) + line({ step: "device", device: "cpu", name: "software adapter", problem: null });
  const ended = (stdout: string, status: number | null, signal: string | null = null) =>
    readProbe({ stdout, status, signal, stderr: "last words\n" }, 5000);

  it("well", () => {
    const probe = ended(loaded + cpu + line({ step: "done" }), 0);
    expect(probe).toMatchObject({ isLoaded: true, problem: null, libraries: { software: "/x" } });
    expect(probe.devices.map(({ device, problem }) => [device, problem])).toEqual([["cpu", null]]);
  });
  it("while libraries were loaded", () => {
    expect(ended("", null, "SIGSEGV")).toMatchObject({
      isLoaded: false,
      problem: "the process ended while libraries were loaded (SIGSEGV): last words",
    });
  });
  it("while a device was used, in the middle of a line", () => {
    const probe = ended(`${loaded}${cpu}${line({ step: "trying", device: "dml:0", name: "RTX" })}{"step":"dev`, null, "SIGABRT");
    expect(probe.devices[1]).toMatchObject({ device: "dml:0", name: "RTX", problem: "the process ended while dml:0 was used (SIGABRT)" });
  });
  it("by the time limit", () => {
    const probe = ended(loaded + line({ step: "trying", device: "dml:0", name: "" }), null, "SIGKILL");
    expect(probe.devices[0]?.problem).toContain("it did not end within 5 s");
  });
  it("after everything, in a driver's clean-up", () => {
    expect(ended(loaded + cpu + line({ step: "done" }), null, "SIGSEGV").problem).toBe("the process fell at its end (SIGSEGV)");
  });
  it("with the addon's own words", () => {
    expect(ended(line({ step: "failed", problem: "libatomic.so.1: cannot open" }), 0)).toMatchObject({
      isLoaded: false,
      problem: "libatomic.so.1: cannot open",
    });
  });
});

describe("what commands say", () => {
  it("UTF-16 with and without a mark, UTF-8", () => {
    const text = "WSL version: 2.3.26.0\r\n";
    for (const bytes of [Buffer.from(text, "utf16le"), Buffer.from(`\uFEFF${text}`, "utf16le"), Buffer.from(text)])
      expect(decode(bytes)).toBe("WSL version: 2.3.26.0\n");
  });
  it("wsl --version of an inbox WSL is its help", () => {
    expect(readWslVersions("Copyright (c) Microsoft Corporation. All rights reserved.\nUsage: wsl.exe [Argument]\n")).toBeNull();
  });
  it("one GPU, several, none, rubbish", () => {
    expect(readGpus('{"Name":"A","DriverVersion":"1.2.3.4"}')).toEqual([{ name: "A", driver: "1.2.3.4" }]);
    expect(readGpus('[{"Name":"A","DriverVersion":"1"},{"Name":"B","DriverVersion":null}]')).toEqual([
      { name: "A", driver: "1" },
      { name: "B", driver: "unknown" },
    ]);
    expect(readGpus("")).toBeNull();
  });
  it.each([
    ["NVIDIA GeForce GTX 1070", "27.21.14.5671", "NVIDIA's driver 456.71 is older than 460.20"],
    ["NVIDIA GeForce GTX 1070", "27.21.14.6079", null],
    ["NVIDIA GeForce RTX 3070", "31.0.15.5222", null],
    ["Intel(R) UHD Graphics 630", "27.20.100.8783", "Intel's driver 27.20.100.8783 is older than 28.20.100.8322"],
    ["Intel(R) UHD Graphics 630", "29.20.100.9116", null],
    ["AMD Radeon RX 580", "26.20.12028.2", "the driver 26.20.12028.2 is of a model older than WDDM 2.7"],
    ["AMD Radeon RX 580", "31.0.21912.14", null],
    ["AMD Radeon RX 580", "unknown", null],
  ])("%s with driver %s", (name, driver, problem) => {
    expect(driverProblem({ name, driver })).toBe(problem);
  });
});

it("versions compare by number", () => {
  expect(compareVersions("5.10.43.3", "5.9")).toBeGreaterThan(0);
  expect(compareVersions("5.10", "5.10.0.0")).toBe(0);
  expect(compareVersions("1.1.0.0", "1.8")).toBeLessThan(0);
});

it.each([
  ["v20.16.0", false],
  ["v20.17.0", true],
  ["v21.7.0", false],
  ["v22.8.0", false],
  ["v22.9.0", true],
  ["v26.10.0", true],
])("Node %s", (version, isSupported) => {
  expect(isNodeSupported(version)).toBe(isSupported);
});
