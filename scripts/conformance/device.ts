// node device.mjs DEVICE: one line of JSON about a device, for the report. Run in the application's folder, so that its backends are found.
import { release, type } from "node:os";
import * as dx from "../../src/index.ts";
import { findLibraries } from "../../src/doctor/facts.ts";
import { thisHost } from "../../src/doctor/machine.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import type { Conformance } from "./schema.ts";

export type DeviceFacts = Pick<Conformance, "device" | "system"> & Pick<Conformance["versions"], "directml">;

const [, , name = ""] = process.argv;
try {
  const device = dx.device(name);
  const native = nativeDevice(device);
  // It has to compute before thousands of tests say that it does not.
  const sum = dx.tensor([1, 2, 3, 4], { device }).add(1).dataSync();
  if (sum.join() !== "2,3,4,5") throw new Error(`${name} computed [1, 2, 3, 4] + 1 as [${sum.join(", ")}]`);
  const { adapter, capabilities, runtimeName } = native;
  const isOutside = runtimeName !== undefined;
  const level = capabilities.featureLevel;
  const directml = device.type === "dml" ? findLibraries(thisHost()).libraries.find((library) => library.name === "directml") : undefined;
  const facts: DeviceFacts = {
    device: {
      name: String(device),
      description: adapter.name,
      backend: device.type,
      version: adapter.driverVersion === "" ? null : adapter.driverVersion,
      isHardware: adapter.isHardware,
      memoryInBytes: adapter.dedicatedMemoryInBytes || adapter.sharedMemoryInBytes || null,
      featureLevel: isOutside ? null : `${level >> 12}.${(level >> 8) & 15}`,
    },
    directml: directml?.version ?? null,
    system: { platform: process.platform, arch: process.arch, name: `${type()} ${release()}` },
  };
  console.log(JSON.stringify(facts));
} catch (error) {
  process.stderr.write(`${error instanceof dx.DxError ? `${error.name}: ${error.message}` : String(error)}\n`);
  process.exitCode = 2;
}
