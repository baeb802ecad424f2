/** The backend openreg: two simulated devices. */
import type { backend as dx } from "dxtensor";
import { OpenregDevice, type Faults } from "./device.ts";

const MEMORY = 2 ** 30;
const open = new Map<number, OpenregDevice>();

/** What dxtensor registers when a device of this name is used. */
export const backend: dx.Backend = {
  name: "openreg",
  interfaceVersion: 1,
  version: "0.1.0",
  // Its simulated units compute these in half precision too.
  autocast: { operations: { softplus: "lower", cross: "none" } },
  devices: () => [0, 1].map((index) => ({ name: `openreg simulator ${index}`, memoryInBytes: MEMORY, isHardware: false })),
  open(index, options) {
    const device = new OpenregDevice(MEMORY, options);
    open.set(index, device);
    return device;
  },
};

/** Faults of the device that was opened last with this index. */
export function faults(index: number): Faults {
  const device = open.get(index);
  if (device === undefined) throw new RangeError(`openreg:${index} has not been opened yet: use it first.`);
  return device;
}

export type { Faults };
