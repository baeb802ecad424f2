/**
 * State that the library keeps on the host (optimizers, schedules, generators) and that a call of a compiled function changes while it is
 * traced. A call that fails (the function throws, memory runs out) restores it.
 */

/** Restores an object's state of the time when this was made. */
export type Restore = () => void;

interface Saved {
  readonly save: () => Restore;
  restore: Restore;
}

/** What a call has changed, with what it was before. */
export class Journal {
  /** Made when there is something: most calls change nothing. */
  #saved: Map<object, Saved> | null = null;

  /** Before the first change of an object: remembers it. */
  note(object: object, save: () => Restore): void {
    if (this.#saved?.has(object) === true) return;
    (this.#saved ??= new Map<object, Saved>()).set(object, { save, restore: save() });
  }

  has(object: object): boolean {
    return this.#saved?.has(object) === true;
  }

  /** Restores the earlier state of all objects; called again, the later state. */
  swap(): void {
    if (this.#saved === null) return;
    for (const entry of this.#saved.values()) {
      const after = entry.save();
      entry.restore();
      entry.restore = after;
    }
  }
}

let current: Journal | null = null;

/** Whether a call is running that may have to be rolled back. */
export const isJournaled = (): boolean => current !== null;

/** To be called before an object's state changes. `save` remembers the state as it is then. */
export function changing(object: object, save: () => Restore): void {
  if (current !== null) current.note(object, save);
}

/** Whether an object's state has changed in the call that is running. */
export const hasChanged = (object: object): boolean => current?.has(object) === true;

export function withJournal<T>(journal: Journal, fn: () => T): T {
  const before = current;
  current = journal;
  try {
    return fn();
  } finally {
    current = before;
  }
}

/** Modes of modules: how often any has changed. A call in which the function does not run asks for this number first. */
export const modes = { changes: 0 };
