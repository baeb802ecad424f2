/** The processes that compute together, while this one is in a process group: set by it, and known to what must not depend on it. */

/** Ranks that call together. @package */
export interface ProcessRanks {
  /** This process, from 0. */
  readonly rank: number;
  /** How many there are. */
  readonly size: number;
  /** The bytes that each rank gives, in the order of ranks. All ranks call it. */
  gather(operation: string, bytes: Uint8Array): Promise<readonly Uint8Array[]>;
  /** The error of a call that another rank could not do its part of. */
  refused(operation: string, rank: number, problem: string): Error;
}

let current: ProcessRanks | null = null;

/** The ranks of this process's group of all; null where there is none. */
export const processRanks = (): ProcessRanks | null => current;

/** Sets the ranks; null when the group is destroyed. */
export function setProcessRanks(ranks: ProcessRanks | null): void {
  current = ranks;
}
