/**
 * Writing in place what an operation changes, and no more. assign() says which tensor takes the value of what it computes; the operation that gives
 * that value (by callOver of dispatch.ts) may then write it straight into the tensor's own buffer. Where gradients are recorded, in a trace, and on devices that lack
 * such programs it is an operation as any other.
 */
import type { Definition } from "../core/definition.ts";
import { runOver } from "../runtime/eager.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { isGradEnabled } from "./grad-mode.ts";

export interface Write {
  readonly target: Tensor;
  readonly outer: Write | null;
  /** The value is there already. */
  isDone: boolean;
}

let current: Write | null = null;

/** The value of what is computed until endWrite() becomes target's. */
export const beginWrite = (target: Tensor): Write => (current = { target, outer: current, isDone: false });

export function endWrite(write: Write): void {
  current = write.outer;
}

const fills = (t: Tensor): boolean => t.desc.isPacked && t.coversStorage;
const isRecorded = (t: Tensor): boolean => t.requiresGrad && isGradEnabled();

/** Whether an operation's value is to be written to x, all of it, and nobody asks for a gradient: how it is computed may go by that. */
export const isWritten = (x: Tensor, ...others: readonly Tensor[]): boolean =>
  current !== null && x.storage === current.target.storage && fills(x) && fills(current.target) && ![x, ...others].some(isRecorded);

/**
 * Writes what an in-place operation on x gives, an operation over x (the first of inputs), into x's own buffer. Null where that cannot be: nothing was
 * done then.
 */
export function overwrite<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor | null {
  const write = current;
  const [x, ...others] = inputs as [Tensor, ...Tensor[]];
  if (write === null || tracer() !== null || !isWritten(x, ...others) || x.device.type === "meta") return null;
  if (!inputs.every((t) => !t.isDisposed && t.size > 0 && t.device === x.device)) return null;
  if (others.some((t) => t.storage === x.storage) || !runOver(definition, inputs, attrs)) return null;
  write.isDone = true;
  return new Tensor(x.storage, x.desc, x.offset);
}
