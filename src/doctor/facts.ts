/** Facts about the machine, gathered without loading any library. A fact that could not be found is null, never an error. */
import { createHash } from "node:crypto";
import { posix, win32 } from "node:path";
import { addonPaths, libraryPaths, takesCpuAdapters } from "../native/paths.ts";
import { pinned } from "../fetch/directml-library.ts";
import { readBinary } from "./executable.ts";
import type { Host } from "./machine.ts";
import type { Probe } from "./probe.ts";
import { findVulkan, type Vulkan } from "./vulkan.ts";
import {
  iniValue,
  isKernelNewEnough,
  readGpus,
  readWindowsVersion,
  readWslVersions,
  windowsBuild,
  wslOfKernel,
  type WindowsGpu,
  type WslVersions,
} from "./wsl.ts";

export interface LibraryFact {
  readonly name: string;
  /** The file that will be loaded, null when there is none. */
  readonly path: string | null;
  readonly version: string | null;
  /** Of the file that is there but no good. */
  readonly problem: string | null;
  /** Paths that were looked at, in order. */
  readonly tried: readonly string[];
  /** Named by a variable: then nothing else is tried. */
  readonly variable: string | null;
  /** Translates Direct3D 12 to Vulkan (libd3d12 only). */
  readonly isOverVulkan: boolean;
}

export interface WslFact {
  readonly version: 1 | 2;
  readonly isKernelNewEnough: boolean;
  readonly distribution: string | null;
  readonly versions: WslVersions | null;
  readonly windowsVersion: string | null;
  readonly windowsBuild: number | null;
  /** "wsl.conf" or ".wslconfig" when one of them turns the GPU off. */
  readonly gpuTurnedOffBy: string | null;
}

export interface Facts {
  readonly dxtensor: { readonly version: string; readonly root: string; readonly isRepository: boolean };
  readonly node: { readonly version: string; readonly napi: string; readonly isSupported: boolean };
  readonly system: {
    readonly platform: string;
    readonly arch: string;
    /** "Ubuntu 22.04.4 LTS", "Windows 10.0.22631" */
    readonly name: string;
    readonly kernel: string | null;
    /** "docker", "podman", null outside of a container. */
    readonly container: string | null;
  };
  readonly wsl: WslFact | null;
  /** Windows' GPUs, from Windows or from within WSL; null where nobody could be asked. */
  readonly gpus: readonly WindowsGpu[] | null;
  /** /dev/dxg: "there"; "standIn" for the null device that a dev container puts there; "denied"; null when missing. */
  readonly dxg: "there" | "standIn" | "denied" | null;
  readonly libraries: readonly LibraryFact[];
  readonly addon: LibraryFact;
  readonly software: LibraryFact;
  readonly vulkan: Vulkan | null;
  /** DXTENSOR_CPU_ADAPTERS=1: adapters of Vulkan drivers that run on the CPU count, too. */
  readonly cpuAdapters: boolean;
  readonly probe: Probe;
}

/** Node that the package supports: ^20.17 or 22.9 and later. */
export function isNodeSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return (major === 20 && minor >= 17) || (major === 22 && minor >= 9) || major > 22;
}

/** The libdirectml.so that is fetched: the file itself does not say its version. */
const knownDirectml = { sha256: pinned.sha256, version: "feature level 6.2 (torch-directml 0.2.5)" };

function inspect(host: Host, name: string, candidates: readonly string[], symbol: string, variable: string | null): LibraryFact {
  const none = { name, tried: candidates, variable };
  let firstProblem: LibraryFact | null = null;
  for (const path of candidates) {
    const bytes = host.kind(path) === "file" ? host.bytes(path) : null;
    if (bytes === null) {
      if (host.exists(path)) firstProblem ??= { ...none, path, version: null, problem: "it can't be read", isOverVulkan: false };
      continue;
    }
    const { version, problem } = readBinary(bytes, host.platform, host.arch, symbol);
    const isKnown = name === "directml" && createHash("sha256").update(bytes).digest("hex") === knownDirectml.sha256;
    const fact = {
      ...none,
      path,
      version: isKnown ? knownDirectml.version : (version ?? `${bytes.length} bytes`),
      problem,
      isOverVulkan: bytes.includes("vkGetInstanceProcAddr"),
    };
    if (problem === null) return fact;
    firstProblem ??= fact;
  }
  return firstProblem ?? { ...none, path: null, version: null, problem: null, isOverVulkan: false };
}

/** The files that would be loaded; nothing is. */
export function findLibraries(host: Host): Pick<Facts, "libraries" | "addon" | "software"> {
  const isWindows = host.platform === "win32";
  const { join } = isWindows ? win32 : posix;
  const paths = libraryPaths(host);
  const find = (name: string, file: string, explicitPath: string | undefined, variable: string, symbol: string): LibraryFact =>
    explicitPath === undefined
      ? inspect(
          host,
          name,
          paths.folders.map((folder) => join(folder, file)),
          symbol,
          null,
        )
      : inspect(host, name, [explicitPath], symbol, variable);
  const files = isWindows ? ["dxcore.dll", "d3d12.dll", "DirectML.dll"] : ["libdxcore.so", "libd3d12.so", "libdirectml.so"];
  return {
    libraries: [
      find("dxcore", files[0]!, paths.dxcore, "DXTENSOR_DXCORE", "DXCoreCreateAdapterFactory"),
      find("d3d12", files[1]!, paths.d3d12, "DXTENSOR_D3D12", "D3D12CreateDevice"),
      find("directml", files[2]!, paths.directml, "DXTENSOR_DIRECTML", "DMLCreateDevice"),
    ],
    addon: inspect(host, "addon", addonPaths(host), "napi_register_module_v1", host.env.DXTENSOR_NATIVE ? "DXTENSOR_NATIVE" : null),
    software: inspect(
      host,
      "software",
      [paths.software!],
      "DXCoreCreateAdapterFactory",
      host.env.DXTENSOR_SOFTWARE ? "DXTENSOR_SOFTWARE" : null,
    ),
  };
}

function findContainer(host: Host): string | null {
  if (host.platform !== "linux") return null;
  if (host.exists("/run/.containerenv")) return "podman";
  if (host.exists("/.dockerenv")) return "docker";
  const kind = /\b(docker|libpod|kubepods|containerd|lxc)\b/.exec(host.text("/proc/1/cgroup") ?? "")?.[1];
  return kind === "libpod" ? "podman" : (kind ?? null);
}

function systemName(host: Host): string {
  if (host.platform === "win32") return `Windows ${host.release}`;
  const release = host.text("/etc/os-release") ?? "";
  return /^PRETTY_NAME="?([^"\n]+)"?/m.exec(release)?.[1] ?? host.platform;
}

const mountRoot = (host: Host): string => iniValue(host.text("/etc/wsl.conf") ?? "", "automount", "root") ?? "/mnt/";

/** A command of Windows from within WSL: where drives are mounted, else by name; Windows' folder as current one. */
async function askWindows(host: Host, file: string, args: readonly string[], timeoutMs: number): Promise<string | null> {
  const system = posix.join(mountRoot(host), "c/Windows/System32");
  const folder = file === "powershell.exe" ? posix.join(system, "WindowsPowerShell/v1.0") : system;
  // WSL_UTF8 reaches wsl.exe only when WSLENV names it.
  const env = { WSL_UTF8: "1", WSLENV: [host.env.WSLENV, "WSL_UTF8"].filter(Boolean).join(":") };
  for (const command of [posix.join(folder, file), file]) {
    if (command.startsWith("/") && !host.exists(command)) continue;
    const done = await host.run(command, args, { timeoutMs, env, ...(host.exists(system) ? { cwd: system } : {}) });
    if (done?.status === 0) return done.stdout;
  }
  return null;
}

const gpuQuery = [
  "-NoProfile",
  "-NonInteractive",
  "-Command",
  "Get-CimInstance Win32_VideoController | Select-Object Name,DriverVersion | ConvertTo-Json",
];

async function findWsl(host: Host, kernel: string): Promise<{ wsl: WslFact; gpus: WindowsGpu[] | null } | null> {
  const byKernel = wslOfKernel(kernel);
  const isNamed = Boolean(host.env.WSL_DISTRO_NAME) || host.exists("/proc/sys/fs/binfmt_misc/WSLInterop") || host.exists("/run/WSL");
  const version = byKernel ?? (isNamed ? 2 : null);
  if (version === null) return null;
  const [versions, ver, profile, gpus] = await Promise.all([
    askWindows(host, "wsl.exe", ["--version"], 10_000),
    askWindows(host, "cmd.exe", ["/c", "ver"], 10_000),
    askWindows(host, "cmd.exe", ["/c", "echo %USERPROFILE%"], 10_000),
    askWindows(host, "powershell.exe", gpuQuery, 20_000),
  ]);
  const known = versions === null ? null : readWslVersions(versions);
  const windowsVersion = (ver === null ? null : readWindowsVersion(ver)) ?? known?.windows ?? null;
  const drive = /^([A-Za-z]):\\(.*)$/.exec(profile?.trim() ?? "");
  const settings =
    drive === null ? null : posix.join(mountRoot(host), drive[1]!.toLowerCase(), drive[2]!.replaceAll("\\", "/"), ".wslconfig");
  const isOff = (text: string | null, section: string, key: string): boolean => text !== null && iniValue(text, section, key) === "false";
  let gpuTurnedOffBy: string | null = null;
  if (isOff(host.text("/etc/wsl.conf"), "gpu", "enabled")) gpuTurnedOffBy = "/etc/wsl.conf";
  else if (settings !== null && isOff(host.text(settings), "wsl2", "gpusupport")) gpuTurnedOffBy = settings;
  return {
    wsl: {
      version,
      isKernelNewEnough: version === 2 && (byKernel === null || isKernelNewEnough(kernel)),
      distribution: host.env.WSL_DISTRO_NAME ?? null,
      versions: known,
      windowsVersion,
      windowsBuild: windowsBuild(windowsVersion),
      gpuTurnedOffBy,
    },
    gpus: gpus === null ? null : readGpus(gpus),
  };
}

function findDxg(host: Host): Facts["dxg"] {
  const number = host.deviceNumber("/dev/dxg");
  if (number === null) return null;
  if (number === "1:3") return "standIn";
  return host.canUse("/dev/dxg") ? "there" : "denied";
}

/** All facts; the probe of the addon is handed in, since it runs in a process of its own. */
export async function gather(host: Host, version: string, probe: Probe): Promise<Facts> {
  const isLinux = host.platform === "linux";
  const kernel = isLinux ? (host.text("/proc/sys/kernel/osrelease")?.trim() ?? null) : null;
  const found = kernel === null ? null : await findWsl(host, kernel);
  let gpus = found?.gpus ?? null;
  if (host.platform === "win32") {
    const done = await host.run("powershell.exe", gpuQuery, { timeoutMs: 20_000 });
    gpus = done?.status === 0 ? readGpus(done.stdout) : null;
  }
  return {
    dxtensor: {
      version,
      root: host.root,
      isRepository: host.exists((host.platform === "win32" ? win32 : posix).join(host.root, "CMakeLists.txt")),
    },
    node: { version: host.node.replace(/^v/, ""), napi: host.napi, isSupported: isNodeSupported(host.node) },
    system: { platform: host.platform, arch: host.arch, name: systemName(host), kernel, container: findContainer(host) },
    wsl: found?.wsl ?? null,
    gpus,
    dxg: isLinux ? findDxg(host) : null,
    ...findLibraries(host),
    vulkan: isLinux && found === null ? findVulkan(host) : null,
    cpuAdapters: takesCpuAdapters(host),
    probe,
  };
}
