// A folder that is made stage by stage: missing and changed stages are made, by one process at a time.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "../../tools/lock.ts";

/** Names of stages, in their order, with what each is made of. */
type Digests<Stage extends string> = Readonly<Record<Stage, string>>;

/** Next to the folder, which may be removed while the lock is held. */
const lockOf = (folder: string) => `${folder}.lock`;
const stateOf = (folder: string) => join(folder, "cell.json");

export const hasState = (folder: string): boolean => existsSync(stateOf(folder));
const readState = (folder: string): Record<string, string> => (hasState(folder) ? JSON.parse(readFileSync(stateOf(folder), "utf8")) : {});

export const isMade = <S extends string>(folder: string, wanted: Digests<S>): boolean =>
  JSON.stringify(readState(folder)) === JSON.stringify(wanted);

interface Making<Stage extends string> {
  readonly wanted: Digests<Stage>;
  /** Everything before the first stage, when anything is to be made. */
  readonly prepare: () => Promise<void>;
  readonly makers: Readonly<Record<Stage, () => Promise<void>>>;
  readonly isFromScratch?: boolean;
}

/** Makes what is missing or out of date, and all after a first stage that is; true when something was made. */
export async function makeStages<Stage extends string>(
  folder: string,
  { wanted, prepare, makers, isFromScratch = false }: Making<Stage>,
): Promise<boolean> {
  if (!isFromScratch && isMade(folder, wanted)) return false;
  return withLock(lockOf(folder), async () => {
    // Another process may just have made it.
    if (!isFromScratch && isMade(folder, wanted)) return false;
    mkdirSync(folder, { recursive: true });
    await prepare();
    const state = isFromScratch ? {} : readState(folder);
    const write = () => writeFileSync(stateOf(folder), JSON.stringify(state));
    const names = Object.keys(wanted) as Stage[];
    let rest = false;
    for (const name of names) {
      // What comes first holds all the others.
      rest ||= name === names[0] && state[name] !== wanted[name];
      if (!rest && state[name] === wanted[name]) continue;
      delete state[name];
      write();
      await makers[name]();
      state[name] = wanted[name];
      write();
    }
    writeFileSync(stateOf(folder), JSON.stringify(wanted));
    return true;
  });
}

/** Removes the folder when no process makes it. */
export const removeStages = (folder: string): Promise<void> =>
  withLock(lockOf(folder), async () => rmSync(folder, { recursive: true, force: true }));
