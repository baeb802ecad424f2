/**
 * What an all-reduce costs, by the usual model of links (Hockney; Thakur, Rabenseifner and Gropp 2005): a message of n bytes takes alpha + n * beta seconds,
 * and adding n bytes n * gamma. Pure.
 */

/** A link between ranks. */
export interface Link {
  /** Seconds until a message arrives, however short: alpha. */
  readonly latency: number;
  /** Bytes a second: 1 / beta. */
  readonly bandwidth: number;
  /** Bytes a second that one rank adds: 1 / gamma. */
  readonly reduction: number;
}

/** An algorithm of all-reduce. */
export type Algorithm = "ring" | "tree";

/**
 * Seconds of an all-reduce of `bytes` among `ranks`. Ring: reduce-scatter and all-gather, 2 (p - 1) messages of n / p bytes. Tree: a binomial reduce and a
 * binomial broadcast, 2 log2(p) messages of n bytes. `share`: how many ranks share what one link and one processor do; 1 where each has its own.
 */
export function allReduceSeconds(algorithm: Algorithm, ranks: number, bytes: number, link: Link, share = 1): number {
  if (ranks === 1) return 0;
  const beta = share / link.bandwidth;
  const gamma = share / link.reduction;
  if (algorithm === "ring") {
    const part = bytes / ranks;
    return (ranks - 1) * (2 * (link.latency * share + part * beta) + part * gamma);
  }
  const rounds = Math.ceil(Math.log2(ranks));
  return rounds * (2 * (link.latency * share + bytes * beta) + bytes * gamma);
}

/** The faster algorithm for a size. */
export const bestAlgorithm = (ranks: number, bytes: number, link: Link): Algorithm =>
  allReduceSeconds("ring", ranks, bytes, link) <= allReduceSeconds("tree", ranks, bytes, link) ? "ring" : "tree";

/** A measured all-reduce. */
export interface Measured {
  readonly ranks: number;
  readonly bytes: number;
  readonly seconds: number;
}

/**
 * Latency and bandwidth that fit measured rings best, with the reduction's rate given: least squares of relative errors, so that short messages count as
 * much as long ones. `cores`: on one machine ranks beyond its cores wait for each other. Throws RangeError for fewer than two sizes.
 */
export function fitLink(measured: readonly Measured[], reduction: number, cores: number): Link {
  if (new Set(measured.map(({ bytes }) => bytes)).size < 2) throw new RangeError("fitLink: two sizes at least");
  // seconds = a * latency + b * beta + c, each divided by seconds: normal equations of two unknowns.
  let [aa, ab, bb, ay, by] = [0, 0, 0, 0, 0];
  for (const { ranks, bytes, seconds } of measured) {
    const share = shareOf(ranks, cores);
    const a = (2 * (ranks - 1) * share) / seconds;
    const b = (2 * (ranks - 1) * (bytes / ranks) * share) / seconds;
    const y = 1 - ((ranks - 1) * (bytes / ranks) * share) / reduction / seconds;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a * y;
    by += b * y;
  }
  const determinant = aa * bb - ab * ab;
  const latency = Math.max((ay * bb - by * ab) / determinant, 1e-9);
  const beta = Math.max((aa * by - ab * ay) / determinant, 1e-15);
  return { latency, bandwidth: 1 / beta, reduction };
}

/** How many ranks share a core of one machine. */
export const shareOf = (ranks: number, cores: number): number => Math.max(1, ranks / cores);

/** What is left of the speed of one rank when it trains with others: `seconds` of a step, of whose backward part the reduction hides behind `hidden`. */
export const efficiency = (seconds: number, reduce: number, hidden: number): number => seconds / (seconds + Math.max(0, reduce - hidden));
