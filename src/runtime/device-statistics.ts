/** Counters and memory of a device, and waiting for it. */
import { defaultDevice, device, type DeviceLike } from "../core/device.ts";
import { fromNative } from "../core/errors.ts";
import { holdings, type Holdings } from "../core/holders.ts";
import type { Counters, DeviceMemory, Fault } from "../native/binding.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";

const of = (name: DeviceLike | undefined, operation: string): NativeDevice =>
  nativeDevice(name === undefined ? defaultDevice() : device(name), operation);

/** What the native side has counted since the device was opened: dispatches recorded, replays, copies, barriers, … */
export function counters(name?: DeviceLike): Counters {
  const native = of(name, "counters");
  return native.binding.counters(native.id);
}

/** Bytes of a device's memory, and what they are for. */
export interface MemoryStatistics extends DeviceMemory, Holdings {}

/**
 * Where a device's memory is: live and peak bytes of tensors, of these parameters, their gradients and what optimizers keep; bytes of programs,
 * pooled and of these idle, and staging.
 */
export function memoryStatistics(name?: DeviceLike): MemoryStatistics {
  const native = of(name, "memoryStatistics");
  return { ...native.binding.memory(native.id), ...holdings(native.device) };
}

/** Resolves when everything queued on the device is done. */
export async function synchronize(name?: DeviceLike): Promise<void> {
  const native = of(name, "synchronize");
  try {
    await native.binding.synchronize(native.id);
  } catch (error) {
    throw fromNative("synchronize", error);
  }
}

/** For tests: stops the queue thread before its next task, or lets it continue. */
export function holdQueue(name: DeviceLike, held: boolean): void {
  const native = of(name, "hold");
  native.binding.hold(native.id, held);
}

/** For tests: makes the software adapter fail. */
export function injectFault(name: DeviceLike, fault: Fault, succeed?: number, fail?: number): number {
  const native = of(name, "injectFault");
  try {
    return native.binding.injectFault(native.id, fault, succeed, fail) ?? 0;
  } catch (error) {
    throw fromNative("injectFault", error);
  }
}
