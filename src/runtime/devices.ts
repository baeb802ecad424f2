/** The list of adapters, and the native device of each Device, opened at first use. */
import { Capabilities, type ShaderRange } from "../dml/capabilities.ts";
import { defaultDevice, device, namedDevice, setDefaultFinder, type Device, type DeviceLike } from "../core/device.ts";
import { DeviceError, DeviceIndexError, NativeLoadError, UnsupportedError, ValueError, fromNative } from "../core/errors.ts";
import { dataWorker } from "../host/data-worker.ts";
import { checkEnvironment, isSwitchedOn } from "../host/environment.ts";
import { roundsHalf } from "./rounding.ts";
import type { NativeDevice, Provider } from "../backend/provider.ts";
import { addProvider, providerOf } from "../backend/registry.ts";
import type { AdapterDescription, DeviceOptions, LoadReport, RuntimeKind } from "../native/binding.ts";
import { metaDevice } from "./meta.ts";
import type { DeviceType } from "../telemetry/message.ts";
import { deviceOpened } from "../telemetry/telemetry.ts";
import { NVIDIA_OVER_VULKAN, rangesOf } from "../shader/measured.ts";
import { readStored, storePath, type Found } from "../shader/store.ts";
import { cpuAdapters, deviceTimeout, libraryPaths, loadBinding, nativeRemedy } from "../native/load-addon.ts";

export type { NativeDevice };

interface Entry {
  readonly runtime: RuntimeKind;
  readonly adapter: AdapterDescription;
}

let reports: { gpu: LoadReport; software: LoadReport } | null = null;
let list: Entry[] | null = null;
const opened = new Map<Device, NativeDevice>();
let memoryLimit: number | undefined;
let timeoutInMs: number | undefined;
let hasClosed = false;

function loaded(): { gpu: LoadReport; software: LoadReport } {
  if (reports === null) {
    checkEnvironment();
    const binding = loadBinding();
    const paths = libraryPaths();
    reports = { gpu: binding.load("gpu", paths), software: binding.load("software", paths) };
  }
  return reports;
}

/** What was loaded and what was tried, for each runtime. */
export const loadReports = (): { readonly gpu: LoadReport; readonly software: LoadReport } => loaded();

/** The `dml` list: hardware, best first; then adapters that run on the CPU if they were asked for; then simulated profiles. */
function dmlAdapters(): Entry[] {
  if (list === null) {
    const { gpu } = loaded();
    const binding = loadBinding();
    const real = gpu.loaded ? binding.adapters("gpu") : [];
    const memory = (a: AdapterDescription): number => (a.isIntegrated ? 0 : a.dedicatedMemoryInBytes);
    const order = (a: AdapterDescription, b: AdapterDescription): number =>
      Number(b.isHardware) - Number(a.isHardware) || memory(b) - memory(a) || a.index - b.index;
    list = [
      ...real
        .filter((a) => a.isHardware || cpuAdapters())
        .sort(order)
        .map((adapter): Entry => ({ runtime: "gpu", adapter })),
      ...(loaded().software.loaded ? binding.adapters("software") : [])
        .filter((a) => a.isSimulated)
        .map((adapter): Entry => ({ runtime: "software", adapter })),
    ];
  }
  return list;
}

/** Number of `dml` devices; 0 when there are none, never an error. */
export function deviceCount(): number {
  try {
    return dmlAdapters().length;
  } catch (error) {
    if (error instanceof NativeLoadError) return 0;
    throw error;
  }
}

/** What is known of a device. */
export interface DeviceInfo {
  /** The adapter's name. */
  readonly name: string;
  /** "Direct3D 12", "Direct3D 12 over Vulkan", "Direct3D 12 in software"; "openreg 1.0.0" of a backend from outside. */
  readonly runtime: string;
  /** False for an adapter that runs on the CPU. */
  readonly isHardware: boolean;
  /** True for a simulated profile. */
  readonly isSimulated: boolean;
  /** The driver's version, "31.0.15.3623". */
  readonly driverVersion: string;
  /** The adapter's own memory, in bytes. */
  readonly dedicatedMemoryInBytes: number;
  /** Memory that it shares with the CPU, in bytes. */
  readonly sharedMemoryInBytes: number;
  /** "6.2": what the runtime's DirectML and the adapter can do together. */
  readonly featureLevel: string;
}

/** What is known of a device, which is opened if it isn't. Throws when there is no such device. */
export function deviceInfo(name?: DeviceLike): DeviceInfo {
  const { adapter, runtime, runtimeName, capabilities } = nativeDevice(name === undefined ? defaultDevice() : device(name), "deviceInfo");
  const { isHardware, isSimulated, driverVersion, dedicatedMemoryInBytes, sharedMemoryInBytes } = adapter;
  const level = capabilities.featureLevel;
  return {
    name: adapter.name,
    runtime: runtimeName ?? loaded()[runtime].direct3d,
    isHardware,
    isSimulated,
    driverVersion,
    dedicatedMemoryInBytes,
    sharedMemoryInBytes,
    featureLevel: `${level >> 12}.${(level >> 8) & 15}`,
  };
}

/** @internal Descriptions of the `dml` list, in order. */
export const dmlDescriptions = (): readonly AdapterDescription[] => dmlAdapters().map((e) => e.adapter);

function dmlEntry(operation: string, { index }: Device): Entry {
  const adapters = dmlAdapters();
  const entry = adapters[index];
  if (entry === undefined) throw new DeviceIndexError(operation, index, adapters.length);
  return entry;
}

function cpuEntry(): Entry {
  const { software } = loaded();
  const adapter = software.loaded
    ? loadBinding()
        .adapters("software")
        .find((a) => !a.isSimulated)
    : undefined;
  if (adapter === undefined)
    throw new NativeLoadError(
      "device",
      "the software adapter's library could not be loaded",
      software.tried.map((t) => `${t.path} (${t.error ?? "loaded"})`),
      nativeRemedy(),
    );
  return { runtime: "software", adapter };
}

/** Where shaders of the library's are taken on a device, unless DXTENSOR_SHADERS says otherwise, and how that is known. */
export interface ShaderKnowledge {
  readonly ranges: readonly ShaderRange[];
  /** What was measured on this machine. */
  readonly found: Found;
}

/** @internal */
export function shaderKnowledge(native: Pick<NativeDevice, "runtime" | "adapter" | "capabilities">): ShaderKnowledge {
  const { runtime, adapter } = native;
  const report = loaded()[runtime];
  const found = readStored(native, report);
  if (found !== null && "stored" in found) return { ranges: rangesOf(found.stored.measurements), found };
  const isMeasured = runtime === "gpu" && adapter.isHardware && adapter.vendorId === NVIDIA && report.direct3d.includes("Vulkan");
  return { ranges: isMeasured ? NVIDIA_OVER_VULKAN : [], found };
}

/** Of PCI. */
const NVIDIA = 0x10de;

/** The same in words, for people. @internal */
export function shaderSource(native: Pick<NativeDevice, "runtime" | "adapter" | "capabilities">, known = shaderKnowledge(native)): string {
  if (!native.capabilities.runsShaders) return "the device runs none";
  const { found, ranges } = known;
  if (found !== null && "stored" in found) return `as measured here on ${found.stored.time.slice(0, 10)}`;
  const otherwise = ranges.length > 0 ? "as measured on an NVIDIA H200 over Vulkan" : "not measured, so none is taken";
  return found === null ? otherwise : `${otherwise}; ${storePath(native)} does not count: ${found.problem}`;
}

function openAdapter(operation: string, d: Device, { runtime, adapter }: Entry, isFallback: boolean): NativeDevice {
  const binding = loadBinding();
  try {
    const o = binding.openDevice(runtime, adapter.index, deviceOptions());
    const opening: NativeDevice = {
      device: d,
      id: o.id,
      adapter,
      runtime,
      binding,
      isFallback,
      isClosed: false,
      capabilities: new Capabilities({
        name: adapter.name,
        featureLevel: o.featureLevel,
        dataTypes: o.dataTypes,
        fusesGraphs: o.fusesGraphs,
        waveLanes: o.waveLanes,
        runsShaders: o.runsShaders,
        // Over Vulkan because of libvkd3d; what stands for a GPU is as Windows is.
        seesTexels: o.readsTexels && (runtime === "software" ? !adapter.isSimulated : loaded()[runtime].direct3d.includes("Vulkan")),
        roundsHalf: () => runtime === "gpu" && roundsHalf(opening),
        fasterShaders: () => shaderKnowledge(opening).ranges,
        // The software adapter itself: what stands for a GPU goes a GPU's way.
        addsRowsInOrder: o.fusesGraphs && !adapter.isSimulated,
        ordersAllNumbers: o.fusesGraphs && !adapter.isSimulated,
        runsMaxima: o.fusesGraphs && !adapter.isSimulated,
        poolsInfinity: o.fusesGraphs && !adapter.isSimulated,
        hasCheapAtomics: o.fusesGraphs && !adapter.isSimulated,
        compilesLongShaders: runtime === "gpu" && adapter.isHardware,
      }),
    };
    return opening;
  } catch (error) {
    throw fromNative(operation, error);
  }
}

const own: readonly Provider[] = [
  {
    name: "cpu",
    isIndexed: false,
    hasElements: true,
    count: () => 1,
    require: cpuEntry,
    open: (operation, d) => openAdapter(operation, d, cpuEntry(), true),
  },
  {
    name: "meta",
    isIndexed: false,
    hasElements: false,
    count: () => 1,
    require: () => {},
    open: (_, d) => metaDevice(d),
  },
  {
    name: "dml",
    isIndexed: true,
    hasElements: true,
    count: deviceCount,
    require: dmlEntry,
    open: (operation, d) => openAdapter(operation, d, dmlEntry(operation, d), false),
  },
];
for (const provider of own) addProvider(provider);

/** The native device, opened now if need be. */
export function nativeDevice(d: Device, operation = "device"): NativeDevice {
  let native = opened.get(d);
  if (native === undefined) {
    refuseDataWorker(operation, d);
    native = providerOf(d).open(operation, d);
    opened.set(d, native);
    for (const listener of opening) listener(native);
    // Telemetry's device types are the library's own.
    if (native.runtimeName === undefined) deviceOpened(typeOf(native));
  }
  return native;
}

/** Throws UnsupportedError in a worker of a loader: the loader's thread alone has tensors. */
function refuseDataWorker(operation: string, d: Device): void {
  if (dataWorker() === null) return;
  throw new UnsupportedError({
    operation,
    received: `${String(d)} in a worker of a loader, which opens no device`,
    hint: "Let the data set give numbers, typed arrays, or { data, shape }; the loader makes tensors of them.",
  });
}

/** The type of a device: a CPU driver that emulates a GPU is no `dml` device. */
const typeOf = ({ runtime, adapter }: Entry): DeviceType => (runtime === "gpu" && adapter.isHardware ? "dml" : "cpu");

/** @internal What telemetry would tell of a device, which is not opened. Throws for a backend from outside: telemetry tells nothing of those. */
export function deviceTypeOf(operation: string, d: Device): DeviceType {
  if (d.type === "dml") return typeOf(dmlEntry(operation, d));
  if (own.some(({ name }) => name === d.type)) return typeOf(cpuEntry());
  throw new DeviceError(operation, "device", "a cpu or dml device: no message is sent about others", d);
}

/** Throws when there is no such device. */
export function requireDevice(operation: string, name: DeviceLike, argument = "device"): Device {
  const d = namedDevice(operation, argument, name);
  providerOf(d).require(operation, d);
  return d;
}

/** @internal What devices are opened with, as it is now. */
export const deviceOptions = (): DeviceOptions => ({
  memoryLimitInBytes: memoryLimit,
  timeoutInMs: timeoutInMs ?? deviceTimeout(),
  guards: isSwitchedOn("DXTENSOR_GUARD"),
});

/** Devices that are open take the options of those opened from now on. */
function applyOptions(): void {
  for (const { binding, id } of opened.values()) binding.setDeviceOptions(id, deviceOptions());
}

/**
 * Bytes that the buffers of each device of this thread may take, open ones too; undefined: as much as the device gives. Where more than the
 * limit is taken already, nothing is lost: the next allocation is an OutOfMemoryError until enough has been disposed of.
 */
export function setMemoryLimit(bytes: number | undefined): void {
  if (bytes !== undefined && !(Number.isSafeInteger(bytes) && bytes >= 1))
    throw new ValueError("setMemoryLimit", "bytes", "an integer of bytes from 1 to 2^53 - 1, or undefined", bytes);
  memoryLimit = bytes;
  applyOptions();
}

/**
 * How long a device of this thread, open ones too, may finish nothing while it has work: then who waits for it (data, dataSync, synchronize) is
 * told by a DeviceTimeoutError. undefined: DXTENSOR_TIMEOUT_MS, else ten minutes. closeDevice() waits as well, but not longer than five
 * seconds; the end of a process or of a worker abandons the device's work.
 */
export function setDeviceTimeout(ms: number | undefined): void {
  if (ms !== undefined && !(Number.isInteger(ms) && ms >= 1 && ms <= 0x7fffffff))
    throw new ValueError("setDeviceTimeout", "ms", "an integer of milliseconds from 1 to 2147483647, or undefined", ms);
  timeoutInMs = ms;
  applyOptions();
}

/** @internal Devices that are open in this thread. */
export const openDevices = (): readonly NativeDevice[] => [...opened.values()];

/**
 * Closes a device of this thread, the default one if none is named: its tensors and programs are dead, and may still be disposed of. The next use opens it again, also
 * after it was removed or has hung.
 */
export function closeDevice(name: DeviceLike = defaultDevice()): void {
  const d = namedDevice("closeDevice", "device", name);
  const native = opened.get(d);
  if (native === undefined) {
    requireDevice("closeDevice", d);
    return;
  }
  opened.delete(d);
  hasClosed = true;
  native.isClosed = true;
  for (const listener of closing) listener(native);
  native.binding.closeDevice(native.id);
}

/** @internal Handles of a closed device may still be released by who owns them. */
export const hasClosedDevice = (): boolean => hasClosed;

const opening = new Set<(native: NativeDevice) => void>();

/** @internal Called after a device has been opened, until the result is called. */
export function onOpen(listener: (native: NativeDevice) => void): () => void {
  opening.add(listener);
  return () => opening.delete(listener);
}

const closing = new Set<(native: NativeDevice) => void>();

/** @internal Called before a device closes: caches of it are emptied. */
export function onClose(listener: (native: NativeDevice) => void): void {
  closing.add(listener);
}

setDefaultFinder(() => {
  const named = process.env.DXTENSOR_DEVICE;
  if (named !== undefined && named !== "") return requireDevice("environment", named.trim(), "DXTENSOR_DEVICE");
  return device(deviceCount() > 0 ? "dml:0" : "cpu");
});
