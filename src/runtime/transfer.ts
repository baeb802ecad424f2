/** Copies of tensors between devices. */
import { internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { readBytesSync, upload } from "./buffers.ts";
import { nativeDevice, type NativeDevice } from "./devices.ts";

/**
 * The tensor on another device, with its own strides over the bytes it spans. Reads the bytes back, which waits for the work
 * queued before.
 */
export function transfer(t: Tensor, to: NativeDevice): Tensor {
  const desc = internDesc(to.device, t.dtype, t.shape, t.desc.strides);
  const from = nativeDevice(t.device, "to");
  const bytes = t.storage.handle === 0 ? new ArrayBuffer(0) : readBytesSync(from, t.storage.handle, 0, t.storage.contentInBytes, "to");
  return new Tensor(upload(to, new Uint8Array(bytes), "to"), desc, t.offset);
}
