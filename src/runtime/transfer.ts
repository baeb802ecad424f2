/** Copies of tensors between devices. */
import { DTYPES } from "../core/dtype.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { readBytesSync, upload } from "./buffers.ts";
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

/**
 * The tensor on another device, with its own strides over the bytes it spans, and no others of its storage. Reads the bytes back, which
 * waits for the work queued before.
 */
export function transfer(t: Tensor, to: NativeDevice): Tensor {
  const desc = internDesc(to.device, t.dtype, t.shape, t.desc.strides);
  if (to.device.type === "meta") return new Tensor(new Storage(to.device, t.storage.contentInBytes), desc, t.offset);
  requireElements("to", t);
  const from = nativeDevice(t.device, "to");
  const { start, length } = t.storage.handle === 0 ? { start: 0, length: 0 } : spanOf(t);
  const bytes = length === 0 ? new ArrayBuffer(0) : readBytesSync(from, t.storage.handle, start, length, "to");
  return new Tensor(upload(to, new Uint8Array(bytes), "to"), desc, t.offset - start / DTYPES[t.dtype].sizeInBytes);
}
