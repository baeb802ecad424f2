/** Dependencies of results, gradients, and gradients of gradients, compared with PyTorch (graph.py). */
import * as dx from "../../../src/index.ts";
import type { Case } from "../cases.ts";
import { make } from "./recorded.ts";

/** Which gradient paths require one ("1", "0"), whether the incoming gradients do, and PyTorch's answer. */
export type Question = readonly [which: string, seeded: 0 | 1, answer: string];
export interface GraphRow {
  readonly id: string;
  readonly q: readonly Question[];
}

const mark = (g: dx.Tensor | null): string => (g === null ? "-" : g.requiresGrad ? "1" : "0");

/** The answer in graph.py's words: "results/gradients/second gradients". */
export function answer(c: Case, which: string, isSeeded: boolean): string {
  const { leaves, results, seeds } = make(c, (i) => which[i] === "1");
  const flags = results.map((t) => (t.requiresGrad ? "1" : "0")).join("");
  const roots = results.filter((t, i) => seeds[i] != null && t.requiresGrad);
  if (roots.length === 0) return `${flags}//`;
  const gradient = seeds.filter((s, i): s is dx.Tensor => s !== null && results[i]!.requiresGrad);
  if (isSeeded) for (const s of gradient) s.requiresGrad_();
  const wanting = leaves.filter((_, i) => which[i] === "1");
  const first = dx.grad(roots, wanting, { gradient, createGraph: true, allowUnused: true });
  const text = `${flags}/${first.map(mark).join("")}/`;
  const again = first.filter((g): g is dx.Tensor => g?.requiresGrad === true);
  if (again.length === 0) return text;
  const inputs = [...wanting, ...(isSeeded ? gradient : [])];
  const second = dx.grad(again, inputs, { gradient: again.map((g) => dx.onesLike(g)), createGraph: true, allowUnused: true });
  return text + second.map(mark).join("");
}
