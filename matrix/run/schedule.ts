/** Which run goes where and when: places with a limit each, a platform's runs together. Knows nothing of what a run is made of. */
import type { Run } from "../types.ts";

export interface Place {
  readonly name: string;
  readonly limit: number;
  accepts(run: Run): boolean;
}

/** Runs that a place has prepared the platform of come first, so that each place makes few platforms. */
function take(queue: Run[], place: Place, started: ReadonlySet<string>): Run | undefined {
  const own = queue.findIndex((run) => place.accepts(run) && started.has(`${place.name}\0${run.platform}`));
  // Another place's platform is taken only when nothing else is left.
  const fresh = queue.findIndex((run) => place.accepts(run) && ![...started].some((key) => key.endsWith(`\0${run.platform}`)));
  const any = queue.findIndex((run) => place.accepts(run));
  const at = [own, fresh, any].find((index) => index >= 0);
  return at === undefined ? undefined : queue.splice(at, 1)[0];
}

/** Runs everything once; ends early, with the rest untouched, when the signal is given. Returns what was not begun. */
export async function schedule(
  runs: readonly Run[],
  places: readonly Place[],
  signal: AbortSignal,
  execute: (run: Run, place: Place) => Promise<void>,
): Promise<Run[]> {
  const queue = [...runs];
  const started = new Set<string>();
  const worker = async (place: Place): Promise<void> => {
    while (!signal.aborted) {
      const run = take(queue, place, started);
      if (run === undefined) return;
      started.add(`${place.name}\0${run.platform}`);
      await execute(run, place);
    }
  };
  await Promise.all(places.flatMap((place) => Array.from({ length: place.limit }, () => worker(place))));
  return queue;
}
