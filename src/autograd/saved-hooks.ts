/** Hooks that keep what operations save for backward in another form, and give it back when a gradient is computed. */
import { Ambient } from "../core/ambient.ts";
import type { Tensor } from "../core/tensor.ts";

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
