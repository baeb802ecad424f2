/** Schedules runs on executors with a limit each, a platform's runs together. Independent of the contents of a run. */
import type { Run } from "../types.ts";

export interface Executor {
  readonly name: string;
  readonly limit: number;
  accepts(run: Run): boolean;
}

/** Runs with the same key share folders, and are done one after another; null: with any other. */
export type Exclusive = (run: Run) => string | null;

/** Runs whose platform an executor has prepared come first, so that each executor prepares few platforms. */
function take(queue: Run[], accepts: (run: Run) => boolean, executor: Executor, started: ReadonlySet<string>): Run | undefined {
  const own = queue.findIndex((run) => accepts(run) && started.has(`${executor.name}\0${run.platform}`));
  // Another executor's platform is taken only when nothing else is left.
  const unstarted = queue.findIndex((run) => accepts(run) && ![...started].some((key) => key.endsWith(`\0${run.platform}`)));
  const any = queue.findIndex(accepts);
  const at = [own, unstarted, any].find((index) => index >= 0);
  return at === undefined ? undefined : queue.splice(at, 1)[0];
}

/** Runs everything once; ends early, with the rest untouched, when the signal is given. Returns what was not begun. */
export async function schedule(
  runs: readonly Run[],
  executors: readonly Executor[],
  signal: AbortSignal,
  execute: (run: Run, executor: Executor) => Promise<void>,
  exclusive: Exclusive = () => null,
): Promise<Run[]> {
  // Those that wait for each other begin first: at the end they would leave every other executor idle.
  const queue = runs.toSorted((a, b) => Number(exclusive(b) !== null) - Number(exclusive(a) !== null));
  const started = new Set<string>();
  const busy = new Set<string>();
  let wake: () => void = () => undefined;
  let change = new Promise<void>((resolve) => (wake = resolve));
  const worker = async (executor: Executor): Promise<void> => {
    while (!signal.aborted) {
      const isFree = (run: Run): boolean => executor.accepts(run) && !busy.has(exclusive(run) ?? "");
      const run = take(queue, isFree, executor, started);
      if (run === undefined) {
        if (!queue.some((other) => executor.accepts(other))) return;
        await change;
        continue;
      }
      started.add(`${executor.name}\0${run.platform}`);
      const key = exclusive(run);
      if (key !== null) busy.add(key);
      try {
        await execute(run, executor);
      } finally {
        if (key !== null) busy.delete(key);
        wake();
        change = new Promise((resolve) => (wake = resolve));
      }
    }
  };
  await Promise.all(executors.flatMap((executor) => Array.from({ length: executor.limit }, () => worker(executor))));
  return queue;
}
