/** Parses the output of WSL's and Windows' commands. Pure. */
import { compareVersions } from "./executable.ts";

/** Least for a GPU in WSL (learn.microsoft.com/windows/ai/directml/gpu-faq): Windows 10 21H2, and this kernel. */
export const minWindowsBuild = 19044;
export const minKernel = "5.10.43.3";

/** "5.15.167.4-microsoft-standard-WSL2" → 2, "4.4.0-19041-Microsoft" → 1, anything else null. */
export function wslOfKernel(release: string): 1 | 2 | null {
  if (!/microsoft/i.test(release)) return null;
  return /^4\.4\.0-\d+-Microsoft/.test(release) ? 1 : 2;
}

/** The leading number of a kernel's release: "5.15.167.4". */
export const kernelNumber = (release: string): string => /^\d+(\.\d+)*/.exec(release)?.[0] ?? "0";

export const isKernelNewEnough = (release: string): boolean => compareVersions(kernelNumber(release), minKernel) >= 0;

export interface WslVersions {
  readonly wsl: string | null;
  readonly kernel: string | null;
  readonly direct3d: string | null;
  readonly dxcore: string | null;
  readonly windows: string | null;
}

/**
 * `wsl.exe --version`. The labels are translated ("Versión de Direct3D: 1.608.2-61064218"), so names of products and the order
 * decide: WSL, kernel, WSLg, MSRDC, Direct3D, DXCore, Windows. null for an inbox WSL, which has no such option.
 */
export function readWslVersions(text: string): WslVersions | null {
  const lines = text
    .split("\n")
    .map((line) => /^(.*?)[:：]\s*(\d[^\s]*)\s*$/.exec(line.trim()))
    .filter((match) => match !== null)
    .map((match) => ({ label: match[1]!, value: match[2]! }));
  const find = (pattern: RegExp, index: number): string | null =>
    lines.find(({ label }) => pattern.test(label))?.value ?? (lines.length === 7 ? lines[index]!.value : null);
  if (lines.length < 3) return null;
  return {
    wsl: find(/WSL(?!g)/, 0),
    kernel: find(/kernel/i, 1),
    direct3d: find(/Direct3D/i, 4),
    dxcore: find(/DXCore/i, 5),
    windows: find(/Windows/, 6),
  };
}

/** `cmd.exe /c ver`: "Microsoft Windows [Version 10.0.22631.4317]" → "10.0.22631.4317". */
export const readWindowsVersion = (text: string): string | null => /(\d+\.\d+\.\d{4,}(?:\.\d+)?)/.exec(text)?.[1] ?? null;

/** "10.0.22631.4317" → 22631. */
export function windowsBuild(version: string | null): number | null {
  const build = Number(version?.split(".")[2]);
  return Number.isInteger(build) && build > 0 ? build : null;
}

export interface WindowsGpu {
  readonly name: string;
  readonly driver: string;
}

/** `Get-CimInstance Win32_VideoController | Select Name,DriverVersion | ConvertTo-Json`: one GPU is an object, several an array. */
export function readGpus(text: string): WindowsGpu[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    const list: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    return list.map((entry) => {
      const { Name, DriverVersion } = entry as { Name?: unknown; DriverVersion?: unknown };
      return { name: String(Name ?? "unnamed"), driver: String(DriverVersion ?? "unknown") };
    });
  } catch {
    return null;
  }
}

/** Windows' own makeshift drivers and those of remote desktops: no GPU behind them. */
export const isMakeshift = ({ name }: WindowsGpu): boolean =>
  /basic (display|render)|remote display|hyper-v video|idd|virtual display/i.test(name);

/**
 * Why a driver is too old for WSL, null when it is not or when nothing is known of its kind. First drivers: NVIDIA 460.20 (its number
 * is the last five digits of Windows': 27.21.14.6020), Intel 28.20.100.8322; the first part of Windows' number is the driver model.
 */
export function driverProblem({ name, driver }: WindowsGpu): string | null {
  const parts = driver.split(".").map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part))) return null;
  if (/nvidia|geforce|quadro/i.test(name)) {
    const digits = `${parts[2]! % 10}${String(parts[3]).padStart(4, "0")}`;
    const number = Number(digits) / 100;
    return number < 460.2 ? `NVIDIA's driver ${number.toFixed(2)} is older than 460.20` : null;
  }
  if (/intel/i.test(name))
    return compareVersions(driver, "28.20.100.8322") < 0 ? `Intel's driver ${driver} is older than 28.20.100.8322` : null;
  return parts[0]! < 27 ? `the driver ${driver} is of a model older than WDDM 2.7` : null;
}

/** A key of an ini file's section, in lower case: wsl.conf's [gpu] enabled, .wslconfig's [wsl2] gpuSupport. */
export function iniValue(text: string, section: string, key: string): string | null {
  let current = "";
  for (const raw of text.split("\n")) {
    const line = raw.replace(/[#;].*$/, "").trim();
    const header = /^\[(.+)\]$/.exec(line);
    if (header !== null) current = header[1]!.trim().toLowerCase();
    const pair = /^([^=]+)=(.*)$/.exec(line);
    if (pair !== null && current === section && pair[1]!.trim().toLowerCase() === key)
      return pair[2]!.trim().replaceAll('"', "").toLowerCase();
  }
  return null;
}
