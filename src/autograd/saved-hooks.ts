/** Hooks that keep what operations save for backward in another form, and give it back when a gradient is computed. */
import { Ambient } from "../core/ambient.ts";
import type { TypedArray } from "../core/dtype.ts";
import { TraceError } from "../core/errors.ts";
import { collect, type Disposable } from "../core/scope.ts";
import type { Desc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { noGrad } from "./grad-mode.ts";

/** What a hook gives back. */
export interface Unpacked {
  readonly tensor: Tensor;
  /** Nobody else needs the tensor: it is disposed of when the gradient has been computed. */
  readonly isOwn: boolean;
}

/** The library's form of a pair of hooks. */
export interface SavedHooks {
  /** t has no history. The hooks own it, and dispose of it. */
  pack(t: Tensor): unknown;
  /** Called in each backward pass that needs the tensor. */
  unpack(packed: unknown): Unpacked;
  /** No later pass needs it. */
  drop(packed: unknown): void;
}

const ambient = new Ambient<SavedHooks | null>(null);

/** How many regions with hooks have not ended. 0: nothing looks for one. */
let openRegions = 0;

/** The hooks of the innermost region around the code that runs, or null. */
export const savingHooks = (): SavedHooks | null => (openRegions === 0 ? null : ambient.value);

/** Runs fn with hooks: only they see what it saves, and none of the regions around it. fn may return a promise, as noGrad()'s. */
export function withHooks<T>(hooks: SavedHooks | null, fn: () => T): T {
  if (hooks === null && openRegions === 0) return fn();
  openRegions++;
  return ambient.run(hooks, fn, () => {
    openRegions--;
  });
}

/** What a hook of the user's gave, and which tensors of it the library disposes of. */
interface Kept {
  readonly result: unknown;
  readonly made: readonly Disposable[];
}

const alone = (fn: () => unknown): Kept => collect(() => noGrad(() => withHooks(null, fn)));

/**
 * Runs fn so that what its operations save for backward goes through two functions: pack gets each saved tensor, without a history, when the operation is
 * recorded; unpack gets what pack gave, in each backward pass that needs the tensor, and gives a tensor of the same shape, dtype and device. The hooks of the
 * innermost region apply. fn may return a promise, as noGrad()'s.
 *
 * What pack makes is disposed of: at once, or with the node of the tape if it is part of what pack returns (a tensor, arrays and plain objects of them).
 * dx.keep() takes a tensor out of that. Changes of a saved tensor in place are not noticed if pack returns the tensor itself.
 * Throws AutogradError where pack changes its argument, or unpack gives another kind of tensor, and TraceError inside compile; a compiled function may be called
 * by fn. Reference: torch.autograd.graph.saved_tensors_hooks.
 */
export function savedTensorsHooks<Packed, Result>(
  pack: (t: Tensor) => Packed,
  unpack: (packed: Packed) => Tensor,
  fn: () => Result,
): Result {
  requireEager("savedTensorsHooks");
  const hooks: SavedHooks = {
    pack: (t) =>
      alone(() => {
        const own = new Tensor(t.storage, t.desc, t.offset);
        t.dispose();
        return pack(own);
      }),
    unpack: (packed) => {
      const { result, made } = alone(() => unpack((packed as Kept).result as Packed));
      return { tensor: result as Tensor, isOwn: made.includes(result as Tensor) };
    },
    drop: (packed) => {
      for (const item of (packed as Kept).made) item.dispose();
    },
  };
  return withHooks(hooks, fn);
}

/** @internal Set by ops/exports/wiring.ts, since this file may not import operations. */
export const hostMemory = {
  read: null as unknown as (t: Tensor) => TypedArray,
  write: null as unknown as (data: TypedArray, desc: Desc) => Tensor,
};

/**
 * Runs fn so that what its operations save for backward is in the host's memory, in place of the device's, until a backward pass needs it. Each saved tensor
 * is read, which waits for the device, and uploaded again in each pass. fn may return a promise, as noGrad()'s.
 * Throws TraceError inside compile. Reference: torch.autograd.graph.save_on_cpu.
 */
export function saveOnHost<Result>(fn: () => Result): Result {
  requireEager("saveOnHost");
  const hooks: SavedHooks = {
    pack: (t) => {
      // Without elements on the device there is nothing to read.
      if (!t.device.hasElements || t.size === 0) return t;
      const saved = { desc: t.desc, data: hostMemory.read(t) };
      t.dispose();
      return saved;
    },
    unpack: (packed) => {
      if (packed instanceof Tensor) return { tensor: packed, isOwn: false };
      const { desc, data } = packed as { readonly desc: Desc; readonly data: TypedArray };
      return { tensor: collect(() => hostMemory.write(data, desc)).result, isOwn: true };
    },
    drop: (packed) => {
      if (packed instanceof Tensor) packed.dispose();
    },
  };
  return withHooks(hooks, fn);
}

function requireEager(operation: string): void {
  if (tracer() === null) return;
  throw new TraceError({
    operation,
    expected: "called outside of compiled functions",
    received: "a call inside one, whose program decides what it saves",
    hint: "Call the compiled function inside fn.",
  });
}
