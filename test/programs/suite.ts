/** The recorded programs as tests, in one mode: known.json lists exactly the failing ones. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { share } from "../share.ts";
import { sortOf } from "./judge.ts";
import { isFailure, readKnown } from "./known.ts";
import { readCorpus, type Program } from "./language.ts";
import { runProgram, type ProgramMode } from "./run.ts";

/** One test each, so that a run shows how far it is. */
const chunk = 50;

/** Of twelve programs, those that a mode takes where not all are asked for: each mode others. */
const modes: Readonly<Record<ProgramMode, (programs: readonly Program[]) => readonly Program[]>> = {
  eager: (programs) => share(programs, 2, 1),
  compiled: (programs) => share(programs, 12),
  around: (programs) => share(programs, 12, 6),
};

export function programTests(mode: ProgramMode): void {
  const programs = modes[mode](readCorpus(new URL("corpus.jsonl.gz", import.meta.url)));
  const known = new Set(readKnown(new URL("known.json", import.meta.url))[mode].flatMap((group) => group.ids));
  eachDevice(`programs, ${mode},`, (device) => {
    for (let from = 0; from < programs.length; from += chunk) {
      const some = programs.slice(from, from + chunk);
      test(`${some[0]!.id} to ${some.at(-1)!.id}`, { timeout: 600_000 }, () => {
        const failing = new Map<string, string>();
        for (const p of some) {
          const outcome = dx.withDevice(device, () => runProgram(mode, p));
          if (isFailure(outcome)) failing.set(p.id, sortOf(outcome));
        }
        const unexpected = [...failing].filter(([id]) => !known.has(id)).map(([id, sort]) => `${id}: ${sort}`);
        const better = some.map((p) => p.id).filter((id) => known.has(id) && !failing.has(id));
        expect(unexpected, "failures that are not known (npm run programs -- --ids ID shows one)").toEqual([]);
        expect(better, "known failures that pass (npm run programs -- --update takes them out)").toEqual([]);
      });
    }
  });
}
