/**
 * The check of a later call: the function runs again on the traced tensors of its recording, and everything it asks for is
 * compared with the log. So whatever JavaScript value the trace depended on, a change of it is seen before anything is
 * replayed. Nothing is computed; backward() and the optimizer's step are skipped as a whole.
 */
import type { Device } from "../device.ts";
import type { DType } from "../dtype.ts";
import type { Definition } from "../definition.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import type { Tracer } from "../tracer.ts";
import { sameData } from "../graph/key.ts";
import { backwardOwner, isSeen, type Event, type Trace } from "./trace.ts";

/** Thrown when a call differs from the recording: it has to be traced anew. */
export class Mismatch extends Error {
  /** The event whose number or array changed, when that is all that did. */
  readonly event: number;
  constructor(reason: string, event = -1) {
    super(reason);
    this.name = "Mismatch";
    this.event = event;
  }
}

export class Check implements Tracer {
  readonly recordsTape = false;
  /** New values of volatile events, by event. */
  readonly volatile = new Map<number, { readonly dtype: DType; readonly value: number | bigint | boolean } | Uint8Array>();
  readonly #events: readonly Event[];
  readonly #trace: Trace;
  readonly #gradients = new Map<Tensor, Tensor | null>();
  #at = 0;

  constructor(trace: Trace) {
    this.#trace = trace;
    this.#events = trace.events;
  }

  #next<K extends Event["kind"]>(kind: K, what: string): Extract<Event, { kind: K }> {
    const event = this.#events[this.#at];
    if (event === undefined || event.kind !== kind)
      throw new Mismatch(`${what} where the recording has ${event === undefined ? "its end" : event.kind}`);
    this.#at++;
    return event as Extract<Event, { kind: K }>;
  }

  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
    const event = this.#next("operation", definition.name);
    if ((event.definition as unknown) !== definition)
      throw new Mismatch(`${definition.name} where the recording has ${event.definition.name}`);
    if (inputs.length !== event.inputs.length) throw new Mismatch(`${definition.name} with ${inputs.length} inputs`);
    for (let i = 0; i < inputs.length; i++)
      if (!isSeen(event.inputs[i]!, inputs[i]!)) throw new Mismatch(`${definition.name}: input ${i} is another tensor`);
    if (!sameData(event.attrs, attrs)) throw new Mismatch(`${definition.name}: other options`);
    return event.outputs.map(again);
  }

  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
    const event = this.#next("create", definition.name);
    if ((event.definition as unknown) !== definition || event.device !== device || !sameData(event.attrs, attrs))
      throw new Mismatch(`${definition.name}: other options`);
    return again(event.output);
  }

  scalar(_device: Device, dtype: DType, value: number | bigint | boolean): Tensor {
    const at = this.#at;
    const event = this.#next("scalar", "a number");
    if (event.dtype !== dtype) throw new Mismatch("a number of another dtype");
    if (event.cell >= 0) this.volatile.set(at, { dtype, value });
    else if (!Object.is(event.value, value)) throw new Mismatch(`the number ${event.value} is now ${value}`, at);
    return again(event.output);
  }

  constant(_device: Device, dtype: DType, shape: readonly number[], bytes: ArrayBufferView): Tensor {
    const at = this.#at;
    const event = this.#next("constant", "data");
    if (event.dtype !== dtype || !sameData(event.shape, shape)) throw new Mismatch("data of another shape or dtype");
    if (event.cell >= 0) this.volatile.set(at, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return again(event.output);
  }

  assign(target: Tensor, source: Tensor): void {
    const event = this.#next("assign", "an in-place operation");
    if (!isSeen(event.target, target) || !isSeen(event.source, source)) throw new Mismatch("an in-place operation on another tensor");
  }

  read(operation: string, tensor: Tensor): never {
    return this.#trace.read(operation, tensor);
  }

  backward(roots: readonly Tensor[], _run: () => void): void {
    this.region(
      backwardOwner,
      roots.map((t) => t.storage),
    );
  }

  region(owner: object, guards: readonly unknown[]): void {
    const event = this.#next("region", "backward() or an optimizer's step");
    if (event.owner !== owner || event.guards.length !== guards.length || !guards.every((g, i) => isSameGuard(g, event.guards[i])))
      throw new Mismatch("backward() or an optimizer's step with other settings");
    for (const { leaf, before, after } of event.effects) {
      if ((leaf.grad?.storage ?? null) !== before)
        throw new Mismatch("a gradient that was there before and is not now, or the other way round");
      if (!this.#gradients.has(leaf)) this.#gradients.set(leaf, leaf.grad);
      leaf.grad = after === null || after.storage === before ? leaf.grad : again(after);
    }
    this.#at = event.end;
    if ("beforeReplay" in owner && typeof owner.beforeReplay === "function") owner.beforeReplay();
  }

  /** Sets the leaves' gradients back to what they were before the call. */
  undo(): void {
    for (const [leaf, grad] of this.#gradients) leaf.grad = grad;
  }

  touchGradient(): void {}

  /** Throws unless the whole log was asked for. */
  finish(): void {
    if (this.#at !== this.#events.length) throw new Mismatch("fewer operations than recorded");
  }
}

/** Storages and other objects with an identity are compared by it, plain data by value. */
const isSameGuard = (a: unknown, b: unknown): boolean => a === b || (!(a instanceof Storage) && sameData(a, b));

/** The recorded result once more, as a tensor of its own. */
function again(t: Tensor): Tensor {
  const copy = new Tensor(t.storage, t.desc, t.offset);
  copy.node = t.node;
  copy.outputIndex = t.outputIndex;
  return copy;
}
