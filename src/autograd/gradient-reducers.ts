/** Who wants to know when gradients of leaves are complete, while a backward pass still runs: data parallel training. @package */
import type { Tensor } from "../core/tensor.ts";

/** What a backward pass tells. */
export interface GradientReducer {
  /** The leaves that it asks about; empty: none now. */
  readonly leaves: ReadonlySet<Tensor>;
  /** All of a leaf's gradient of this pass is there. It is not in the leaf's grad yet, and no hook of the leaf has seen it. */
  ready(leaf: Tensor, gradient: Tensor): void;
  /** The pass that reached one of its leaves is over: each gradient is in its leaf's grad. */
  finish(): void;
}

const reducers = new Set<GradientReducer>();

/** Tells the reducer of passes from now on, those of compiled functions excepted. Gives what ends that. */
export function addReducer(reducer: GradientReducer): () => void {
  reducers.add(reducer);
  return () => void reducers.delete(reducer);
}

/** Those that ask about a leaf now. */
export const activeReducers = (): readonly GradientReducer[] =>
  reducers.size === 0 ? [] : [...reducers].filter(({ leaves }) => leaves.size > 0);
