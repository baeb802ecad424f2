/** The batches of a loader: who disposes of them, and where a pass resumes. */
import { DataLoader } from "../../data/loader.ts";
import { StreamLoader } from "../../data/stream.ts";
import { disposeAll } from "../../data/collate.ts";
import type { Batches } from "./options.ts";

/** Whether each batch is made for one pass, and is nobody's after it. */
export const ownsBatches = (loader: unknown): boolean => loader instanceof DataLoader || loader instanceof StreamLoader;

/** A loader that knows its position. */
interface StatefulLoader {
  stateDict(): unknown;
  loadStateDict(state: never): unknown;
}

export const isStateful = (loader: object): loader is StatefulLoader =>
  "stateDict" in loader &&
  typeof loader.stateDict === "function" &&
  "loadStateDict" in loader &&
  typeof loader.loadStateDict === "function";

/** Batches of a pass; null where the loader does not know. */
export function lengthOf(loader: object): number | null {
  const length = "length" in loader ? loader.length : null;
  return typeof length === "number" && Number.isSafeInteger(length) ? length : null;
}

/** Tells a loader which epoch begins: the order of a DistributedSampler. */
export function setEpoch(loader: object, epoch: number): void {
  if (loader instanceof DataLoader) loader.setEpoch(epoch);
}

/** A pass from a batch on, for loaders that do not know their position: those before are read again. */
export async function* passFrom<B>(loader: Batches<B>, first: number, isOwn: boolean): AsyncGenerator<B, void, undefined> {
  let index = 0;
  for await (const batch of loader) {
    if (index++ >= first) yield batch;
    else if (isOwn) disposeAll(batch);
  }
}
