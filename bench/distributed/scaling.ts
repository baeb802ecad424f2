/** Data parallel training by two ranks with a core each, against one process on one core, and against what the machine gives two processes without a group. */
import { measured, measuredApart } from "./runs.ts";
import type { Answer } from "./rank.ts";

/** Samples a second of one network. */
export interface Scaling {
  readonly network: string;
  /** Of one process. */
  readonly batch: number;
  readonly isCompiled: boolean;
  /** One process on one core, with the whole batch and with half of it. */
  readonly one: number;
  readonly oneHalf: number;
  /** Two processes that know nothing of each other, with half of the batch and a core each: the most that two ranks can reach. */
  readonly apart: number;
  /** Two ranks under DistributedDataParallel, with half of the batch and a core each. */
  readonly ranks: number;
}

/** A batch that two ranks divide. */
const BATCHES: Readonly<Record<string, number>> = { quickstart: 128, mlp: 1024, lenet: 128, resnet: 16, encoder: 32 };

export const NETWORKS: readonly string[] = Object.keys(BATCHES);

/** The four measurements alternate, so that a slow minute of the machine affects all of them. The best round counts: other programs only slow it down. */
export async function scalingOf(network: string, isCompiled: boolean, seconds: number, rounds: number): Promise<Scaling> {
  const batch = BATCHES[network]!;
  const job = { kind: "network", network, seconds, isCompiled } as const;
  const rateOf = (samples: number, answers: readonly Answer[]): number => answers.reduce((sum, { wall }) => sum + samples / wall[0]!, 0);
  const rates: Record<"one" | "oneHalf" | "apart" | "ranks", number[]> = { one: [], oneHalf: [], apart: [], ranks: [] };
  for (let round = 0; round < rounds; round++) {
    rates.one.push(rateOf(batch, await measuredApart(1, { ...job, batch })));
    rates.oneHalf.push(rateOf(batch / 2, await measuredApart(1, { ...job, batch: batch / 2 })));
    rates.apart.push(rateOf(batch / 2, await measuredApart(2, { ...job, batch: batch / 2 })));
    rates.ranks.push(rateOf(batch / 2, await measured(2, { ...job, batch: batch / 2, meeting: null }, true)));
  }
  const of = (name: keyof typeof rates): number => Math.max(...rates[name]);
  return { network, batch, isCompiled, one: of("one"), oneHalf: of("oneHalf"), apart: of("apart"), ranks: of("ranks") };
}
