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
  /** The same three in PyTorch, whose steps are eager; null: not measured. */
  readonly torch: { readonly one: number; readonly apart: number; readonly ranks: number } | null;
}

/** A batch that two ranks divide. */
const BATCHES: Readonly<Record<string, number>> = { quickstart: 128, mlp: 1024, lenet: 128, resnet: 16, encoder: 32 };

export const NETWORKS: readonly string[] = Object.keys(BATCHES);

/** A network's name and its batch: `NAME:BATCH`, or a name alone; null: there is no such network, or the batch cannot be divided. */
export function networkOf(text: string): { readonly network: string; readonly batch: number } | null {
  const [network = "", samples] = text.split(":");
  const batch = samples === undefined ? BATCHES[network] : Number(samples);
  return batch !== undefined && network in BATCHES && batch > 0 && batch % 2 === 0 ? { network, batch } : null;
}

/** The measurements alternate, so that a slow minute of the machine affects all of them. The best round counts: other programs only slow it down. */
export async function scalingOf(
  { network, batch }: { readonly network: string; readonly batch: number },
  isCompiled: boolean,
  seconds: number,
  rounds: number,
  python: string | null,
): Promise<Scaling> {
  const job = { kind: "network", network, seconds, isCompiled } as const;
  const rateOf = (samples: number, answers: readonly Answer[]): number => answers.reduce((sum, { wall }) => sum + samples / wall[0]!, 0);
  const rates = { one: [], oneHalf: [], apart: [], ranks: [], torchOne: [], torchApart: [], torchRanks: [] } as Record<string, number[]>;
  const measure = async (name: string, samples: number, answers: Promise<Answer[]>): Promise<void> => {
    rates[name]!.push(rateOf(samples, await answers));
  };
  for (let round = 0; round < rounds; round++) {
    await measure("one", batch, measuredApart(1, { ...job, batch }));
    await measure("oneHalf", batch / 2, measuredApart(1, { ...job, batch: batch / 2 }));
    await measure("apart", batch / 2, measuredApart(2, { ...job, batch: batch / 2 }));
    await measure("ranks", batch / 2, measured(2, { ...job, batch: batch / 2, meeting: null }, true));
    if (python === null) continue;
    await measure("torchOne", batch, measuredApart(1, { ...job, batch }, python));
    await measure("torchApart", batch / 2, measuredApart(2, { ...job, batch: batch / 2 }, python));
    await measure("torchRanks", batch / 2, measured(2, { ...job, batch: batch / 2, meeting: null }, true, python));
  }
  const of = (name: string): number => Math.max(...rates[name]!);
  const torch = python === null ? null : { one: of("torchOne"), apart: of("torchApart"), ranks: of("torchRanks") };
  return { network, batch, isCompiled, one: of("one"), oneHalf: of("oneHalf"), apart: of("apart"), ranks: of("ranks"), torch };
}
