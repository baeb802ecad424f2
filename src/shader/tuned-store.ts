/**
 * Measured forms of this machine: one file for each adapter in the user's cache folder, which `compile()` with `tune` reads and extends. A file of another
 * adapter, driver, library or version of the package is ignored.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { LoadReport } from "../native/binding.ts";
import { measuredFor, storePath, type Measured, type MeasuredFor } from "./store.ts";

/** What was measured of one operation at one size, or of one region. */
export interface TunedChoice {
  /** For people: "linear float32[16, 512], float32[512, 512]". */
  readonly what: string;
  /** The form that is used. */
  readonly taken: string;
  /** Seconds of each form that gave right results. */
  readonly seconds: Readonly<Record<string, number>>;
}

export type TunedChoices = ReadonlyMap<string, TunedChoice>;

const FORMAT = 1;
/** A choice has some 200 bytes. */
const MAX_BYTES = 2 ** 24;

export const tunedPath = (device: Pick<Measured, "runtime" | "adapter">): string => storePath(device).replace(/\.json$/, ".tuned.json");

const isRecord = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);

function isChoice(x: unknown): x is TunedChoice {
  if (!isRecord(x) || typeof x.what !== "string" || typeof x.taken !== "string" || !isRecord(x.seconds)) return false;
  return x.taken in x.seconds && Object.values(x.seconds).every((t) => typeof t === "number" && Number.isFinite(t) && t > 0);
}

/** None where the text is damaged, or was measured elsewhere. */
export function parseTuned(text: string, wanted: MeasuredFor): Map<string, TunedChoice> {
  const found = new Map<string, TunedChoice>();
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return found;
  }
  if (!isRecord(content) || content.format !== FORMAT || !isRecord(content.for) || !isRecord(content.choices)) return found;
  const { for: measured, choices } = content;
  if (Object.entries(wanted).some(([name, value]) => measured[name] !== value)) return found;
  for (const [key, choice] of Object.entries(choices)) if (isChoice(choice)) found.set(key, choice);
  return found;
}

/** Never throws: without a file everything is measured again. */
export function readTuned(device: Measured, report: LoadReport): Map<string, TunedChoice> {
  try {
    const path = tunedPath(device);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile() || stat.size > MAX_BYTES) return new Map();
    return parseTuned(readFileSync(path, "utf8"), measuredFor(device, report));
  } catch {
    return new Map();
  }
}

/** Adds choices to the file. Of two processes that write at once the later one's file stays; the other measures again. */
export function addTuned(device: Measured, report: LoadReport, choices: TunedChoices): void {
  const path = tunedPath(device);
  mkdirSync(dirname(path), { recursive: true });
  const all = Object.fromEntries([...readTuned(device, report), ...choices]);
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, `${JSON.stringify({ format: FORMAT, for: measuredFor(device, report), choices: all }, null, 1)}\n`);
  renameSync(temporary, path);
}

/** Whether there was a file. */
export function forgetTuned(device: Pick<Measured, "runtime" | "adapter">): boolean {
  const path = tunedPath(device);
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  rmSync(path, { force: true });
  return isThere;
}
