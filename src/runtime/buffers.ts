/** Buffers of tensors: uploads, reads, and finalizers that free buffers that were not disposed of. */
import { OutOfMemoryError, fromNative } from "../core/errors.ts";
import type { Binding, Handle } from "../native/binding.ts";
import { loadBinding } from "../native/load-addon.ts";
import { Storage, setReleaser } from "../core/storage.ts";
import { requireElements } from "./meta.ts";
import { FIRST_OUTSIDE, releaseOutside, sweepOutside } from "../backend/outside-memory.ts";
import { hasClosedDevice, type NativeDevice } from "./devices.ts";

/**
 * How many buffers and bytes may come on top of what is really alive before garbage is collected. Few buffers: a loop then
 * uses the same ones again, whose binding tables are written already.
 */
const slack = { buffers: 256, bytes: 64 * 2 ** 20 };
const allowed = { ...slack };
/** What was alive after the last full collection, as far as is known. */
const alive = { buffers: 0, bytes: 0 };

type Collect = (options?: { type: "minor" | "major" }) => void;
let collect: Collect | null = null;

/** Whether the user asked for gc(). */
const hasExposedGc = (): boolean => "gc" in globalThis;

function collector(): Collect {
  if (collect === null) {
    // Not imported: few programs come here, and every one would pay for loading them.
    const { setFlagsFromString } = process.getBuiltinModule("node:v8");
    setFlagsFromString("--expose-gc");
    collect = process.getBuiltinModule("node:vm").runInNewContext("gc") as Collect;
    // V8 takes no bytecode that was kept under other flags.
    if (!hasExposedGc()) setFlagsFromString("--no-expose-gc");
  }
  return collect;
}

setReleaser((handle) => {
  try {
    if (handle >= FIRST_OUTSIDE) releaseOutside(handle);
    else loadBinding().release(handle);
  } catch (error) {
    // A tensor of a device that was closed: its buffer is gone already.
    if (!hasClosedDevice()) throw error;
  }
});

let pressure: Float64Array | null = null;

/**
 * A loop that never yields runs no finalizer, so this function frees buffers: past the limits, a minor collection, a sweep of the buffers
 * whose storage died, then a full one if less than half came back. What survives raises the limits.
 */
export function relieve(): void {
  if (pressure !== null && pressure[0]! < allowed.buffers && pressure[1]! < allowed.bytes) return;
  if (pressure === null) pressure = loadBinding().pressure;
  else reclaim();
}

/** Collects garbage, and frees the buffers whose storage died. `all`: also gives the pages of V8's heap back, which takes longer. */
function collectAndSweep(binding: Binding, type: "minor" | "major" | "all"): void {
  // Without an argument: Node 22 and later take `undefined` as a request of less than a full collection.
  if (type === "minor") collector()({ type });
  else if (type === "major" || !binding.collectGarbage()) collector()();
  binding.sweep();
  sweepOutside(binding);
}

/** Collects garbage and frees the buffers that nothing refers to any more. `full`: V8 gives memory back too. */
export function reclaim(full = false): void {
  const binding = loadBinding();
  const p = (pressure ??= binding.pressure);
  const before = { buffers: p[0]!, bytes: p[1]! };
  if (!full) {
    collectAndSweep(binding, "minor");
  }
  const stays = (now: number, low: number, high: number): boolean => now - low > (high - low) / 2;
  if (
    full ||
    (stays(p[0]!, alive.buffers, before.buffers) && before.buffers >= allowed.buffers) ||
    (stays(p[1]!, alive.bytes, before.bytes) && before.bytes >= allowed.bytes)
  ) {
    collectAndSweep(binding, full ? "all" : "major");
    alive.buffers = p[0]!;
    alive.bytes = p[1]!;
  } else {
    alive.buffers = Math.min(alive.buffers, p[0]!);
    alive.bytes = Math.min(alive.bytes, p[1]!);
  }
  allowed.buffers = p[0]! + Math.max(slack.buffers, p[0]! / 2);
  allowed.bytes = p[1]! + Math.max(slack.bytes, p[1]! / 2);
}

/** Bytes of a heap in which megabytes are much, and which is soon looked through. */
const SMALL_HEAP = 256 * 2 ** 20;

/** The same in full, after work that leaves much garbage, where it does not take long. */
export function reclaimSmallHeap(): void {
  if (process.memoryUsage().heapTotal < SMALL_HEAP) reclaim(true);
}

/** Runs a native call; when memory is exhausted, collects garbage and tries once more. */
export function withMemory<T>(operation: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    const wrapped = fromNative(operation, error);
    if (!(wrapped instanceof OutOfMemoryError)) throw wrapped;
  }
  reclaim(true);
  try {
    return call();
  } catch (error) {
    throw fromNative(operation, error);
  }
}

/** Milliseconds after which memory that nothing needed meanwhile goes back to the system. */
const LEASE = 2000;
const settled = new WeakMap<NativeDevice, number>();

/** Frees buffers that only an earlier peak needed. Called after a read, when the device is idle. */
export function settle(native: NativeDevice, now = performance.now()): void {
  const last = settled.get(native);
  if (last !== undefined && now - last < LEASE) return;
  settled.set(native, now);
  if (last === undefined || native.isClosed) return;
  try {
    native.binding.settle(native.id);
  } catch {
    // The data that was read is right: the next call reports the device's removal.
  }
}

/** Resolves when the device has done all that is queued. */
export async function synchronized(native: NativeDevice, operation: string): Promise<void> {
  try {
    await native.binding.synchronize(native.id);
  } catch (error) {
    throw fromNative(operation, error);
  }
}

/** Frees what large uploads needed, once the device has taken them: memory of the device and of the host that nothing uses then. */
export async function settleUploads(native: NativeDevice, operation: string): Promise<void> {
  await synchronized(native, operation);
  try {
    // What nothing has needed since the call before is freed: so the first frees little.
    native.binding.settle(native.id);
    native.binding.settle(native.id);
    reclaimSmallHeap();
  } catch (error) {
    throw fromNative(operation, error);
  }
}

/** A storage of so many bytes (rounded up to 4), not initialised. Of 0 bytes: without a buffer. `ofProgram`: see Binding.allocate. */
export function allocate(native: NativeDevice, sizeInBytes: number, operation: string, ofProgram = false): Storage {
  relieve();
  const storage = new Storage(native.device, sizeInBytes);
  if (sizeInBytes > 0)
    storage.handle = withMemory(operation, () => native.binding.allocate(native.id, storage.sizeInBytes, storage, ofProgram));
  return storage;
}

/** A storage with these bytes, which are copied now. */
export function upload(native: NativeDevice, bytes: ArrayBufferView, operation: string): Storage {
  relieve();
  const storage = new Storage(native.device, bytes.byteLength);
  if (bytes.byteLength > 0) storage.handle = withMemory(operation, () => native.binding.upload(native.id, bytes, storage));
  return storage;
}

export async function readBytes(
  native: NativeDevice,
  handle: Handle,
  offset: number,
  size: number,
  operation: string,
): Promise<ArrayBuffer> {
  requireElements(operation, native);
  // Asked for at once, again if need be: what lies there may be another tensor's soon.
  const reading = withMemory(operation, () => native.binding.read(handle, offset, size));
  try {
    const bytes = await reading;
    settle(native);
    return bytes;
  } catch (error) {
    throw fromNative(operation, error);
  }
}

/** Into memory of the caller, of as many bytes as are read. */
export function readBytesInto(native: NativeDevice, handle: Handle, offset: number, into: Uint8Array, operation: string): void {
  requireElements(operation, native);
  withMemory(operation, () => native.binding.readInto(handle, offset, into));
  settle(native);
}

export function readBytesSync(native: NativeDevice, handle: Handle, offset: number, size: number, operation: string): ArrayBuffer {
  requireElements(operation, native);
  const bytes = withMemory(operation, () => native.binding.readSync(handle, offset, size));
  settle(native);
  return bytes;
}
