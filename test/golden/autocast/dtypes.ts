/** Result dtypes inside autocast() compared with PyTorch's on CUDA (record.py): calls on the device `meta`, which infers dtypes only. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../../src/index.ts";
import { Call, operandsOf } from "../call.ts";
import { dtypeOf, readCases, readIndex, Missing, type Case } from "../cases.ts";
import { flatten } from "../compare.ts";
import { goldenFolder } from "../folder.ts";
import { outOfScope } from "../scope.ts";
import { entryOf } from "../table/index.ts";

type Lower = "f16" | "bf16";
/** Dtypes of the results, comma-separated, with operands in float32, in the lower dtype, the first in it; the last two outside of autocast too. */
type Answers = readonly [single: string, lower: string, mixed: string, plainLower: string, plainMixed: string];
interface Row {
  readonly id: string;
  readonly d: { readonly [K in Lower]: Answers };
}
export interface Recorded {
  readonly torch: string;
  /** PyTorch's lists by their macros' names. */
  readonly lists: { readonly [name: string]: readonly string[] };
  readonly rows: readonly Row[];
}

export function readRecorded(): Recorded {
  const [head, ...rows] = gunzipSync(readFileSync(join(goldenFolder, "autocast", "dtypes.jsonl.gz")))
    .toString("utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
  return { ...(head as Omit<Recorded, "rows">), rows: rows as Row[] };
}

/** The recorded calls, by id. */
export function casesById(): ReadonlyMap<string, Case> {
  const found = new Map<string, Case>();
  for (const { file } of readIndex(goldenFolder)) for (const c of readCases(join(goldenFolder, file))) found.set(c.id, c);
  return found;
}

const CODES = new Map(
  ["f32", "f64", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"].map((code) => [dtypeOf(code) as string, code]),
);

/** The dtypes of the call's results; "!" for a refusal, null for a call that does not exist here. */
function ours(c: Case, lower: Lower, variant: number, isInside: boolean): string | null {
  const entry = entryOf(c.op);
  if (entry === null || "out" in c.kwargs || outOfScope(c) !== null) return null;
  const dtype = dtypeOf(lower) as dx.AutocastDType;
  let i = 0;
  const operands = operandsOf(c, (v) => {
    const own = dtypeOf(v.t);
    const isLower = own === "float32" && (variant === 1 || (variant === 2 && i === 0));
    if (own === "float32") i++;
    return dx.empty(v.shape, { dtype: isLower ? dtype : own, device: "meta" });
  });
  const run = (): string | null => {
    const results = flatten(entry.run(new Call(c, operands)));
    return results.every((t) => t instanceof dx.Tensor) ? results.map((t) => CODES.get(t.dtype)!).join(",") : null;
  };
  try {
    return isInside ? dx.autocast(dtype, run) : run();
  } catch (error) {
    if (error instanceof Missing || error instanceof dx.DeviceError) return null;
    if (error instanceof dx.DxError) return `!${error.message}`;
    throw error;
  }
}

const NAMES = ["float32 operands", "lower operands", "mixed operands"] as const;

export interface Compared {
  readonly op: string;
  readonly id: string;
  readonly text: string;
}

/**
 * All answers that differ from PyTorch's, and how many were asked. Where PyTorch refuses the call, or the call has another dtype than PyTorch's outside
 * of autocast too (docs/differences.md), nothing is asked.
 */
export function compared(): { asked: number; operations: ReadonlySet<string>; differences: readonly Compared[] } {
  const cases = casesById();
  const operations = new Set<string>();
  const differences: Compared[] = [];
  let asked = 0;
  for (const { id, d } of readRecorded().rows) {
    const c = cases.get(id)!;
    for (const lower of ["f16", "bf16"] as const)
      NAMES.forEach((name, variant) => {
        const expected = d[lower][variant]!;
        const inside = ours(c, lower, variant, true);
        if (inside === null || expected === "!") return;
        const plain = ours(c, lower, variant, false);
        const theirs = variant === 0 ? null : d[lower][variant + 2]!;
        // Indices and counts are int32 here, int64 in PyTorch.
        const same = (text: string): string => text.replaceAll("i64", "i32");
        if (theirs !== null && theirs !== "!" && (plain === null || same(plain) !== same(theirs))) return;
        asked++;
        operations.add(c.op);
        if (same(inside) === same(expected)) return;
        differences.push({
          op: c.op,
          id,
          text: `${id} ${lower}, ${name}: ${inside} instead of ${expected} (outside: ${plain} here, ${theirs} in PyTorch)`,
        });
      });
  }
  return { asked, operations, differences };
}
