/**
 * Loads the addon and computes something on each device. A driver may end the process, so this runs in a
 * child (`dxtensor doctor --probe`), which writes one line of JSON after each step: the last line is where it ended.
 */
import { declaredBackends, isAutoloading, type DeclaredBackend } from "../backend/autoload.ts";
import { providerOf } from "../backend/registry.ts";
import { probeEngines, type ProbedEngine } from "./engines.ts";
import { AUTOLOAD_OFF } from "./problem.ts";
import { device } from "../core/device.ts";
import type { AdapterDescription } from "../native/binding.ts";
import { add, tensor } from "../ops/index.ts";
import "../runtime/outside-device.ts";
import { dmlDescriptions, loadReports, nativeDevice, shaderSource } from "../runtime/devices.ts";
import type { Finished, Host } from "./machine.ts";

export interface ProbedDevice {
  /** "dml:0", "cpu" */
  readonly device: string;
  readonly name: string;
  readonly driverVersion: string | null;
  readonly isHardware: boolean;
  readonly isSimulated: boolean;
  /** "6.2"; null when it could not be opened. */
  readonly featureLevel: string | null;
  /** Where the library's shaders are taken on it, or why not. */
  readonly shaders?: string | null;
  /** Why it can't compute; null when it did. */
  readonly problem: string | null;
}

/** A backend that a package of the application's declares. */
export interface ProbedBackend {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly file: string;
  /** Its devices; 0 where it was not loaded. */
  readonly devices: number;
  /** Why it was not loaded; null when it was. */
  readonly problem: string | null;
}

export interface Probe {
  /** The addon was loaded. */
  readonly isLoaded: boolean;
  readonly devices: readonly ProbedDevice[];
  /** Backends that are declared, loaded or not. */
  readonly backends?: readonly ProbedBackend[];
  /** Engines of dx.distributed; empty without their package. */
  readonly engines?: readonly ProbedEngine[];
  /** What the GPU's runtime says of itself: "Direct3D 12 over Vulkan"; null when it was not loaded. */
  readonly direct3d: string | null;
  /** Libraries that were loaded, by name. */
  readonly libraries: Readonly<Record<string, string>>;
  /** Why the probe itself failed: the addon does not load, a driver ended the process, it hung. */
  readonly problem: string | null;
  /** Libraries that were there but did not load, with the loader's words. */
  readonly refused: readonly { readonly name: string; readonly path: string; readonly error: string }[];
}

type Line =
  | {
      readonly step: "loaded";
      readonly direct3d: string | null;
      readonly libraries: Probe["libraries"];
      readonly refused: Probe["refused"];
    }
  | { readonly step: "trying"; readonly device: string; readonly name: string }
  | ({ readonly step: "device" } & ProbedDevice)
  | ({ readonly step: "backend" } & ProbedBackend)
  | { readonly step: "engines"; readonly engines: readonly ProbedEngine[] }
  | { readonly step: "failed"; readonly problem: string }
  | { readonly step: "done" };

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** owner: what the device is called where it does not open. */
function tryDevice(name: string, adapter: AdapterDescription | null, owner: string, write: (line: Line) => void): void {
  write({ step: "trying", device: name, name: adapter?.name ?? "" });
  let featureLevel: string | null = null;
  let problem: string | null = null;
  let shaders: string | null = null;
  let found = adapter;
  try {
    const native = nativeDevice(device(name), "doctor");
    found = native.adapter;
    if (native.runtimeName === undefined) {
      shaders = shaderSource(native);
      const level = native.capabilities.featureLevel;
      featureLevel = `${level >> 12}.${(level >> 8) & 15}`;
    }
    const sum = add(tensor([1, 2, 3, 4], { device: name }), 1).dataSync();
    if (sum.join() !== "2,3,4,5") problem = `it computed [1, 2, 3, 4] + 1 as [${sum.join(", ")}]`;
  } catch (error) {
    problem = messageOf(error);
  }
  write({
    step: "device",
    device: name,
    name: found?.name ?? owner,
    driverVersion: found?.driverVersion || null,
    isHardware: found?.isHardware ?? false,
    isSimulated: found?.isSimulated ?? false,
    featureLevel,
    shaders,
    problem,
  });
}

function tryBackend(entry: DeclaredBackend, write: (line: Line) => void): void {
  write({ step: "trying", device: entry.name, name: entry.package });
  let problem: string | null = isAutoloading() ? null : AUTOLOAD_OFF;
  let count = 0;
  try {
    if (problem === null) count = providerOf(device(entry.name)).count();
  } catch (error) {
    problem = messageOf(error);
  }
  write({ step: "backend", ...entry, devices: count, problem });
  for (let i = 0; i < count; i++) tryDevice(`${entry.name}:${i}`, null, entry.package, write);
}

/** The child's part. `cpu` comes first: what a GPU's driver does to the process can't hide it. */
export function probe(write: (line: Line) => void): void {
  try {
    const { gpu, software } = loadReports();
    const loaded = [...gpu.libraries, ...software.libraries];
    write({
      step: "loaded",
      direct3d: gpu.loaded ? gpu.direct3d : null,
      libraries: Object.fromEntries(loaded.map(({ name, path }) => [name, path])),
      refused: [...gpu.tried, ...software.tried]
        .filter(({ error }) => error !== null)
        .map(({ name, path, error }) => ({ name, path, error: error! })),
    });
    tryDevice("cpu", null, "software adapter", write);
    for (const [index, adapter] of dmlDescriptions().entries()) tryDevice(`dml:${index}`, adapter, adapter.name, write);
    for (const entry of declaredBackends()) tryBackend(entry, write);
    write({ step: "engines", engines: probeEngines(process.env) });
    write({ step: "done" });
  } catch (error) {
    write({ step: "failed", problem: messageOf(error) });
  }
}

function parseLines(text: string): Line[] {
  const lines: Line[] = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("{")) continue;
    try {
      lines.push(JSON.parse(line) as Line);
    } catch {
      // A line that the end of the process cut off.
    }
  }
  return lines;
}

/** The parent's part: what the child wrote, and how it ended. */
export function readProbe(done: Finished | null, timeoutMs: number): Probe {
  if (done === null)
    return { isLoaded: false, devices: [], direct3d: null, libraries: {}, refused: [], problem: "Node could not be started again" };
  const lines = parseLines(done.stdout);
  const last = lines.at(-1);
  const loaded = lines.find((line) => line.step === "loaded");
  const devices = lines.filter((line) => line.step === "device").map(({ step: _, ...device }) => device);
  const backends = lines.filter((line) => line.step === "backend").map(({ step: _, ...backend }) => backend);
  const how = done.signal === "SIGKILL" ? `it did not end within ${timeoutMs / 1000} s` : (done.signal ?? `status ${done.status}`);
  const end = done.status === 0 ? null : how;
  let problem: string | null = null;
  if (last?.step === "failed") problem = last.problem;
  else if (last?.step === "trying") {
    const { device, name } = last;
    const broken = `the process ended while ${device} was used (${end ?? "without a word"})`;
    devices.push({ device, name, driverVersion: null, isHardware: false, isSimulated: false, featureLevel: null, problem: broken });
  } else if (last?.step !== "done")
    problem = `the process ended while libraries were loaded (${end ?? "without a word"}): ${done.stderr.trim().split("\n").at(-1) ?? ""}`;
  // The child may also fall at its exit, in a driver's clean-up, after everything went well.
  else if (end !== null) problem = `the process fell at its end (${end})`;
  return {
    isLoaded: loaded !== undefined,
    devices,
    backends,
    engines: lines.find((line) => line.step === "engines")?.engines ?? [],
    direct3d: loaded?.direct3d ?? null,
    libraries: loaded?.libraries ?? {},
    refused: loaded?.refused ?? [],
    problem,
  };
}

/** Runs the child: this command again, with --probe. */
export async function runProbe(host: Host, script: string, timeoutMs = 60_000): Promise<Probe> {
  return readProbe(await host.run(process.execPath, [script, "doctor", "--probe"], { timeoutMs }), timeoutMs);
}
