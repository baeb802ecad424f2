/** Streams that finish later: work is done in turns of the event loop, or when somebody waits for it. */
import { fault } from "./memory.ts";

/** A point in a stream, which other streams may wait for. */
export interface Event {
  isDone: boolean;
}

type Work = { readonly run: () => void } | { readonly wait: Event; readonly on: Stream } | { readonly event: Event };

/** How much is done before the host continues. */
const TURN = 16;

export class Stream {
  readonly #work: Work[] = [];
  #isScheduled = false;
  /** Nothing of it finishes. */
  isHung = false;
  /** What it ran into; it does nothing more. */
  error: Error | null = null;

  get isIdle(): boolean {
    return this.#work.length === 0 || this.error !== null;
  }

  enqueue(run: () => void): void {
    this.#add({ run });
  }

  /** A point behind everything that is queued now. */
  record(): Event {
    const event: Event = { isDone: false };
    this.#add({ event });
    return event;
  }

  /** What is queued from now on comes after an event of another stream. */
  wait(event: Event, on: Stream): void {
    if (!event.isDone) this.#add({ wait: event, on });
  }

  #add(work: Work): void {
    if (this.error !== null) throw this.error;
    this.#work.push(work);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.isHung) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#advance(TURN);
      if (!this.isIdle) this.#schedule();
    });
  }

  /** Ends a hang: queued work continues. */
  resume(): void {
    this.isHung = false;
    if (!this.isIdle) this.#schedule();
  }

  #advance(count: number): void {
    for (; count > 0 && !this.isIdle && !this.isHung; count--) {
      const work = this.#work[0]!;
      if ("wait" in work && !work.wait.isDone) {
        work.on.#advance(Infinity);
        this.error ??= work.on.error;
        if (!work.wait.isDone) return;
      }
      this.#work.shift();
      if ("event" in work) work.event.isDone = true;
      if (!("run" in work)) continue;
      try {
        work.run();
      } catch (error) {
        this.error = error as Error;
      }
    }
  }

  /** Does all work that is queued. Throws what the work ran into, or that nothing finishes. */
  drain(timeoutInMs: number): void {
    this.#advance(Infinity);
    if (this.error !== null) throw this.error;
    // Nobody else runs meanwhile: what has not moved now would not in that time.
    if (!this.isIdle) throw fault("timeout", `the device finished nothing for ${timeoutInMs} ms`);
  }
}
