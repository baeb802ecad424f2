/** Memory of backends from outside that tensors own, by handle: numbers from 2^40 on, so that none is a handle of the addon's. */
import type { Binding, Handle } from "../native/binding.ts";
import { failure } from "./failure.ts";
import type { BackendMemory } from "./interface.ts";

/** The least handle of memory from outside. The addon counts up from 1: it would need a million buffers a second for twelve days to come here. */
export const FIRST_OUTSIDE = 2 ** 40;

/** Whose memory it is. */
export interface MemoryOwner {
  /** The addon, whose pressure counts this memory too. */
  readonly addon: Binding;
  /** Counts it no longer, and gives it back. */
  drop(buffer: OutsideBuffer): void;
}

export interface OutsideBuffer {
  readonly owner: MemoryOwner;
  readonly memory: BackendMemory;
  readonly sizeInBytes: number;
}

const buffers = new Map<Handle, OutsideBuffer>();

/** A handle for memory of `holder`, which is referred to weakly. */
export function addOutside(buffer: OutsideBuffer, holder: object): Handle {
  const handle = buffer.owner.addon.track(holder, buffer.sizeInBytes);
  buffers.set(handle, buffer);
  return handle;
}

export function outsideBuffer(handle: Handle): OutsideBuffer {
  const found = buffers.get(handle);
  if (found === undefined)
    throw failure("invalid", `buffer ${handle} is not there: it was released, its device was closed, or it is another backend's`);
  return found;
}

function forget(handle: Handle, { owner }: OutsideBuffer): void {
  buffers.delete(handle);
  owner.addon.untrack(handle);
}

/** Frees memory now, in the order of its device's queue. */
export function releaseOutside(handle: Handle): void {
  const buffer = outsideBuffer(handle);
  forget(handle, buffer);
  buffer.owner.drop(buffer);
}

/** Frees the memory whose holder has been collected. */
export function sweepOutside(addon: Binding): void {
  if (buffers.size === 0) return;
  for (const handle of addon.collectedOwners()) if (buffers.has(handle)) releaseOutside(handle);
}

/** Forgets all memory of a device that closes. */
export function forgetOutside(owner: MemoryOwner): void {
  for (const [handle, buffer] of buffers) if (buffer.owner === owner) forget(handle, buffer);
}
