/** The recorded cases of this folder as tests: one for each operation, on each device, in one mode. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkIndices, clean, devices, isMicrosoft } from "../device.ts";
import { isWhole, share } from "../share.ts";
import { readIndex, readCases, type Case, type OpEntry } from "./cases.ts";
import { differences } from "./differences.ts";
import { goldenFolder } from "./folder.ts";
import { factsOf, nameOf, type Facts } from "./operations.ts";
import { reportOf } from "./report.ts";
import { runCase, type Mode, type Outcome } from "./run.ts";
import { microsoft } from "./scope.ts";

/** Bundled for another machine the tests travel without the documentation. */
const table = join(goldenFolder, "..", "..", "docs", "operators.json");
interface Operations {
  readonly families: readonly { readonly operations: readonly ({ readonly name: string } & Facts)[] }[];
}

/** Test files for each mode: one that compiles every operation for a GPU takes too long for a file's limit there (docs/gpu.md). */
export const PARTS = 4;

/** A folder's recorded operations in parts of about equal size. Those of one name in docs/operators.json are in one part, which counts them. */
export function goldenParts(folder = goldenFolder, count = PARTS): readonly (readonly OpEntry[])[] {
  const names = new Map<string, { entries: OpEntry[]; size: number }>();
  for (const entry of readIndex(folder)) {
    const { entries, size } = names.get(nameOf(entry.op)) ?? { entries: [], size: 0 };
    names.set(nameOf(entry.op), { entries: [...entries, entry], size: size + statSync(join(folder, entry.file)).size });
  }
  const parts = Array.from({ length: count }, () => ({ entries: [] as OpEntry[], size: 0 }));
  for (const { entries, size } of [...names.values()].toSorted((a, b) => b.size - a.size)) {
    const smallest = parts.reduce((a, b) => (b.size < a.size ? b : a));
    smallest.entries.push(...entries);
    smallest.size += size;
  }
  return parts.map((part) => part.entries);
}

const said = (o: Outcome): string => `${o.id}: ${o.reason}`;

/** Of the cases of an operation, those that a mode takes: compiled every fifth one, strided every fourth one, unless all are asked for. */
const taken = (cases: readonly Case[], mode: Mode): readonly Case[] =>
  mode.compiled === true ? share(cases, 5) : mode.strided === true ? share(cases, 4, 1) : cases;

/** Declares the tests of a part, from 1. min: cases that pass at least, of all, so that none goes missing in silence. */
export function goldenTests(mode: Mode, part: number, min: number): void {
  const isPlain = Object.keys(mode).length === 0;
  const known = new Set(differences.flatMap((d) => d.ids));
  for (const device of devices) {
    const all: Outcome[] = [];
    const groups = new Map<string, { ops: string[]; cases: Case[]; outcomes: Outcome[] }>();
    const elsewhere = isMicrosoft(device) ? microsoft : [];
    describe(`golden cases on ${device}`, () => {
      beforeAll(() => checkIndices());
      for (const { op, file } of goldenParts()[part - 1]!) {
        test(op, async () => {
          await clean(
            device,
            () => {
              const cases = taken(readCases(join(goldenFolder, file)), mode).filter((c) => !elsewhere.some((e) => e.applies(c)));
              const names = cases.reduce<readonly string[]>(
                (best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best),
                [],
              );
              const outcomes = cases.map((c) => runCase(c, names, mode, device));
              all.push(...outcomes);
              const group = groups.get(nameOf(op)) ?? { ops: [], cases: [], outcomes: [] };
              groups.set(nameOf(op), {
                ops: [...group.ops, op],
                cases: [...group.cases, ...cases],
                outcomes: [...group.outcomes, ...outcomes],
              });
              expect(outcomes.filter((o) => o.result === "failed" && !known.has(o.id)).map(said)).toEqual([]);
              // A case that passes everywhere is no difference: it leaves the list.
              if (mode.compiled !== true && !isMicrosoft(device))
                expect(outcomes.filter((o) => o.result === "passed" && known.has(o.id)).map((o) => o.id)).toEqual([]);
            },
            { collect: true },
          );
        });
      }
      for (const file of isPlain && device === "cpu" && existsSync(table) ? [table] : [])
        test("docs/operators.json has these results (npm run operators updates it)", () => {
          const known = new Map(
            (JSON.parse(readFileSync(file, "utf8")) as Operations).families.flatMap((f) => f.operations).map((o) => [o.name, o]),
          );
          const stale = [...groups].flatMap(([name, { ops, cases, outcomes }]) => {
            const { operators, dtypes, gradient, passed, failed, missing } = factsOf(name, ops, cases, outcomes);
            const row = known.get(name);
            if (row === undefined) return [];
            const listed = {
              operators: row.operators,
              dtypes: row.dtypes,
              gradient: row.gradient,
              passed: row.passed,
              failed: row.failed,
              missing: row.missing,
            };
            return isDeepStrictEqual(listed, { operators, dtypes, gradient, passed, failed, missing }) ? [] : [name];
          });
          expect(stale).toEqual([]);
        });
      test("counts", () => {
        expect(all.filter((o) => o.result === "passed").length).toBeGreaterThanOrEqual(
          isWhole ? min : mode.compiled === true ? min / 6 : mode.strided === true ? min / 5 : min,
        );
      });
    });
    afterAll(() => {
      const r = reportOf(all, mode);
      console.log(
        `golden on ${device} ${JSON.stringify(mode)}, part ${part}: ${r.passed} passed (${r.gradients} with gradients, ${r.inPlace} in place), ${r.failed} failed, ${r.missing} missing, ${r.outOfScope} out of scope`,
      );
    });
  }
}
