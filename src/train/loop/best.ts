/** Which evaluation is the best, and when it no longer gets better. */
import type { EarlyStop } from "./options.ts";

/** As plain data, which checkpoints contain. */
export interface BestState {
  readonly best: { readonly value: number; readonly step: number } | null;
  /** The value that the next improvement is compared with: minDelta better than the one before. */
  readonly compared: number | null;
  /** Evaluations since then. */
  readonly waited: number;
}

export class Best {
  readonly #isMin: boolean;
  readonly #earlyStop: EarlyStop | undefined;
  state: BestState = { best: null, compared: null, waited: 0 };

  constructor(mode: "min" | "max", earlyStop: EarlyStop | undefined) {
    this.#isMin = mode === "min";
    this.#earlyStop = earlyStop;
  }

  #isBetter(value: number, than: number | null, minDelta: number): boolean {
    if (Number.isNaN(value)) return false;
    if (than === null) return true;
    return this.#isMin ? value < than - minDelta : value > than + minDelta;
  }

  /** Takes a value. Whether it is the best so far. */
  add(value: number, step: number): boolean {
    const { best, compared, waited } = this.state;
    const isBest = this.#isBetter(value, best?.value ?? null, 0);
    const isImproved = this.#isBetter(value, compared, this.#earlyStop?.minDelta ?? 0);
    this.state = {
      best: isBest ? { value, step } : best,
      compared: isImproved ? value : compared,
      waited: isImproved ? 0 : waited + 1,
    };
    return isBest;
  }

  get isOver(): boolean {
    return this.#earlyStop !== undefined && this.state.waited >= Math.max(1, this.#earlyStop.patience ?? 3);
  }
}
