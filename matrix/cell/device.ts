/** How a cell's device is written in arguments, and which variables choose it. Pure. */
import type { DeviceChoice } from "../types.ts";

export type CellDevice =
  | { readonly kind: "software" }
  | { readonly kind: "simulated"; readonly profile: string; readonly level: string }
  | { readonly kind: "hardware"; readonly index: number };

/** level: of the platform's DirectML, which a simulated device promises. */
export function formatDevice(device: Exclude<DeviceChoice, { kind: "emulated" }> | CellDevice, level: string): string {
  if (device.kind === "simulated") return `simulated:${device.profile}@${level}`;
  return device.kind === "hardware" ? `hardware:${device.index}` : "software";
}

export function parseDevice(text: string): CellDevice {
  const simulated = /^simulated:([a-z0-9-]+)@(\d+\.\d+)$/.exec(text);
  if (simulated !== null) return { kind: "simulated", profile: simulated[1]!, level: simulated[2]! };
  const hardware = /^hardware:(\d+)$/.exec(text);
  if (hardware !== null) return { kind: "hardware", index: Number(hardware[1]) };
  if (text === "software") return { kind: "software" };
  throw new Error(`--device must be software, simulated:PROFILE@LEVEL or hardware:INDEX; received ${text}`);
}

/** One device is tested; simulated ones join the list only where one is meant, so that none is ever taken for a GPU. */
export function deviceEnvironment(device: CellDevice): Record<string, string> {
  switch (device.kind) {
    case "software":
      return { DXTENSOR_TEST_DEVICES: "cpu", DXTENSOR_SIMULATE: "", DXTENSOR_DEVICE: "cpu" };
    case "simulated":
      // Real adapters come first in the list: their libraries are left aside.
      return {
        DXTENSOR_TEST_DEVICES: "dml:0",
        DXTENSOR_SIMULATE: `${device.profile}@${device.level}`,
        DXTENSOR_DEVICE: "",
        DXTENSOR_DXCORE: "/none",
        DXTENSOR_D3D12: "/none",
        DXTENSOR_DIRECTML: "/none",
      };
    case "hardware":
      return { DXTENSOR_TEST_DEVICES: `dml:${device.index}`, DXTENSOR_SIMULATE: "", DXTENSOR_DEVICE: `dml:${device.index}` };
    default:
      return device satisfies never;
  }
}
