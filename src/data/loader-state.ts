/** Positions of loaders, as plain data. */
import { ValueError } from "../core/errors.ts";
import { requireCount } from "./sampler.ts";

/** Where a loader is in its pass, as plain data that JSON and dx.save represent exactly. */
export interface LoaderState {
  /** Batches of the pass that were handed out; 0 between two passes. */
  readonly position: number;
  /** What the order of the pass was drawn from; null for an order that is not drawn. */
  readonly order: string | null;
  /** What the batches that are left are drawn from, for any number of processes: of a DistributedSampler. */
  readonly rest?: string | undefined;
  /** The pass, from 0; between two passes, the next one. */
  readonly epoch?: number | undefined;
  /** What the seeds of samples are made of, in decimal digits. */
  readonly seed?: string | undefined;
  /** Of a stream that workers share: how many, since each number of them has an order of its own. */
  readonly numWorkers?: number | undefined;
}

/** @internal A state that was checked. */
export function requireState(operation: string, state: LoaderState): LoaderState {
  if (typeof state !== "object" || state === null) throw new ValueError(operation, "state", "what stateDict() gave", state);
  requireCount(operation, "state.position", state.position, 0);
  if (state.order !== null && typeof state.order !== "string")
    throw new ValueError(operation, "state.order", "a text or null", state.order);
  if (state.rest !== undefined && typeof state.rest !== "string") throw new ValueError(operation, "state.rest", "a text", state.rest);
  if (state.epoch !== undefined) requireCount(operation, "state.epoch", state.epoch, 0);
  if (state.seed !== undefined && !/^\d{1,20}$/.test(state.seed))
    throw new ValueError(operation, "state.seed", "an integer as text", state.seed);
  return state;
}

/** The passes of a loader: the seed and number of each, from which the seeds of samples are made. @package */
export class Passes {
  readonly #seedNow: () => bigint;
  /** Of a loaded state. */
  #seed: string | null = null;
  #next = 0;

  /** seedNow: the seed of the loader's generator. */
  constructor(seedNow: () => bigint) {
    this.#seedNow = seedNow;
  }

  /** The next pass. */
  get next(): { readonly seed: string; readonly epoch: number } {
    return { seed: this.#seed ?? String(this.#seedNow()), epoch: this.#next };
  }

  /** Begins the next pass. */
  begin(): { readonly seed: string; readonly epoch: number } {
    const { next } = this;
    this.#next++;
    return next;
  }

  /** Resumes from a state: its pass is the next one. */
  load({ epoch, seed }: LoaderState): void {
    this.#next = epoch ?? 0;
    this.#seed = seed ?? null;
  }
}
