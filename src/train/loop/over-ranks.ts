/** What the ranks of a training agree on: all run it, and take the same decisions. */
import { processRanks } from "../../core/process-ranks.ts";

/** Whether this process reports: the first rank, or all. */
export const isReporting = (allRanks: boolean | undefined): boolean => allRanks === true || (processRanks()?.rank ?? 0) === 0;

/** Whether several ranks train together. */
export const isOverRanks = (): boolean => (processRanks()?.size ?? 1) > 1;

/** The mean of all ranks' values by name: the same on all of them, so that all take the same for the best. */
export async function meanOverRanks(values: Readonly<Record<string, number>>): Promise<Readonly<Record<string, number>>> {
  if (!isOverRanks()) return values;
  const ranks = processRanks()!;
  const names = Object.keys(values);
  const own = Float64Array.from(names, (name) => values[name]!);
  const all = (await ranks.gather("fit", new Uint8Array(own.buffer))).map((bytes) => new Float64Array(bytes.slice().buffer));
  return Object.fromEntries(names.map((name, i) => [name, all.reduce((sum, theirs) => sum + (theirs[i] ?? NaN), 0) / ranks.size]));
}

/** The first rank's text, on all ranks. */
export async function firstRanks(text: string | null): Promise<string | null> {
  if (!isOverRanks()) return text;
  const [first] = await processRanks()!.gather("fit", Buffer.from(JSON.stringify(text)));
  return JSON.parse(Buffer.from(first!).toString()) as string | null;
}
