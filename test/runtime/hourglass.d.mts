import type * as dx from "../../src/index.ts";

export interface Hourglass {
  readonly value: number;
  readonly recorded: number;
  /** MiB. */
  readonly residentGrowth: number;
  readonly pooledGrowth: number;
}
export function hourglass(library: typeof dx, device: string, elements: number, count: number): Hourglass;
