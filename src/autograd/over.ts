/**
 * Writes the result of an operation directly into the buffer of an in-place target, only the elements that change. assign() names the target; the
 * operation that computes its value (by callOver of dispatch.ts) may then write it there; while gradients are recorded, only if these read no element of
 * the target. In a trace, and on devices without such programs, it runs as any other operation, out of place.
 */
import { batching } from "../core/batching.ts";
import type { Definition } from "../core/definition.ts";
import { runOver } from "../runtime/eager.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { isGradEnabled } from "./grad-mode.ts";
import { isSavedByWatched } from "./tape.ts";
import { record } from "./record.ts";

export interface Write {
  readonly target: Tensor;
  readonly outer: Write | null;
  /** Throws where target may not be written while gradients are recorded; null: none are. */
  readonly requireRecordable: (() => void) | null;
  /** The value is there already. */
  isDone: boolean;
}

let current: Write | null = null;

/** The value of what is computed until endWrite() becomes target's. */
export const beginWrite = (target: Tensor, requireRecordable: (() => void) | null = null): Write =>
  (current = { target, outer: current, requireRecordable, isDone: false });

export function endWrite(write: Write): void {
  current = write.outer;
}

const fills = (t: Tensor): boolean => t.desc.isPacked && t.coversStorage;
const isRecorded = (t: Tensor): boolean => t.requiresGrad && isGradEnabled();

/** Whether an operation's value will replace all of x. */
const isTarget = (x: Tensor): boolean => current !== null && x.storage === current.target.storage && fills(x) && fills(current.target);

/** The same without gradients: an operation may choose its implementation by that. */
export const isWritten = (x: Tensor, ...others: readonly Tensor[]): boolean => isTarget(x) && ![x, ...others].some(isRecorded);

/** Whether the operation may be recorded though what the target held is gone: its gradients read neither that nor the result. */
function mayRecord<A>({ target, requireRecordable }: Write, { saves }: Definition<A>, x: Tensor): boolean {
  if (requireRecordable === null || saves?.outputs !== false || typeof saves.inputs !== "object" || saves.inputs.includes(0)) return false;
  if ((target.requiresGrad && !x.requiresGrad) || isSavedByWatched(target.storage)) return false;
  requireRecordable();
  return true;
}

/**
 * Writes what an in-place operation on x gives, an operation over x (the first of inputs), into x's own buffer. Returns null, and does
 * nothing, where that is impossible.
 */
export function overwrite<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor | null {
  const write = current;
  const [x, ...others] = inputs as [Tensor, ...Tensor[]];
  if (write === null || batching() !== null || tracer() !== null || !isTarget(x) || !x.device.hasElements) return null;
  if (!inputs.every((t) => !t.isDisposed && t.size > 0 && t.device === x.device)) return null;
  if (others.some((t) => t.storage === x.storage)) return null;
  const records = inputs.some(isRecorded);
  if (records ? !mayRecord(write, definition, x) : write.target.requiresGrad && isGradEnabled()) return null;
  if (!runOver(definition, inputs, attrs)) return null;
  write.isDone = true;
  const made = new Tensor(x.storage, x.desc, x.offset);
  if (records) record(definition, inputs, attrs, [made]);
  return made;
}
