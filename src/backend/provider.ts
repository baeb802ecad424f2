/** What a device's name refers to: a device of `dml` or `cpu`, or one of an outside backend. */
import type { Device, DeviceKind } from "../core/device.ts";
import type { Capabilities } from "../dml/capabilities.ts";
import type { AdapterDescription, Binding, RuntimeKind } from "../native/binding.ts";

/** An opened device of this thread. */
export interface NativeDevice {
  readonly device: Device;
  readonly id: number;
  readonly adapter: AdapterDescription;
  /** Whose libraries it uses; of a device that uses none: "software". */
  readonly runtime: RuntimeKind;
  /** What runs it, for people; undefined: what the runtime says of itself. */
  readonly runtimeName?: string;
  readonly capabilities: Capabilities;
  /** Another one while a profile is on. */
  binding: Binding;
  /** Operations that another device lacks run here; it has none to turn to itself. */
  readonly isFallback: boolean;
  /** Its handles are dead. */
  isClosed: boolean;
}

/** The devices of one name. */
export interface Provider extends DeviceKind {
  readonly name: string;
  /** How many there are; 0 where they cannot be counted. */
  count(): number;
  /** Throws where there is no such device, for the operation that named it. */
  require(operation: string, device: Device): void;
  /** Opens it. */
  open(operation: string, device: Device): NativeDevice;
}
