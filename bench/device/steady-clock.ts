/** Keeps a device busy before something is timed: after a pause a GPU's clock falls, and takes its time to rise. */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { seconds } from "./kernels.ts";

/** How much slower the reference may be than it has been. */
const TOLERANCE = 1.05;
const TRIES = 3;
/** Milliseconds that a device is kept busy, at least and at most. */
const [MIN_BUSY, MAX_BUSY] = [60, 600];

export interface Timing {
  readonly seconds: number;
  /** What the reference took right after, as a multiple of its best time. */
  readonly reference: number;
}

/** A matrix product is timed before and after each measurement. */
export class SteadyClock {
  readonly #device: dx.Device;
  readonly #a: dx.Tensor;
  readonly #isSmall: boolean;
  #best = Infinity;

  constructor(device: dx.Device, isSmall: boolean) {
    this.#device = device;
    this.#isSmall = isSmall;
    const n = isSmall ? 32 : 2048;
    this.#a = dx.rand([n, n], { device, generator: new dx.Generator(9) });
  }

  async #reference(): Promise<number> {
    const start = performance.now();
    const count = this.#isSmall ? 1 : 12;
    for (let i = 0; i < count; i++) dx.matmul(this.#a, this.#a).dispose();
    await dx.synchronize(this.#device);
    const found = (performance.now() - start) / count;
    this.#best = Math.min(this.#best, found);
    return found / this.#best;
  }

  /** Until the reference takes the time that it has taken at best. */
  async warm(): Promise<void> {
    const start = performance.now();
    for (;;) {
      const found = await this.#reference();
      const busy = performance.now() - start;
      if (this.#isSmall || busy > MAX_BUSY || (busy > MIN_BUSY && found <= TOLERANCE)) return;
    }
  }

  /** Seconds for one execution of what has run before. */
  async measure(once: () => dx.Tensor | undefined, minSeconds: number): Promise<Timing> {
    let timing: Timing | null = null;
    for (let i = 0; i < (this.#isSmall ? 1 : TRIES); i++) {
      await this.warm();
      const found = await seconds(this.#device, once, minSeconds);
      const reference = await this.#reference();
      if (timing === null || reference < timing.reference) timing = { seconds: found, reference };
      if (reference <= TOLERANCE) break;
    }
    return timing!;
  }

  dispose(): void {
    this.#a.dispose();
  }
}
