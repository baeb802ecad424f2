/** Tensors that calls save for backward(), found by the errors after a change, compared with PyTorch (saved.py). */
import * as dx from "../../../src/index.ts";
import { isFloat } from "../../../src/core/dtype.ts";
import type { Case } from "../cases.ts";
import { make } from "./recorded.ts";

export interface SavedRow {
  readonly id: string;
  /** Which gradient paths require one, and the answer: "operands/results/again". */
  readonly q: readonly (readonly [which: string, answer: string])[];
}

type Write = (made: ReturnType<typeof make>) => dx.Tensor | undefined;

function tried(c: Case, which: string, write: Write | null): string {
  const made = make(c, (i) => which[i] === "1");
  const { results, seeds } = made;
  const roots = results.filter((t, i) => seeds[i] != null && t.requiresGrad);
  const gradient = seeds.filter((s, i): s is dx.Tensor => s !== null && results[i]!.requiresGrad);
  const back = (): void => dx.backward(roots, { gradient });
  if (write === null) back();
  else {
    const changed = write(made);
    try {
      if (changed !== undefined && isFloat(changed.dtype)) dx.noGrad(() => changed.add_(0));
    } catch (error) {
      if (error instanceof dx.DxError) return "?";
      throw error;
    }
  }
  try {
    back();
    return "p";
  } catch (error) {
    if (error instanceof dx.AutogradError && /in-place operation changed it|second pass/.test(error.message)) return "r";
    throw error;
  }
}

/** The answer in saved.py's words. */
export function savedAnswer(c: Case, which: string): string {
  const { floats, results } = make(c, () => false);
  const first = floats.map((_, i) => tried(c, which, (m) => m.floats[i])).join("");
  const second = results.map((_, i) => tried(c, which, (m) => m.results[i])).join("");
  return `${first}/${second}/${tried(c, which, null)}`;
}
