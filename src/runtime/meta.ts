/** The device `meta`: tensors of it have shapes and dtypes and no elements. Operations on them run `infer` alone; nothing is opened. */
import { Capabilities } from "../dml/capabilities.ts";
import type { Device } from "../core/device.ts";
import { DeviceError } from "../core/errors.ts";
import type { Binding } from "../native/binding.ts";
import type { NativeDevice } from "../backend/provider.ts";

const nothing = (): void => {};

/** What is done with memory is done with none; whatever else a device is asked for is refused by name. */
const known: Partial<Binding> = {
  allocate: () => 0,
  upload: () => 0,
  write: nothing,
  copy: nothing,
  release: nothing,
  flush: nothing,
  synchronize: () => Promise.resolve(),
  synchronizeSync: nothing,
  doneWithin: () => false,
  hold: nothing,
  closeDevice: nothing,
  setDeviceOptions: nothing,
  memory: () => ({
    liveInBytes: 0,
    liveBuffers: 0,
    peakInBytes: 0,
    pooledInBytes: 0,
    idleInBytes: 0,
    stagingInBytes: 0,
    programInBytes: 0,
    limitInBytes: 0,
  }),
};

const binding = new Proxy(known as Binding, {
  get: (target, name: keyof Binding) =>
    target[name] ??
    (() => {
      throw new DeviceError(name, "device", "one that computes", "meta");
    }),
});

/** Why a tensor of `meta` cannot be read. */
export function requireElements(operation: string, { device }: { readonly device: Device }): void {
  if (!device.hasElements)
    throw new DeviceError(
      operation,
      "tensor",
      "one with data",
      "one on meta, which has a shape and a dtype only",
      "Make it on another device; modules have toEmpty() and loadStateDict().",
    );
}

/** What stands for a native device. */
export const metaDevice = (device: Device): NativeDevice => ({
  device,
  id: -1,
  runtime: "software",
  runtimeName: "none",
  adapter: {
    index: 0,
    name: "meta",
    vendorId: 0,
    deviceId: 0,
    luid: "",
    driverVersion: "",
    isHardware: false,
    isIntegrated: false,
    isSimulated: false,
    dedicatedMemoryInBytes: 0,
    sharedMemoryInBytes: 0,
  },
  capabilities: new Capabilities({ name: "meta", featureLevel: 0x6400, dataTypes: 0xfff, fusesGraphs: false, waveLanes: 0 }),
  binding,
  isClosed: false,
  isFallback: false,
});
