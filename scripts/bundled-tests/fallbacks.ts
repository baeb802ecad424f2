// What fell back to the software adapter in a test file, on the devices under test: tests open others too, simulated ones that lack an operator.
import { fallbackStats } from "../../src/runtime/fallback.ts";

export interface FallenBack {
  readonly operation: string;
  readonly reason: string;
  readonly calls: number;
}

/** devices: names as DXTENSOR_TEST_DEVICES has them; none: all devices are under test. */
export class Fallbacks {
  readonly #devices: ReadonlySet<string>;
  readonly #found = new Map<string, FallenBack>();

  constructor(devices = "") {
    this.#devices = new Set(devices.split(",").filter((name) => name !== ""));
  }

  /** Called after each test, since tests reset the library's counts. */
  note(): void {
    for (const { kind, device, operation, reason, calls } of fallbackStats()) {
      if (kind === "host" || !this.#isTested(device)) continue;
      const key = `${operation}|${reason}`;
      this.#found.set(key, { operation, reason, calls: Math.max(calls, this.#found.get(key)?.calls ?? 0) });
    }
  }

  /** A name without a number means the first device. */
  #isTested(device: string): boolean {
    return this.#devices.size === 0 || this.#devices.has(device) || this.#devices.has(device.replace(/:0$/, ""));
  }

  /** By operation and reason. */
  get list(): readonly FallenBack[] {
    return [...this.#found.values()];
  }
}
