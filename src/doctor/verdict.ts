/** Finds the problems in the facts, and a command that fixes each. Pure: the same facts always give the same text. */
import type { Facts } from "./facts.ts";
import { AUTOLOAD_OFF, buildNative, error, fileProblem, note, type Problem } from "./problem.ts";
import { vulkanProblems, windowsProblems } from "./problems-native.ts";
import { wslProblems } from "./problems-wsl.ts";

export interface Verdict {
  /** gpu: a hardware adapter computes. cpu: only the software adapter does. broken: nothing does. */
  readonly code: "gpu" | "cpu" | "broken";
  readonly text: string;
  /** False when there is an error among the problems. */
  readonly isHealthy: boolean;
  readonly problems: readonly Problem[];
}

const typeOf = (device: string): string => device.replace(/:\d+$/, "");

function nodeProblems({ node }: Facts): Problem[] {
  if (node.isSupported) return [];
  return [
    error(
      "node.old",
      `Node ${node.version} is not supported; 20.17, 22.9 and later are.`,
      "install Node 24 (https://nodejs.org), or: nvm install 24",
    ),
  ];
}

function addonProblems(facts: Facts): Problem[] {
  const { addon, software, probe, system } = facts;
  const platform = `${system.platform}-${system.arch}`;
  const mend = buildNative(facts);
  if (addon.path === null && addon.variable === null)
    return [error("addon.missing", `There is no native binary for ${platform}: ${addon.tried.join(", ")}.`, mend)];
  const found = [...fileProblem(facts, addon, "addon", mend), ...fileProblem(facts, software, "software", mend)];
  if (found.length > 0) return found;
  if (software.path === null)
    found.push(error("software.missing", `The software adapter's library is missing: ${software.tried.join(", ")}.`, mend));
  if (!probe.isLoaded && probe.problem !== null) {
    const libatomic = probe.problem.includes("libatomic");
    const isNewLibc = /GLIBC(XX)?_[\d.]+' not found/.test(probe.problem);
    let way = mend;
    if (libatomic) way = "sudo apt-get install -y libatomic1";
    else if (isNewLibc) way = `this binary was built on a newer system; here: ${mend}`;
    found.push(error("addon.broken", `The native binary does not load: ${probe.problem}.`, way));
  }
  return found;
}

/** Problems that only appear when the devices are used, although every file looks right. */
function probeProblems(facts: Facts): Problem[] {
  const { probe, vulkan, libraries, software } = facts;
  const found: Problem[] = [];
  const where =
    vulkan === null ? "update the GPU driver" : "check the driver: vulkaninfo --summary; another one: VK_DRIVER_FILES=/path/to/driver.json";
  const outside = new Set(probe.backends?.map(({ name }) => name));
  for (const { device, name, problem } of probe.devices)
    // A library that is missing or broken is named already.
    if (problem !== null && !outside.has(typeOf(device)) && !(device === "cpu" && (software.path === null || software.problem !== null)))
      found.push(
        error(
          device === "cpu" ? "software.fails" : "adapter.fails",
          `${device} (${name}) does not compute: ${problem.replace(/\.$/, "")}.`,
          device === "cpu" ? buildNative(facts) : where,
        ),
      );
  if (probe.isLoaded && probe.problem !== null) found.push(error("probe.fails", `Using the devices failed: ${probe.problem}.`, where));
  const usable = [...libraries, software].filter((fact) => fact.problem === null);
  for (const { name, path, error: why } of probe.refused) {
    // The facts already report a missing file, and a missing loader, without which no library over Vulkan loads.
    const isThere = usable.some((fact) => fact.path === path) && probe.libraries[name] === undefined;
    const isConsequence = why.startsWith("not opened, since") || (vulkan?.loader === null && why.includes("libvulkan"));
    if (isThere && !isConsequence)
      found.push(
        error(`${name}.refused`, `${path} does not load: ${why}.`, "install the library that the reason names, or use a newer system"),
      );
  }
  return found;
}

/** What backends of installed packages lack. */
function backendProblems({ probe }: Facts): Problem[] {
  const backends = probe.backends ?? [];
  const lost = backends.flatMap(({ name, package: owner, problem }) =>
    problem === null || problem === AUTOLOAD_OFF
      ? []
      : [note("backend.notLoaded", `The backend ${name} was not loaded: ${problem.replace(/\.$/, "")}.`, `update ${owner}, or remove it`)],
  );
  const failed = probe.devices.flatMap(({ device, problem }) => {
    const owner = backends.find(({ name }) => name === typeOf(device));
    return problem === null || owner === undefined
      ? []
      : [
          error(
            "backend.fails",
            `${device} does not compute: ${problem.replace(/\.$/, "")}.`,
            `see the documentation of ${`${owner.package} ${owner.version}`.trim()}`,
          ),
        ];
  });
  return [...lost, ...failed];
}

/** Judges the facts. */
export function judge(facts: Facts): Verdict {
  const { probe, system } = facts;
  const works = probe.devices.filter(({ problem }) => problem === null);
  const gpu = works.find(({ device, isHardware }) => device.startsWith("dml") && isHardware);
  const cpu = works.find(({ device }) => device === "cpu");
  const processor = works.find(({ device, isHardware }) => device.startsWith("dml") && !isHardware);
  const found = [
    ...nodeProblems(facts),
    ...addonProblems(facts),
    ...wslProblems(facts),
    ...vulkanProblems(facts),
    ...windowsProblems(facts),
    ...probeProblems(facts),
    ...backendProblems(facts),
  ];
  // While a GPU computes, any other problem is only a note.
  const problems =
    gpu === undefined
      ? found
      : found.map((problem) =>
          /^(node|addon|software|adapter|probe|backend)\./.test(problem.code) ? problem : { ...problem, severity: "note" as const },
        );
  const isHealthy = problems.every(({ severity }) => severity !== "error");
  if (gpu !== undefined) {
    const how = `${gpu.device}, ${probe.direct3d ?? "Direct3D 12"}, DirectML feature level ${gpu.featureLevel}`;
    return { code: "gpu", text: `${gpu.name} computes (${how}).`, isHealthy, problems };
  }
  if (cpu === undefined && processor !== undefined)
    return { code: "cpu", text: `${processor.name} computes on the CPU (${processor.device}).`, isHealthy, problems };
  if (cpu === undefined) return { code: "broken", text: "Nothing computes here.", isHealthy: false, problems };
  let why = processor === undefined ? "no GPU was found" : `${processor.name} also computes on the CPU (${processor.device})`;
  if (problems.some(({ code, severity }) => severity === "error" && !/^(node|addon|software|backend)\./.test(code)))
    why = "the GPU is not usable";
  else if (!["linux", "win32"].includes(system.platform)) why = "the library uses GPUs on Linux and Windows only";
  return { code: "cpu", text: `The software adapter computes (cpu); ${why}.`, isHealthy, problems };
}
