/** Whether this machine can run a platform's cells at all. Pure. */
import type { Platform } from "../config/schema.ts";
import type { Host } from "./host.ts";

const systems: Readonly<Record<string, string>> = { linux: "Linux", win32: "Windows", darwin: "macOS" };
const nameOf = (system: string): string => systems[system] ?? system;

const nodeProblem = (node: string, host: Host): string | null =>
  host.nodes.includes(node)
    ? null
    : `Node ${node} is not on this machine, and no package of the registry brings it for ${host.system}-${host.arch}`;

function wslProblem(distribution: string, host: Host): string | null {
  if (host.distribution === distribution || host.distributions.includes(distribution)) return null;
  if (host.system === "win32") return `WSL has no distribution ${distribution} (wsl --install -d ${distribution})`;
  if (host.distribution !== null) return `this is the distribution ${host.distribution}, and ${distribution} is not installed`;
  return `this machine is ${nameOf(host.system)} without WSL`;
}

function windowsProblem(build: { readonly from: number; readonly below?: number | undefined }, host: Host): string | null {
  if (host.windowsBuild === null)
    return host.distribution === null
      ? `this machine is ${nameOf(host.system)}`
      : "Windows is not reached from this distribution (interop)";
  if (host.windowsBuild < build.from || host.windowsBuild >= (build.below ?? Infinity))
    return `this is Windows of build ${host.windowsBuild}`;
  return null;
}

/** "2.4" is older than "2.31"; nothing at all is older than anything. */
function isOlder(version: string | null, wanted: string): boolean {
  if (version === null) return true;
  const [major, minor] = version.split(".").map(Number) as [number, number];
  const [min, minMinor] = wanted.split(".").map(Number) as [number, number];
  return major < min || (major === min && minor < minMinor);
}

/** Why cells of the platform with this Node can't run here, null when they can. */
export function platformProblem(platform: Platform, node: string, host: Host): string | null {
  switch (platform.runner) {
    case "none":
      return platform.reason;
    case "docker":
      return host.engines.length > 0 ? null : `no Docker engine: ${host.engineProblem ?? "none was looked for"}`;
    case "host":
      return nodeProblem(node, host);
    case "wsl":
      return wslProblem(platform.distribution, host);
    case "windows":
      return windowsProblem(platform.build, host);
    case "command":
      if (host.system !== platform.system) return `this machine is ${nameOf(host.system)}, not ${nameOf(platform.system)}`;
      if (platform.glibc !== undefined && isOlder(host.glibc, platform.glibc))
        return `this machine's glibc is ${host.glibc ?? "not there"}, and the cell needs ${platform.glibc}`;
      if (!host.scripts.includes(platform.command.script)) return `there is no npm run ${platform.command.script} yet`;
      if (platform.nodes?.includes(node) === false) return `the cell brings Node ${platform.nodes.join(", ")}, and not ${node}`;
      if (platform.nodes !== undefined) return null;
      return nodeProblem(node, host);
    default:
      return platform satisfies never;
  }
}
