/** Copies of tensors between devices. */
import { DTYPES } from "../core/dtype.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { Handle } from "../native/binding.ts";
import { allocate, readBytesSync, relieve, settle, upload, withMemory } from "./buffers.ts";
import { requireElements } from "./meta.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";

/** Bytes from the first to the last element of a tensor, beginning at a multiple of 16 bytes, where a binding may start. */
function spanOf({ size, dtype, shape, offset, desc: { strides } }: Tensor): { readonly start: number; readonly length: number } {
  if (size === 0) return { start: 0, length: 0 };
  const { sizeInBytes } = DTYPES[dtype];
  const end = shape.reduce((n, d, i) => n + (d - 1) * strides[i]!, offset + 1) * sizeInBytes;
  const start = offset * sizeInBytes;
  return { start: start - (start % 16), length: end - start + (start % 16) };
}

/** The bytes on another device, copied without the host; null where that is impossible. */
function receive(from: NativeDevice, handle: Handle, start: number, length: number, to: NativeDevice): Storage | null {
  if (to.binding.receive === undefined) return null;
  relieve();
  const storage = new Storage(to.device, length);
  const made = withMemory("to", () => to.binding.receive!(from.binding, handle, start, length, storage));
  if (made === null) return null;
  storage.handle = made;
  return storage;
}

/** What is on its way at once: while one device writes a chunk, the other reads the next. */
const CHUNK = 8 * 2 ** 20;

/** The bytes on another device of the addon's, copied through the host's memory in chunks that overlap. */
function relay(from: NativeDevice, handle: Handle, start: number, length: number, to: NativeDevice): Storage {
  relieve();
  const storage = new Storage(to.device, length);
  // The fallback device has the results that a program waits for, and is to outlive all others.
  const isLater = !from.isFallback && !to.isFallback;
  storage.handle = withMemory("to", () => to.binding.carry!(handle, start, length, to.id, storage, isLater));
  if (!isLater) settle(from);
  return storage;
}

/** The bytes on another device, copied through the host's memory. */
function carry(from: NativeDevice, handle: Handle, start: number, length: number, to: NativeDevice): Storage {
  if (from.binding === to.binding && to.binding.carry !== undefined) return relay(from, handle, start, length, to);
  const read = (at: number, size: number): Uint8Array => new Uint8Array(readBytesSync(from, handle, start + at, size, "to"));
  if (length <= CHUNK) return upload(to, read(0, length), "to");
  const storage = allocate(to, length, "to");
  storage.retain();
  try {
    for (let at = 0; at < length; at += CHUNK) {
      const bytes = read(at, Math.min(CHUNK, length - at));
      withMemory("to", () => {
        to.binding.write(storage.handle, at, bytes);
      });
      to.binding.flush(to.id);
    }
  } catch (error) {
    storage.release();
    throw error;
  }
  // Its tensor counts it from here on.
  storage.refs--;
  return storage;
}

/**
 * The tensor on another device, with its own strides over the bytes it spans, and no others of its storage. Reads the bytes back, which
 * waits for the work queued before.
 */
export function transfer(t: Tensor, to: NativeDevice): Tensor {
  const desc = internDesc(to.device, t.dtype, t.shape, t.desc.strides);
  if (!to.device.hasElements) return new Tensor(new Storage(to.device, t.storage.contentInBytes), desc, t.offset);
  requireElements("to", t);
  const from = nativeDevice(t.device, "to");
  const { start, length } = t.storage.handle === 0 ? { start: 0, length: 0 } : spanOf(t);
  const atStart = t.offset - start / DTYPES[t.dtype].sizeInBytes;
  const received = length === 0 ? null : receive(from, t.storage.handle, start, length, to);
  if (received !== null) return new Tensor(received, desc, atStart);
  const carried = length === 0 ? upload(to, new Uint8Array(0), "to") : carry(from, t.storage.handle, start, length, to);
  return new Tensor(carried, desc, atStart);
}
