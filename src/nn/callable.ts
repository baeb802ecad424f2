/** What makes objects of classes callable. @package */

/** Prototypes of the classes that objects were made of: the profiler replaces their forward() while it is on. */
const known = new WeakSet<object>();
const prototypes: WeakRef<object>[] = [];
let onPrototype: ((prototype: object) => void) | null = null;

/** Calls listener with each prototype of a class that objects were made of, now and later; null ends that. */
export function watchPrototypes(listener: ((prototype: object) => void) | null): void {
  onPrototype = listener;
  if (listener === null) return;
  for (const ref of prototypes) {
    const prototype = ref.deref();
    if (prototype !== undefined) listener(prototype);
  }
}

function notePrototype(prototype: object): void {
  if (known.has(prototype)) return;
  known.add(prototype);
  prototypes.push(new WeakRef(prototype));
  onPrototype?.(prototype);
}

/** Objects of these classes are functions: called, they run forward(). */
export abstract class Callable {
  constructor() {
    const self = (...inputs: never[]): unknown => (self as unknown as Callable).forward(...inputs);
    // A module's own fields may be called so.
    for (const name of ["name", "length"]) delete (self as unknown as Record<string, unknown>)[name];
    notePrototype(new.target.prototype as object);
    return Object.setPrototypeOf(self, new.target.prototype as object) as Callable;
  }

  /** What the module computes of its inputs: what a call of it runs. Each class says what it takes. */
  abstract forward(...inputs: never[]): unknown;
}

/** What a forward() takes; anything for a value of which no more is known than that it is a module, since a subclass may take anything. */
export type ForwardInputs<F extends (...inputs: never[]) => unknown> = [Parameters<F>[number]] extends [never]
  ? number extends Parameters<F>["length"]
    ? // oxlint-disable-next-line typescript/no-explicit-any -- unknown[] would make no subclass a Module
      any[]
    : Parameters<F>
  : Parameters<F>;
