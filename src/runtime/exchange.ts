/** Copies between devices that run with their work, in both directions at once. */
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { relieve, withMemory } from "./buffers.ts";
import { nativeDevice } from "./devices.ts";

/** A packed tensor of one device whose bytes go into one of another device. */
export interface Shipment {
  readonly from: Tensor;
  readonly to: Tensor;
  /** The recording whose last replay made them, 0: what was queued before; and its part. */
  readonly maker: number;
  readonly part: number;
  /** The receiver's recording from whose last replay on nothing uses what they go into; 0: it is in use until now. */
  readonly freeBefore: number;
}

/** Bytes that are sent before any is waited for: they need as much of the host's memory. */
const ROUND = 64 * 2 ** 20;

/** Whether exchange() can be used between these devices. */
export function mayExchange(operation: string, devices: readonly Device[]): boolean {
  const [first, ...others] = devices.map((d) => nativeDevice(d, operation));
  return first!.binding.exchange !== undefined && others.every((o) => o.binding === first!.binding);
}

/** Queues the copies, which may begin while what was queued before still runs; what is queued afterwards on the devices sees them. */
export function exchange(operation: string, shipments: readonly Shipment[]): void {
  if (shipments.length === 0) return;
  relieve();
  const { binding } = nativeDevice(shipments[0]!.from.device, operation);
  let numbers: number[] = [];
  let bytes = 0;
  const send = (): void => {
    if (bytes > 0) withMemory(operation, () => binding.exchange!(Float64Array.from(numbers)));
    [numbers, bytes] = [[], 0];
  };
  for (const { from, to, maker, part, freeBefore } of shipments) {
    const { sizeInBytes } = DTYPES[from.dtype];
    const size = from.size * sizeInBytes;
    if (bytes + size > ROUND) send();
    numbers.push(from.storage.handle, from.offset * sizeInBytes, to.storage.handle, to.offset * sizeInBytes, size, maker, part, freeBefore);
    to.storage.wrote(to.offset, to.offset + to.size);
    bytes += size;
  }
  send();
}
