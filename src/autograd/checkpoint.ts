/** checkpoint(): a function whose intermediate tensors are not saved for backward, but recomputed there. */
import { inSegment } from "../core/checkpoint-marks.ts";
import { autocast, autocastDType, isAutocastCacheEnabled, isAutocastEnabled, withoutAutocast } from "../core/autocast.ts";
import { defaultDevice, withDevice, type Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { CheckpointError, ValueError } from "../core/errors.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import { sameShape, showShape, type Shape } from "../core/shape.ts";
import { isComposite, PARTS, WITH_PARTS } from "../core/structure.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { enableGrad, isGradEnabled } from "./grad-mode.ts";
import { currentPass, type BackwardPass } from "./backward-pass.ts";
import { Saved } from "./saved.ts";
import { savingHooks, withHooks, type SavedHooks, type Unpacked } from "./saved-hooks.ts";
import { nodeOfLeaf } from "./tape.ts";

/** The state of the default generator at some time. */
export interface RandomState {
  /** The generator draws again what it drew then. */
  restore(): void;
  dispose(): void;
}

/** @internal Set by ops/exports/wiring.ts, since this file may not import random numbers. */
export const randomness = { state: null as unknown as () => RandomState };

/** A tensor that the forward pass saved: what stands for it on the tape. */
interface Holder {
  readonly index: number;
  readonly shape: Shape;
  readonly dtype: DType;
  readonly device: Device;
  /** The recomputed tensor of the pass that runs. */
  found: Tensor | null;
  isDropped: boolean;
}

const describe = ({ dtype, shape, device }: { readonly dtype: DType; readonly shape: Shape; readonly device: Device }): string =>
  `${dtype}${showShape(shape)} on ${device}`;

/** The value with other tensors: itself, in arrays, plain objects and composites. */
function mapTensors(value: unknown, map: (t: Tensor) => unknown): unknown {
  if (value instanceof Tensor) return map(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((v) => mapTensors(v, map));
  if (isComposite(value)) return value[WITH_PARTS](value[PARTS]().map((v) => mapTensors(v, map)));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, mapTensors(v, map)]));
}

/** Runs fn with the default device and the autocast region of now. */
function ambientState(): <T>(fn: () => T) => T {
  const device = defaultDevice();
  const dtype = autocastDType();
  const options = { enabled: isAutocastEnabled(), cacheWeights: isAutocastCacheEnabled() };
  return (fn) => withDevice(device, () => withoutAutocast(() => (dtype === null ? fn() : autocast(dtype, fn, options))));
}

/** One call of checkpoint(). */
class Frame implements SavedHooks {
  readonly #fn: (...inputs: never[]) => unknown;
  /** The arguments, with slots for tensors. */
  #inputs: readonly unknown[];
  readonly #saved: Saved[] = [];
  readonly #random = outsideScopes(() => randomness.state());
  readonly #ambient = ambientState();
  readonly #holders: Holder[] = [];
  /** Holders that a node has. */
  #live = 0;
  #isForwardOver = false;
  /** The pass that the tensors were recomputed for. */
  #pass: BackwardPass | null = null;

  constructor(fn: (...inputs: never[]) => unknown, inputs: readonly unknown[]) {
    this.#fn = fn;
    const hooks = savingHooks();
    this.#inputs = inputs.map((input) =>
      mapTensors(input, (t) => {
        const saved = new Saved(t, false, 0);
        this.#saved.push(saved);
        if (hooks !== null) saved.pack(hooks, "checkpoint");
        return new Slot(saved);
      }),
    );
  }

  pack(t: Tensor): Holder {
    const { shape, dtype, device } = t;
    const holder = { index: this.#holders.length, shape, dtype, device, found: null, isDropped: false };
    this.#holders.push(holder);
    this.#live++;
    t.dispose();
    return holder;
  }

  unpack(packed: unknown): Unpacked {
    const holder = packed as Holder;
    const pass = currentPass();
    if (holder.found === null) {
      if (pass !== null && this.#pass === pass)
        throw new CheckpointError({
          operation: "checkpoint",
          received: `a second request, in one backward pass, for what was saved as tensor ${holder.index}`,
          hint: "Read ctx.saved once in a backward of your own.",
        });
      this.#recompute(pass);
    }
    const tensor = holder.found!;
    holder.found = null;
    return { tensor, isOwn: true };
  }

  drop(packed: unknown): void {
    const holder = packed as Holder;
    holder.isDropped = true;
    holder.found?.dispose();
    holder.found = null;
    this.#live--;
    this.#releaseIfUnused();
  }

  /** The forward pass, or fn's error, is over. */
  end(): void {
    this.#isForwardOver = true;
    this.#releaseIfUnused();
  }

  #releaseIfUnused(): void {
    if (!this.#isForwardOver || this.#live > 0) return;
    this.#inputs = [];
    for (const saved of this.#saved.splice(0)) saved.release()?.release();
    this.#random.dispose();
  }

  #recompute(pass: BackwardPass | null): void {
    const holders = this.#holders;
    let count = 0;
    const differing: string[] = [];
    const again: SavedHooks = {
      pack: (t) => {
        const holder = holders[count++];
        if (holder === undefined) return t;
        const isSame = holder.dtype === t.dtype && holder.device === t.device && sameShape(holder.shape, t.shape);
        if (!isSame) differing.push(`tensor ${holder.index} was ${describe(holder)}, and is ${describe(t)} now`);
        else if (!holder.isDropped && holder.found === null) holder.found = outsideScopes(() => new Tensor(t.storage, t.desc, t.offset));
        return t;
      },
      // A gradient that fn itself asks for.
      unpack: (t) => ({ tensor: t as Tensor, isOwn: false }),
      drop: (t) => (t as Tensor).dispose(),
    };
    const forget = (): void => {
      this.#pass = null;
      for (const holder of holders) {
        holder.found?.dispose();
        holder.found = null;
      }
    };
    const outside = outsideScopes(() => randomness.state());
    try {
      this.#random.restore();
      this.#ambient(() =>
        enableGrad(() =>
          scope(() => {
            for (const saved of this.#saved) saved.requireUnchanged("checkpoint");
            const inputs = this.#inputs.map((input) => restored(input));
            withHooks(again, () => void this.#fn(...(inputs as never[])));
          }),
        ),
      );
      // A gradient that fn asks for in the forward pass finds more than was saved by then.
      if (this.#isForwardOver && count !== holders.length) differing.unshift(`${holders.length} tensors were saved, and ${count} now`);
      if (count < holders.length || differing.length > 0) throw differs(differing);
    } catch (error) {
      forget();
      throw error;
    } finally {
      outside.restore();
      outside.dispose();
    }
    this.#pass = pass;
    pass?.ends.push(forget);
  }
}

/** Stands for a tensor among the arguments. */
class Slot {
  readonly saved: Saved;
  constructor(saved: Saved) {
    this.saved = saved;
  }
}

function restored(value: unknown): unknown {
  if (value instanceof Slot) return value.saved.tensor(null, nodeOfLeaf);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(restored);
  if (isComposite(value)) return value[WITH_PARTS](value[PARTS]().map(restored) as never);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, restored(v)]));
}

const differs = (differing: readonly string[]): CheckpointError =>
  new CheckpointError({
    operation: "checkpoint",
    argument: "fn",
    expected: "a function that computes the same each time it is called",
    received: differing.slice(0, 3).join("; "),
    hint: "What fn reads must not change before backward(): numbers, modes and modules of closures among it.",
  });

/**
 * fn(...inputs), of which nothing is saved for backward but the inputs: backward calls fn again and recomputes what it needs. That saves memory, and
 * costs a second forward pass.
 *
 * fn: gives tensors in any structure that scope() knows; what else it makes is disposed of when it returns. It must compute the same in both calls: the
 * default generator, autocast and the default device are as in the first call, so dropout drops the same elements. inputs: any values; tensors of
 * arrays and plain objects are saved too. Calls nest, and gradients of gradients are right. Inside compile the program recomputes,
 * and fn is called once.
 * Throws ValueError where fn returns a promise; backward throws CheckpointError where the second call saves other tensors, by number, shape or dtype,
 * and AutogradError where an input was changed in place. Reference: torch.utils.checkpoint.checkpoint with use_reentrant=False.
 */
export function checkpoint<Inputs extends readonly unknown[], Result>(fn: (...inputs: Inputs) => Result, ...inputs: Inputs): Result {
  const run = (): Result => {
    const result = fn(...inputs);
    if (typeof result === "object" && result !== null && "then" in result)
      throw new ValueError("checkpoint", "fn", "a function that returns no promise", result);
    return result;
  };
  if (tracer() !== null) return inSegment(run);
  if (!isGradEnabled()) return scope(run);
  const frame = new Frame(fn as (...inputs: never[]) => unknown, inputs);
  try {
    return scope(() => withHooks(frame, run));
  } finally {
    frame.end();
  }
}
