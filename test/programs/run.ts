/** The ways in which a program is run. */
import * as dx from "../../src/index.ts";
import { compiledOutcome } from "./compiled.ts";
import { judgeThrown, judgeValues, type Outcome } from "./judge.ts";
import type { Program } from "./language.ts";
import { Machine } from "./machine.ts";
import { leafTensor } from "./values.ts";

export const programModes = ["eager", "compiled", "around"] as const;
export type ProgramMode = (typeof programModes)[number];

function eagerOutcome(p: Program): Outcome {
  const machine = new Machine();
  try {
    for (const leaf of p.leaves) machine.tensors.set(leaf.n, leafTensor(leaf));
    machine.run(p.body);
  } catch (error) {
    return judgeThrown(p, error, machine.path);
  }
  return judgeValues(p, (out) => machine.result(out), { isFlagged: true });
}

/** Runs a program and frees what it made. */
export function runProgram(mode: ProgramMode, p: Program): Outcome {
  dx.setGradEnabled(true);
  return dx.scope(() => (mode === "eager" ? eagerOutcome(p) : compiledOutcome(p, { isAround: mode === "around" })));
}
