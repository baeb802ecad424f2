/** Values and gradients at special values, compared with PyTorch's (special.py). */
import * as dx from "../../../src/index.ts";
import { isFloat } from "../../../src/core/dtype.ts";
import { near } from "../../tolerance.ts";
import { values } from "../../../src/ops/data/conversion.ts";
import { elementsOf, type Case, type GoldenTensor, type Path } from "../cases.ts";
import { make } from "./recorded.ts";

/** Of each tensor its elements in four digits; "n" is NaN, "i" infinity. */
type Listed = readonly (number | "n" | "i" | "-i")[] | null;
export type Kind = "nan" | "inf" | "zero" | "ties" | "all" | "other" | "seed";
export interface SpecialRow {
  readonly id: string;
  readonly k: Kind;
  /** Results, and gradients by the case's paths. */
  readonly o: readonly Listed[];
  readonly g: readonly Listed[];
}

const VALUES = [NaN, Infinity, -Infinity, 0, -0, 1, -1, 0.5, 2, -3];
const TIES = [1, -1, 1, 0, 2];

/** changed() of special.py: element i of n of operand j. */
function changedElement(kind: Kind, v: number, i: number, n: number, j: number): number {
  switch (kind) {
    case "nan":
      return i === (2 + 3 * j) % n ? NaN : v;
    case "inf":
      return i === (1 + 2 * j) % n ? Infinity : i === (4 + 5 * j) % n ? -Infinity : v;
    case "zero":
      return (i + j) % 3 === 0 ? 0 : (i + j) % 3 === 1 ? -0 : v;
    case "ties":
      return TIES[(i + 2 * j) % 5]!;
    case "all":
      return VALUES[(i * (2 * j + 1) + 3 * j) % 10]!;
    case "other":
      return VALUES[(Math.floor(i / (1 + 9 * (j % 2))) + 4 * i * Math.floor(j / 2) + 7) % 10]!;
    case "seed":
      return v;
    default:
      return kind satisfies never;
  }
}

function changedBy(kind: Kind, v: GoldenTensor, j: number): GoldenTensor {
  const all = elementsOf(v).map(Number);
  const next = Float32Array.from(all, (e, i) => changedElement(kind, e, i, all.length, j));
  return { ...v, data: Buffer.from(next.buffer).toString("base64") };
}

const numberOf = (v: number | "n" | "i" | "-i"): number => (v === "n" ? NaN : v === "i" ? Infinity : v === "-i" ? -Infinity : v);

function differs(got: dx.Tensor | null, want: Listed): string | null {
  if (want === null) return got === null ? null : "a tensor where there is none";
  if (got === null) return want.every((v) => v === 0) ? null : "none";
  const found = values(got.dtype, got.dataSync()).map(Number);
  if (found.length !== want.length) return `${found.length} elements instead of ${want.length}`;
  const wanted = want.map(numberOf);
  const largest = wanted.reduce((m, v) => (Number.isFinite(v) ? Math.max(m, Math.abs(v)) : m), 0);
  const at = wanted.findIndex((w, i) => !near(found[i]!, w, { rtol: 2e-3, atol: 1e-5 + 1e-4 * Math.min(largest, 1e6) }));
  return at < 0 ? null : `element ${at} is ${found[at]} instead of ${wanted[at]}`;
}

/** What differs from what was recorded, or null. */
export function judgeSpecial(c: Case, { k, o, g }: SpecialRow): string | null {
  const paths = new Set(c.grads!.map(({ path }) => JSON.stringify(path)));
  const order = new Map<string, number>();
  const { leaves, results, seeds } = make(
    c,
    () => true,
    (v, where) => {
      if ("result" in where) return k === "seed" ? changedBy("all", v, where.result) : v;
      const key = JSON.stringify(where.path satisfies Path);
      const j = order.size;
      order.set(key, j);
      return paths.has(key) && k !== "seed" ? changedBy(k, v, j) : v;
    },
  );
  for (const [i, want] of o.entries()) {
    // Of equal elements any index is right, and a factor may have another sign.
    const got = results[i];
    if (c.compare?.[i] === "gauge" || (got !== undefined && !isFloat(got.dtype))) continue;
    const wrong = differs(got ?? null, want);
    if (wrong !== null) return `result ${i}: ${wrong}`;
  }
  const roots = results.filter((t, i) => seeds[i] != null && t.requiresGrad);
  const gradient = seeds.filter((s, i): s is dx.Tensor => s !== null && results[i]!.requiresGrad);
  const found = roots.length === 0 ? leaves.map(() => null) : dx.grad(roots, leaves, { gradient, allowUnused: true });
  for (const [i, want] of g.entries()) {
    const wrong = differs(found[i] ?? null, want);
    if (wrong !== null) return `gradient of ${JSON.stringify(c.grads![i]!.path)}: ${wrong}`;
  }
  return null;
}
