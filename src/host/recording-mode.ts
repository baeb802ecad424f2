/**
 * What V8 does while functions are recorded. The optimizing compiler rests during the first recordings of a process: what they call runs too seldom to gain
 * by it. It took half of the processor time of a first program of 3,000 operations, and each thread's largest compilation, some 2 MB, stays the process's.
 */
import { holdYoungGeneration } from "./young-generation.ts";

/**
 * Events from which on the functions that record are worth optimizing. To optimize them took 600 ms of processor time, and 10,000 events gain 400 ms by it
 * (measured on `cpu`, software adapter).
 */
export const WORTH_OPTIMIZING = 16_384;
let events = 0;
let isResting = false;
let release: (() => void) | null = null;

/** Whether the user says what V8 compiles. */
const isOfUser = (): boolean =>
  /--(?:no[-_]?)?(?:opt|turbofan|jitless|always[-_](?:turbofan|opt|osr))\b/.test([...process.execArgv, process.env.NODE_OPTIONS].join(" "));

function setOptimizes(optimizes: boolean): void {
  try {
    if (!isOfUser()) process.getBuiltinModule("node:v8").setFlagsFromString(optimizes ? "--turbofan" : "--no-turbofan");
  } catch {
    // A runtime without V8.
  }
}

function endRest(): void {
  if (isResting) setOptimizes(true);
  isResting = false;
}

/** A recording is one synchronous call: it lasts until recordingEnds(). */
export function recordingBegins(): void {
  if (release !== null) return;
  release = holdYoungGeneration();
  if (events >= WORTH_OPTIMIZING) return;
  isResting = true;
  setOptimizes(false);
}

/** An event was recorded. */
export function recordingContinues(): void {
  if (++events === WORTH_OPTIMIZING) endRest();
}

export function recordingEnds(): void {
  if (release === null) return;
  release();
  release = null;
  endRest();
}
