/** The doctor's report on one screen. Pure. */
import type { Facts, LibraryFact } from "./facts.ts";
import type { Verdict } from "./verdict.ts";

type Row = readonly [label: string, value: string];

const joined = (parts: readonly (string | null | undefined | false)[]): string => parts.filter(Boolean).join(", ");

function libraryText(fact: LibraryFact): string {
  if (fact.path === null) return fact.variable === null ? "not found" : `not found (${fact.variable}=${fact.tried[0]})`;
  const how = fact.problem === null ? (fact.version ?? "") : `UNUSABLE: ${fact.problem}`;
  return `${fact.path}${how === "" ? "" : `  ${how}`}${fact.isOverVulkan ? ", over Vulkan" : ""}`;
}

function wslRows({ wsl, gpus, dxg, system }: Facts): Row[] {
  const rows: Row[] = [];
  if (wsl !== null) {
    const { versions } = wsl;
    const parts = [
      `version ${wsl.version}`,
      wsl.distribution,
      versions?.wsl && `WSL ${versions.wsl}`,
      versions?.direct3d && `Direct3D ${versions.direct3d}`,
      versions?.dxcore && `DXCore ${versions.dxcore}`,
    ];
    rows.push(["WSL", joined(parts)]);
    rows.push(["Windows", wsl.windowsVersion ?? "unknown: Windows did not answer"]);
  }
  for (const { name, driver } of gpus ?? []) rows.push(["GPU", `${name}, driver ${driver}`]);
  if (wsl !== null && gpus === null) rows.push(["GPU", "unknown: Windows did not answer"]);
  const device = { there: "/dev/dxg", standIn: "/dev/dxg is a stand-in (/dev/null)", denied: "/dev/dxg, not open to this user" };
  if (wsl !== null || dxg !== null) rows.push(["Device", dxg === null ? "no /dev/dxg" : device[dxg]]);
  if (system.kernel !== null) rows.push(["Kernel", system.kernel]);
  return rows;
}

function vulkanRows({ vulkan }: Facts): Row[] {
  if (vulkan === null) return [];
  const rows: Row[] = [
    [
      "Vulkan",
      vulkan.loader === null ? "no loader" : joined([vulkan.loader.path, vulkan.loader.version && `version ${vulkan.loader.version}`]),
    ],
  ];
  for (const { name, library, apiVersion, isCpu, problem } of vulkan.drivers)
    rows.push([
      "  driver",
      joined([`${name}  ${library}`, apiVersion && `Vulkan ${apiVersion}`, isCpu && "on the CPU", problem && `UNUSABLE: ${problem}`]),
    ]);
  if (vulkan.drivers.length === 0) rows.push(["  driver", "none"]);
  for (const { path, vendor, isUsable } of vulkan.renderNodes)
    rows.push(["  GPU", joined([path, vendor, !isUsable && "not open to this user"])]);
  if (vulkan.nvidia !== null) rows.push(["  GPU", `NVIDIA kernel module ${vulkan.nvidia}`]);
  return rows;
}

function deviceRows({ probe }: Facts): Row[] {
  return probe.devices.flatMap(({ device, name, driverVersion, featureLevel, isHardware, isSimulated, problem, shaders }): Row[] => {
    const kind = isSimulated ? "simulated" : !isHardware && device !== "cpu" && "on the CPU";
    const state = problem === null ? "computes" : `FAILS: ${problem}`;
    const facts = joined([name, kind, driverVersion && `driver ${driverVersion}`, featureLevel && `feature level ${featureLevel}`, state]);
    return [[device, facts], ...(shaders ? [["  shaders", shaders] as const] : [])];
  });
}

const backendRows = ({ probe }: Facts): Row[] =>
  (probe.backends ?? []).map(({ name, package: owner, version, file, devices, problem }): Row => {
    const state = problem === null ? `${devices} device${devices === 1 ? "" : "s"}` : `NOT LOADED: ${problem}`;
    return [`backend ${name}`, joined([`${owner} ${version}`.trim(), file, state])];
  });

const engineRows = ({ probe }: Facts): Row[] =>
  (probe.engines ?? []).map(({ name, version, file, network, problem }): Row => {
    const own = name === "gloo" ? `Gloo ${version ?? ""}`.trim() : version;
    return [name, joined([own, file, network.length > 0 && `network ${network.join(" or ")}`, problem && `NOT USABLE: ${problem}`])];
  });

/** Plain text, ending without a newline. */
export function describe(facts: Facts, verdict: Verdict): string {
  const { dxtensor, node, system, libraries, addon, software } = facts;
  const rows: Row[] = [
    ["dxtensor", `${dxtensor.version}, ${dxtensor.root}`],
    ["Node", `${node.version}, Node-API ${node.napi}${node.isSupported ? "" : ", NOT SUPPORTED"}`],
    ["System", joined([system.name, `${system.platform}-${system.arch}`, system.container && `in a container (${system.container})`])],
    ...wslRows(facts),
    ...vulkanRows(facts),
    ...[...libraries, addon, software].map((fact): Row => [fact.name, libraryText(fact)]),
    ...backendRows(facts),
    ...engineRows(facts),
    ...deviceRows(facts),
  ];
  const width = Math.max(...rows.map(([label]) => label.length)) + 2;
  const lines = rows.map(([label, value]) => `${label.padEnd(width)}${value}`);
  const sign = verdict.isHealthy ? "OK" : "NOT OK";
  lines.push("", `${sign}: ${verdict.text}`);
  for (const { severity, text, mend } of verdict.problems) lines.push(`${severity === "error" ? "  ! " : "  - "}${text}`, `      ${mend}`);
  return lines.join("\n");
}
