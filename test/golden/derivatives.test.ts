/**
 * All differentiable operations compared with PyTorch 2.15: dependencies of results and gradients (graph), changes before backward() (saved), values
 * and gradients at NaN, infinities, zeros and ties (special). derivatives/known.json lists exactly the differences.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { clean, devices, isDirectml, isMicrosoft } from "../device.ts";
import { isWhole, share } from "../share.ts";
import { judge, type Record } from "./derivatives/judge.ts";
import { differentiableCases, readRecorded } from "./derivatives/recorded.ts";
import { goldenFolder } from "./folder.ts";

interface Known {
  readonly reason: string;
  /** How many questions differ, by operation. */
  readonly operations: { readonly [op: string]: number };
}
const file = join(goldenFolder, "derivatives", "known.json");
const known = JSON.parse(readFileSync(file, "utf8")) as { readonly [K in Record]: readonly Known[] };
const records = ["graph", "saved", "special"] as const;
/** Least questions that are asked, where all are, and most that may differ. */
const BOUNDS: { readonly [K in Record]: readonly [asked: number, different: number] } = {
  graph: [6000, 180],
  saved: [2600, 450],
  special: [4700, 310],
};

test("each record asks about hundreds of operations", () => {
  for (const name of records) {
    const ops = new Set(readRecorded<{ readonly id: string }>(`${name}.jsonl.gz`).map(({ id }) => id.split(":")[0]));
    expect(ops.size).toBeGreaterThan(250);
  }
});

// Microsoft's library flushes denormals and takes some special values otherwise: what it computes is judged by verify.
describe.each(devices.filter((device) => !isMicrosoft(device)))("derivatives on %s", (device) => {
  test.each(records)("%s", { timeout: 600_000 }, (record) =>
    clean(
      device,
      () => {
        // Every tenth operation of each record, others in each, unless all are requested or counted.
        const updates = process.env.DXTENSOR_UPDATE === "1";
        const all = [...new Set([...differentiableCases().values()].map(({ op }) => op))].toSorted();
        const ops = new Set(updates ? all : share(all, 10, 2 * records.indexOf(record)));
        const { asked, differences } = judge(record, (op) => ops.has(op));
        const listed = Object.fromEntries(
          known[record].flatMap(({ operations }) => Object.entries(operations)).filter(([op]) => isWhole || updates || ops.has(op)),
        );
        if (updates) update(record, differences);
        // Of a backend's own kernels only the operations are known: which of them multiply infinity by 0 depends on the algorithm and its rounding.
        const isExact = record !== "special" || isDirectml(device);
        const surprising = [...differences].flatMap(([op, list]) => {
          if (isExact) return list.length === listed[op] ? [] : list.slice(0, 3);
          return op in listed ? [] : list.filter((text) => !/ seed: gradient .* is NaN instead of -?Infinity$/.test(text));
        });
        expect(surprising).toEqual([]);
        // What does not differ any more leaves the list. Another backend may save more.
        if (isDirectml(device)) expect(Object.keys(listed).filter((op) => !differences.has(op))).toEqual([]);
        const different = [...differences.values()].reduce((n, list) => n + list.length, 0);
        expect(asked).toBeGreaterThanOrEqual(BOUNDS[record][0] * (ops.size === all.length ? 1 : 0.08));
        expect(different).toBeLessThanOrEqual(BOUNDS[record][1]);
      },
      { collect: true },
    ),
  );
});

/** DXTENSOR_UPDATE=1 writes the counts; an operation that is new in the list gets the last reason. */
function update(record: Record, differences: ReadonlyMap<string, readonly string[]>): void {
  const all = JSON.parse(readFileSync(file, "utf8")) as { [K in Record]: Known[] };
  const old = all[record];
  all[record] = old.map(({ reason, operations }, i) => {
    const isLast = i === old.length - 1;
    const own = [...differences].filter(([op]) => op in operations || (isLast && !old.some((k) => op in k.operations)));
    return { reason, operations: Object.fromEntries(own.map(([op, list]) => [op, list.length])) };
  });
  writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
  for (const list of differences.values()) for (const text of list) console.log(text);
}
