/** What a call between processes gives: a promise that says more. */

/**
 * A call between processes that runs. `await work` gives its result, and rejects with its error; so does work.wait(). What it changes in place is changed
 * then, not before. Reference: torch.distributed.Work.
 */
export class Work<T> implements PromiseLike<T> {
  /** The call: "allReduce". */
  readonly operation: string;
  /** Which call of the group it is, from 1. Sends and receives are counted apart. */
  readonly sequence: number;
  readonly #promise: Promise<T>;
  #isCompleted = false;

  /** @internal */
  constructor(operation: string, sequence: number, promise: Promise<T>) {
    this.operation = operation;
    this.sequence = sequence;
    this.#promise = promise;
    const ended = (): void => void (this.#isCompleted = true);
    // Whoever does not wait learns of a failure by the group's next call.
    promise.then(ended, ended);
  }

  /** Whether it has ended, with a result or an error. */
  get isCompleted(): boolean {
    return this.#isCompleted;
  }

  /** Its result. */
  wait(): Promise<T> {
    return this.#promise;
  }

  /** As of a promise. */
  // oxlint-disable-next-line unicorn/no-thenable -- awaited like a promise
  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#promise.then(fulfilled, rejected);
  }
}
