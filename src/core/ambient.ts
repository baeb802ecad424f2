/**
 * Values that apply while a function runs, and while the promise that it returns is pending: the grad mode, the default device, the scope.
 * Synchronous code reads a field. While a promise is pending, code after an `await` finds its value by Node's AsyncLocalStorage, so that several such
 * functions may run at once.
 */
import { AsyncLocalStorage } from "node:async_hooks";

interface Entry<T> {
  value: T;
  /** Null for the value outside of all. */
  readonly outer: Entry<T> | null;
  /** The function has returned, or its promise has settled: what it left running has the outer value. */
  isOver: boolean;
}

/** Whether a function's result is still to come. */
export const isPromise = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

export class Ambient<T> {
  readonly #storage = new AsyncLocalStorage<Entry<T>>();
  readonly #root: Entry<T>;
  /** That of the synchronous call that runs, or the root. */
  #innermost: Entry<T>;
  /** Functions whose promises are pending. */
  #pending = 0;

  constructor(value: T) {
    this.#root = { value, outer: null, isOver: false };
    this.#innermost = this.#root;
  }

  get value(): T {
    return this.#pending === 0 || this.#innermost !== this.#root ? this.#innermost.value : this.#afterAwait().value;
  }

  /** Sets it until the innermost function that it applies to is over. */
  set value(value: T) {
    this.#current().value = value;
  }

  /** Runs fn with the value. atEnd is called once, with the value outside again: with fn's result, or undefined when fn failed. */
  run<R>(value: T, fn: () => R, atEnd?: (result: unknown) => void): R {
    const before = this.#innermost;
    const own: Entry<T> = { value, outer: this.#current(), isOver: false };
    this.#innermost = own;
    let result: R;
    try {
      result = this.#storage.run(own, fn);
    } catch (error) {
      this.#innermost = before;
      own.isOver = true;
      atEnd?.(undefined);
      throw error;
    }
    this.#innermost = before;
    if (isPromise(result)) return this.#settled(own, result, atEnd) as R;
    own.isOver = true;
    atEnd?.(result);
    return result;
  }

  #settled(own: Entry<T>, promise: PromiseLike<unknown>, atEnd: ((result: unknown) => void) | undefined): Promise<unknown> {
    this.#pending++;
    const end = (result: unknown): void => {
      this.#pending--;
      own.isOver = true;
      atEnd?.(result);
    };
    // A promise in all but name may do its work when it is asked for its value.
    return this.#storage
      .run(own, () => Promise.resolve(promise))
      .then(
        (result) => {
          end(result);
          return result;
        },
        (error: unknown) => {
          end(undefined);
          throw error;
        },
      );
  }

  #current(): Entry<T> {
    return this.#pending === 0 || this.#innermost !== this.#root ? this.#innermost : this.#afterAwait();
  }

  #afterAwait(): Entry<T> {
    let entry = this.#storage.getStore() ?? this.#root;
    while (entry.isOver) entry = entry.outer!;
    return entry;
  }
}
