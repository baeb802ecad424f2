/** The backward pass that runs: what is recomputed for it is forgotten at its end. */

/** One pass of backward() or grad(). */
export interface BackwardPass {
  /** Called at its end, also where it fails. */
  readonly ends: (() => void)[];
}

let current: BackwardPass | null = null;

/** The innermost pass that runs, or null. */
export const currentPass = (): BackwardPass | null => current;

/** Runs fn as a pass of its own. */
export function inPass<T>(fn: () => T): T {
  const outer = current;
  const own: BackwardPass = { ends: [] };
  current = own;
  try {
    return fn();
  } finally {
    current = outer;
    for (const end of own.ends) end();
  }
}
