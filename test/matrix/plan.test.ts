import { describe, expect, it } from "vitest";
import { loadConfig, parseConfig } from "../../matrix/config/load.ts";
import type { Config } from "../../matrix/config/schema.ts";
import { groupLowerings } from "../../matrix/lowerings/group.ts";
import type { Host } from "../../matrix/plan/host.ts";
import { matches } from "../../matrix/plan/patterns.ts";
import { makePlan } from "../../matrix/plan/plan.ts";
import { printPlan } from "../../matrix/plan/print.ts";
import { platformProblem } from "../../matrix/plan/reach.ts";
import type { LoweringReport } from "../../matrix/types.ts";
import { linux, windows } from "./hosts.ts";

const config = loadConfig("matrix/matrix.yaml");
const profiles = config.gpus.flatMap((gpu) => (gpu.kind === "gpu" ? [gpu.profile] : []));

const grouped = (...groups: string[][]): LoweringReport => ({ featureLevel: "6.2", groups, differences: [], asked: 1 });
const containers = { suite: "device", platform: ["linux-glibc-2.31", "linux-glibc-2.36"] };

const reasonsOf = (host: Host, platform: string): string[] => [
  ...new Set(makePlan(config, host, new Map(), { suite: "device", platform: [platform] }).cells.map(({ reason }) => reason ?? "runs")),
];

describe("the axes of the repository", () => {
  it("are those that were asked for", () => {
    expect(config.node).toEqual(["20", "22", "24", "26"]);
    expect(profiles).toEqual(["uhd-630", "rx-5700-xt", "rx-580", "rx-6900-xt", "gtx-1070", "rtx-3070", "rtx-2080-super", "adreno-680"]);
    expect(config.platforms.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        "windows-10",
        "windows-11",
        "wsl-ubuntu-20.04",
        "wsl-ubuntu-22.04",
        "wsl-ubuntu-24.04",
        "linux-glibc-2.31",
        "linux-glibc-2.36",
      ]),
    );
  });

  it.each([
    ["NVIDIA GeForce RTX 3070", "rtx-3070"],
    ["NVIDIA GeForce RTX 3070 Ti", undefined],
    ["Intel(R) UHD Graphics 630", "uhd-630"],
    ["Radeon RX 580 Series", "rx-580"],
    ["AMD Radeon RX 5700 XT", "rx-5700-xt"],
    ["Qualcomm(R) Adreno(TM) 680 GPU", "adreno-680"],
    ["NVIDIA GeForce RTX 2080 SUPER", "rtx-2080-super"],
  ])("takes the adapter %s for %s", (name, id) => {
    expect(config.gpus.find((gpu) => gpu.kind === "gpu" && new RegExp(gpu.matches).test(name))?.id).toBe(id);
  });
});

describe("plan", () => {
  it("is the same for the same input, and each cell belongs to one run or has a reason", () => {
    const plan = makePlan(config, linux, new Map(), { suite: "device" });
    expect(makePlan(config, linux, new Map(), { suite: "device" })).toEqual(plan);
    expect(new Set(plan.cells.map(({ id }) => id)).size).toBe(plan.cells.length);
    for (const cell of plan.cells) {
      expect(cell.run === null).toBe(cell.reason !== null);
      if (cell.run !== null) expect(plan.runs.find(({ id }) => id === cell.run)?.cells).toContain(cell.id);
    }
  });

  it("runs every profile for itself when lowerings are unknown, and one for each group when they are known", () => {
    expect(makePlan(config, linux, new Map(), containers).runs).toHaveLength(2 * 4 * 9);
    const others = profiles.filter((profile) => profile !== "gtx-1070");
    const plan = makePlan(config, linux, new Map([["6.2", grouped(others, ["gtx-1070"])]]), containers);
    expect(plan.runs).toHaveLength(2 * 4 * 3);
    const shared = plan.runs.find(({ id }) => id === "linux-glibc-2.31/node-20/uhd-630")!;
    expect(shared.cells).toEqual(others.map((id) => `linux-glibc-2.31/node-20/${id}`));
    expect(plan.cells.find(({ id }) => id === "linux-glibc-2.31/node-20/rtx-3070")).toMatchObject({
      run: shared.id,
      evidence: "simulated",
    });
    expect(plan.lowerings).toHaveLength(1);
  });

  it("has the native programs run once for a platform", () => {
    const { runs } = makePlan(config, linux, new Map(), containers);
    expect(runs.filter(({ native }) => native).map(({ id }) => id)).toEqual([
      "linux-glibc-2.31/node-20/software",
      "linux-glibc-2.36/node-20/software",
    ]);
  });

  it("never calls a GPU hardware that the host does not have", () => {
    for (const host of [linux, { ...linux, adapters: windows.adapters }, windows])
      for (const { evidence, gpu, platform, run } of makePlan(config, host, new Map(), { suite: "device" }).cells) {
        const runner = config.platforms.find(({ id }) => id === platform)!.runner;
        if (evidence === "hardware" && run !== null) {
          expect(["host", "wsl", "windows"]).toContain(runner);
          expect(["rtx-3070", "present"]).toContain(gpu);
          expect(host.adapters).not.toEqual([]);
        }
      }
  });

  it("has Microsoft's library over Vulkan and under Wine as emulated cells, on the versions of Node that they have", () => {
    const { cells, runs } = makePlan(config, linux, new Map(), { suite: "device", platform: ["*-vulkan", "windows-wine"] });
    expect(new Set(cells.map(({ evidence }) => evidence))).toEqual(new Set(["emulated"]));
    expect(runs.map(({ id }) => id)).toEqual([
      ...["20", "22", "24", "26"].map((node) => `linux-glibc-2.36-vulkan/node-${node}/lavapipe`),
      ...["20", "22", "24", "26"].map((node) => `host-vulkan/node-${node}/lavapipe`),
      ...["20", "22", "24"].map((node) => `windows-wine/node-${node}/lavapipe`),
    ]);
    expect(runs.filter(({ native }) => native).map(({ node }) => node)).toEqual(["20", "20", "20"]);
    expect(cells.find(({ id }) => id === "windows-wine/node-26/lavapipe")?.reason).toBe("the cell brings Node 20, 22, 24, and not 26");
  });

  it("tests the GPU that is there as hardware, on the host and not in containers", () => {
    const { cells, runs } = makePlan(config, { ...linux, adapters: [{ index: 1, name: "NVIDIA GeForce RTX 3070" }] }, new Map(), {
      suite: "device",
    });
    expect(cells.find(({ id }) => id === "host/node-22/rtx-3070")?.evidence).toBe("hardware");
    expect(runs.find(({ id }) => id === "host/node-22/rtx-3070")?.device).toEqual({
      kind: "hardware",
      index: 1,
      name: "NVIDIA GeForce RTX 3070",
    });
    expect(cells.find(({ id }) => id === "linux-glibc-2.36/node-22/rtx-3070")?.evidence).toBe("simulated");
    expect(cells.find(({ id }) => id === "host/node-22/present")?.run).toBe("host/node-22/present");
  });

  it("leaves combinations out that are excluded, and says which", () => {
    const plan = makePlan(config, linux, new Map(), { suite: "device" });
    expect(plan.cells.filter(({ platform, gpu }) => platform === "windows-wine" && gpu !== "lavapipe")).toEqual([]);
    expect(plan.leftOut.find(({ platform }) => platform === "windows-wine")?.gpus).toContain("rtx-3070");
  });

  it("takes a choice of cells", () => {
    const plan = makePlan(config, linux, new Map(), { suite: "quick", platform: ["linux-*"], node: ["20", "26"], gpu: ["rtx-*"] });
    expect(new Set(plan.cells.map(({ gpu }) => gpu))).toEqual(new Set(["rtx-3070", "rtx-2080-super"]));
    expect(new Set(plan.cells.map(({ node }) => node))).toEqual(new Set(["20", "26"]));
  });

  it("prints runs, reasons and groups", () => {
    const plan = makePlan(config, { ...linux, engines: [], engineProblem: "nothing answers" }, new Map([["6.2", grouped(profiles)]]), {
      suite: "device",
    });
    const text = printPlan(plan);
    expect(text).toContain("linux-glibc-2.31: no Docker engine: nothing answers");
    expect(text).toContain("host/node-20/software  (software, must pass, native programs)");
  });
});

describe("what a machine reaches", () => {
  it("marks each platform that Linux can't run with its reason", () => {
    expect(reasonsOf(linux, "windows-10")).toEqual(["this machine is Linux"]);
    expect(reasonsOf(linux, "wsl-ubuntu-22.04")).toEqual(["this machine is Linux without WSL"]);
    expect(reasonsOf(linux, "linux-glibc-2.31-vulkan")[0]).toMatch(/Mesa/);
    expect(reasonsOf({ ...linux, scripts: [] }, "windows-wine")).toEqual(["there is no npm run verify:windows yet"]);
    expect(reasonsOf({ ...linux, engines: [], engineProblem: "nothing answers" }, "linux-glibc-2.36-vulkan")).toEqual([
      "no Docker engine: nothing answers",
    ]);
    expect(reasonsOf({ ...linux, glibc: "2.31" }, "host-vulkan")).toEqual(["this machine's glibc is 2.31, and the cell needs 2.36"]);
    expect(reasonsOf({ ...linux, glibc: null }, "host-vulkan")).toEqual(["this machine's glibc is not there, and the cell needs 2.36"]);
    expect(reasonsOf({ ...linux, glibc: "2.41" }, "host-vulkan")).toEqual(["runs"]);
  });

  it("tells Windows 10 from 11 by its build, and knows its distributions", () => {
    expect(reasonsOf(windows, "windows-11")).toEqual(["this is Windows of build 19045"]);
    expect(reasonsOf(windows, "windows-10")).toContain("runs");
    expect(reasonsOf(windows, "wsl-ubuntu-20.04")).toContain("runs");
    expect(reasonsOf(windows, "wsl-ubuntu-24.04")).toEqual(["WSL has no distribution Ubuntu-24.04 (wsl --install -d Ubuntu-24.04)"]);
    expect(reasonsOf(windows, "windows-wine")).toEqual(["this machine is Windows, not Linux"]);
  });

  it("reaches Windows from a distribution by interop only", () => {
    const wsl: Host = { ...linux, distribution: "Ubuntu-20.04" };
    const platform = config.platforms.find(({ id }) => id === "windows-11")!;
    expect(platformProblem(platform, "20", wsl)).toMatch(/interop/);
    expect(platformProblem(platform, "20", { ...wsl, windowsBuild: 22631 })).toBeNull();
  });

  it("needs the version of Node for cells on the host", () => {
    expect(makePlan(config, windows, new Map(), { suite: "device", platform: ["host"], node: ["20"] }).cells[0]?.reason).toMatch(
      /^Node 20 is not on this machine/,
    );
  });
});

describe("groups of lowerings", () => {
  it("put profiles together whose forms are all equal, and list what differs once", () => {
    const report = groupLowerings(
      "6.2",
      ["a", "b", "c"],
      [
        { operation: "add float32", forms: ["ADD", "ADD", "ADD"] },
        { operation: "gelu float16", forms: ["GELU", "fallback", "GELU"] },
        { operation: "gelu float16", forms: ["GELU", "fallback", "GELU"] },
      ],
    );
    expect(report.groups).toEqual([["a", "c"], ["b"]]);
    expect(report.differences).toEqual([{ operation: "gelu float16", forms: ["GELU", "fallback"] }]);
    expect(report.asked).toBe(3);
  });
});

describe("patterns", () => {
  it.each([
    ["rtx-3070", ["rtx-*"], true],
    ["rtx-3070", ["gtx-*", "*-3070"], true],
    ["rtx-3070", ["rtx-307"], false],
    ["linux-glibc-2.31", ["linux-glibc-2x31"], false],
    ["a.b", ["a?b"], false],
  ])("%s against %j", (id, patterns, expected) => {
    expect(matches(id, patterns)).toBe(expected);
  });
});

const small = `
platforms:
  - { id: host, name: Host, runner: host, directml: "6.4" }
node: ["22"]
gpus:
  - { id: software, name: Software, kind: software }
suites: { quick: [test/] }
quick: { platform: host, withoutEngine: host, suite: quick }
limits: { parallel: 2, cellMinutes: 1, buildMinutes: 1 }
`;

describe("matrix.yaml's mistakes", () => {
  const problem = (text: string): string => {
    try {
      parseConfig(text, "m.yaml");
    } catch (error) {
      return (error as Error).message;
    }
    return "none";
  };

  it("is right as it stands", () => {
    const parsed: Config = parseConfig(small);
    expect(parsed.quick.platform).toEqual(["host"]);
    expect(parsed.exclusions).toEqual([]);
  });

  it.each([
    ["an unknown key", small.replace("runner: host", "runner: host, colour: red"), /^m\.yaml:3: platforms\[0\]: .*colour/],
    ["an unknown runner", small.replace("runner: host", "runner: horse"), /^m\.yaml:3: platforms\[0\]\.runner/],
    ["a number for a version", small.replace('directml: "6.4"', "directml: 6.4"), /^m\.yaml:3: platforms\[0\]\.directml/],
    ["a missing axis", small.replace(/^node.*$/m, ""), /node: .*\n/],
    [
      "an id twice",
      small.replace("gpus:", "gpus:\n  - { id: software, name: Again, kind: software }"),
      /^m\.yaml:7: gpus\[1\]\.id: "software" is there twice/,
    ],
    [
      "a pattern that means nothing",
      `${small}mustPass:\n  - { gpu: rtx-* }\n`,
      /^m\.yaml:11: mustPass\[0\]\.gpu: "rtx-\*" is none of: software/,
    ],
    ["an unknown suite", small.replace("suite: quick }", "suite: slow }"), /^m\.yaml:8: quick\.suite: "slow" is none of the suites: quick/],
    [
      "a broken expression",
      small.replace("gpus:", 'gpus:\n  - { id: x, name: X, kind: gpu, profile: x, matches: "(" }'),
      /^m\.yaml:6: gpus\[0\]\.matches/,
    ],
    ["no YAML", "platforms: [", /^m\.yaml:1: /],
    ["two cells at a time at least one", small.replace("parallel: 2", "parallel: 0"), /^m\.yaml:9: limits\.parallel/],
  ])("names the line of %s", (_name, text, expected) => {
    expect(problem(text)).toMatch(expected);
  });
});
