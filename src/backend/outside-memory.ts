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

interface Entry {
  readonly buffer: OutsideBuffer;
  /** The JavaScript object that the memory belongs to. */
  readonly holder: WeakRef<object>;
}

const entries = new Map<Handle, Entry>();
let last = FIRST_OUTSIDE;

/** A buffer here is freed by full collections only, so that fewer of them are asked for. */
const WEIGHT = 1 / 4;

function weigh({ owner, sizeInBytes }: OutsideBuffer, sign: 1 | -1): void {
  const { pressure } = owner.addon;
  pressure[0]! += sign * WEIGHT;
  pressure[1]! += sign * sizeInBytes;
}

/** A handle for memory of `holder`, which is referred to weakly. */
export function addOutside(buffer: OutsideBuffer, holder: object): Handle {
  entries.set(++last, { buffer, holder: new WeakRef(holder) });
  weigh(buffer, 1);
  return last;
}

export function outsideBuffer(handle: Handle): OutsideBuffer {
  const found = entries.get(handle);
  if (found === undefined)
    throw failure("invalid", `buffer ${handle} is not there: it was released, its device was closed, or it is another backend's`);
  return found.buffer;
}

/** Frees memory now, in the order of its device's queue. */
export function releaseOutside(handle: Handle): void {
  const buffer = outsideBuffer(handle);
  entries.delete(handle);
  weigh(buffer, -1);
  buffer.owner.drop(buffer);
}

type Checkpoint = () => void;
let checkpoint: Checkpoint | null = null;

/**
 * What a WeakRef was made for or gave lives until the end of the job: in a loop that never yields, for ever. The checkpoint of a context with
 * microtasks of its own ends that, and runs none of the program's. Called before garbage is collected.
 */
export function letGoOfHolders(): void {
  if (entries.size === 0) return;
  if (checkpoint === null) {
    // Not imported: few programs come here.
    const vm = process.getBuiltinModule("node:vm");
    const context = vm.createContext({}, { microtaskMode: "afterEvaluate" });
    const script = new vm.Script("0");
    checkpoint = () => void script.runInContext(context);
  }
  checkpoint();
}

/** Frees the memory whose holder has been collected; returns how many there were. */
export function sweepOutside(): number {
  let dead = 0;
  for (const [handle, { holder }] of entries) {
    if (holder.deref() !== undefined) continue;
    releaseOutside(handle);
    dead++;
  }
  return dead;
}

/** Forgets all memory of a device that closes. */
export function forgetOutside(owner: MemoryOwner): void {
  for (const [handle, { buffer }] of entries) {
    if (buffer.owner !== owner) continue;
    entries.delete(handle);
    weigh(buffer, -1);
  }
}
