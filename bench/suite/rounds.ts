/** Rounds of several processes in turn, A B C A B C …: other load of the machine affects all of them alike. */
import { median } from "../measure.ts";
import { distance, type Digest } from "./data.ts";
import { Peer, type Command } from "./peer.ts";
import type { Workload } from "./workloads.ts";

export interface Measured {
  readonly peer: string;
  /** Seconds of one execution, in each round. */
  readonly seconds: readonly number[];
  /** Megabytes. */
  readonly resident: number;
  /** How far the result is from the first peer's; null where they cannot be compared. */
  readonly distance: number | null;
}

export interface Result {
  readonly workload: Workload;
  readonly measured: readonly Measured[];
  /** Why peers did not run it. */
  readonly lacking: readonly { readonly peer: string; readonly why: string }[];
}

/** In the workload's unit. */
export const valueOf = ({ work }: Workload, seconds: readonly number[]): number => work / median(seconds);

export interface RoundsOptions {
  readonly rounds: number;
  /** Seconds of a round. */
  readonly minSeconds: number;
  readonly signal: AbortSignal;
  readonly onResult: (result: Result, done: number, of: number) => void;
}

async function measure(peers: readonly Peer[], workload: Workload, { rounds, minSeconds, signal }: RoundsOptions): Promise<Result> {
  const lacking: { peer: string; why: string }[] = [];
  const taking: { readonly peer: Peer; readonly digest: Digest | null; readonly seconds: number[]; resident: number }[] = [];
  for (const peer of peers) {
    const digest = await peer.prepare(workload);
    if (typeof digest === "string") lacking.push({ peer: peer.name, why: digest });
    else taking.push({ peer, digest, seconds: [], resident: 0 });
  }
  // The first round warms up.
  for (let i = 0; i <= rounds; i++)
    for (const one of taking) {
      signal.throwIfAborted();
      const { seconds, resident } = await one.peer.round(i === 0 ? minSeconds / 2 : minSeconds);
      if (i > 0) one.seconds.push(seconds);
      one.resident = resident / 2 ** 20;
    }
  const reference = taking.find((t) => t.digest !== null)?.digest ?? null;
  return {
    workload,
    lacking,
    measured: taking.map(({ peer, digest, seconds, resident }) => ({
      peer: peer.name,
      seconds,
      resident,
      distance: digest === null || reference === null ? null : distance(digest, reference),
    })),
  };
}

/** Measures the workloads with fresh processes for each group of them. */
export async function measureAll(
  commands: readonly Command[],
  workloads: readonly Workload[],
  options: RoundsOptions,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const group of new Set(workloads.map((w) => w.group))) {
    const peers = commands.map((command) => new Peer(command));
    const kill = (): void => peers.forEach((peer) => peer.kill());
    options.signal.addEventListener("abort", kill);
    try {
      for (const workload of workloads.filter((w) => w.group === group)) {
        const result = await measure(peers, workload, options);
        results.push(result);
        options.onResult(result, results.length, workloads.length);
      }
    } finally {
      options.signal.removeEventListener("abort", kill);
      await Promise.all(peers.map((peer) => peer.end()));
    }
  }
  return results;
}
