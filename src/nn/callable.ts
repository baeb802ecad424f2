/** What makes objects of classes callable. @package */

/** Objects of these classes are functions: called, they run forward(). */
export abstract class Callable {
  constructor() {
    const self = (...inputs: never[]): unknown => (self as unknown as Callable).forward(...inputs);
    // A module's own fields may be called so.
    for (const name of ["name", "length"]) delete (self as unknown as Record<string, unknown>)[name];
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
