/** From axes to cells and runs. Pure: nothing is probed, started or read here. */
import { commandOf, type Config, type Gpu, type Platform } from "../config/schema.ts";
import type { Cell, DeviceChoice, Evidence, LoweringReport, Plan, Run } from "../types.ts";
import type { Host } from "./host.ts";
import { holds, matches, type CellKey } from "./patterns.ts";
import { platformProblem } from "./reach.ts";

export interface PlanOptions {
  readonly suite: string;
  readonly platform?: readonly string[];
  readonly node?: readonly string[];
  readonly gpu?: readonly string[];
}

/** For each feature level that was asked, what the lowerings of the profiles are. Without an entry each profile runs for itself. */
export type Lowerings = ReadonlyMap<string, LoweringReport>;

interface Choice {
  readonly evidence: Evidence;
  readonly devices: readonly DeviceChoice[];
  readonly reason: string | null;
}

const runsOnHost = (platform: Platform): boolean =>
  platform.runner === "host" || platform.runner === "wsl" || platform.runner === "windows";

/** What the cell's device is on this platform. */
function choose(platform: Platform, gpu: Gpu, host: Host): Choice {
  switch (gpu.kind) {
    case "software":
      return { evidence: "software", devices: [{ kind: "software" }], reason: null };
    case "gpu": {
      const found = runsOnHost(platform) ? host.adapters.find((adapter) => new RegExp(gpu.matches).test(adapter.name)) : undefined;
      if (found !== undefined)
        return { evidence: "hardware", devices: [{ kind: "hardware", index: found.index, name: found.name }], reason: null };
      return { evidence: "simulated", devices: [{ kind: "simulated", profile: gpu.profile }], reason: null };
    }
    case "present": {
      if (!runsOnHost(platform)) return { evidence: "hardware", devices: [], reason: "only cells on the host itself reach its GPUs" };
      const devices = host.adapters.map(({ index, name }): DeviceChoice => ({ kind: "hardware", index, name }));
      return { evidence: "hardware", devices, reason: devices.length === 0 ? "this host has no DirectX 12 GPU" : null };
    }
    case "emulated":
      return {
        evidence: "emulated",
        devices: [{ kind: "emulated" }],
        reason: platform.runner === "none" || commandOf(platform) !== null ? null : "only Microsoft's library over Vulkan runs on it",
      };
    default:
      return gpu satisfies never;
  }
}

/** The profiles that run as one: the first of each group stands for it. */
function representative(profile: string, report: LoweringReport | undefined): string {
  return report?.groups.find((group) => group.includes(profile))?.[0] ?? profile;
}

/** Cells of a platform run together: it is made and built once. */
export function makePlan(config: Config, host: Host, lowerings: Lowerings, options: PlanOptions): Plan {
  const selected = (key: CellKey): boolean =>
    matches(key.platform, options.platform ?? ["*"]) && matches(key.node, options.node ?? ["*"]) && matches(key.gpu, options.gpu ?? ["*"]);
  const cells: Cell[] = [];
  const runs = new Map<string, { -readonly [K in keyof Run]: K extends "cells" ? string[] : Run[K] }>();
  const levels = new Set<string>();
  const leftOut = new Map<string, { platform: string; gpus: Set<string>; reason: string }>();
  for (const platform of config.platforms) {
    let native = platform.runner !== "none";
    for (const node of config.node) {
      for (const gpu of config.gpus) {
        const key = { platform: platform.id, node, gpu: gpu.id };
        if (!selected(key)) continue;
        const excluded = config.exclusions.find((rule) => holds(rule, key));
        if (excluded !== undefined) {
          const key = `${platform.id}\0${excluded.reason}`;
          const entry = leftOut.get(key) ?? { platform: platform.id, gpus: new Set(), reason: excluded.reason };
          entry.gpus.add(gpu.id);
          leftOut.set(key, entry);
          continue;
        }
        const choice = choose(platform, gpu, host);
        const reason = platformProblem(platform, node, host) ?? choice.reason;
        const [device] = choice.devices;
        const base = {
          id: `${platform.id}/node-${node}/${gpu.id}`,
          ...key,
          evidence: choice.evidence,
          mustPass: config.mustPass.some((rule) => holds(rule, key)),
        };
        if (reason !== null || device === undefined) {
          cells.push({ ...base, run: null, reason: reason ?? "nothing to run on" });
          continue;
        }
        const report = lowerings.get(platform.directml);
        if (device.kind === "simulated") levels.add(platform.directml);
        const done = device.kind === "simulated" ? { ...device, profile: representative(device.profile, report) } : device;
        const id = `${platform.id}/node-${node}/${done.kind === "simulated" ? done.profile : gpu.id}`;
        const run = runs.get(id) ?? {
          id,
          platform: platform.id,
          node,
          device: done,
          cells: [],
          native: native && (done.kind === "software" || done.kind === "emulated"),
        };
        if (run.native) native = false;
        run.cells.push(base.id);
        runs.set(id, run);
        cells.push({ ...base, run: id, reason: null });
      }
    }
  }
  const reports = [...levels].flatMap((level) => lowerings.get(level) ?? []);
  return {
    suite: options.suite,
    cells,
    runs: [...runs.values()],
    leftOut: [...leftOut.values()].map((entry) => ({ ...entry, gpus: [...entry.gpus] })),
    lowerings: reports,
  };
}
