/**
 * PyTorch's bfloat16 results on the CPU (bfloat16/record.py), as tests: nearly all are equal bit by bit, the rest within a unit of the last place.
 * A file for each mode, since on a GPU each form of an operation is a shader to compile.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { clean, devices, isMicrosoft } from "../device.ts";
import { readCases, readIndex } from "./cases.ts";
import { bfloat16Differences } from "./differences.ts";
import { goldenFolder } from "./folder.ts";
import { bfloat16Counts, nameOf } from "./operations.ts";
import { runFolder } from "./report.ts";
import type { Mode } from "./run.ts";
import { microsoft } from "./scope.ts";
import { goldenParts } from "./suite.ts";

const folder = join(goldenFolder, "bfloat16");
/** Bundled for another machine the tests travel without the documentation. */
const table = join(goldenFolder, "..", "..", "docs", "operators.json");
interface Table {
  readonly families: readonly { readonly operations: readonly { readonly name: string; readonly bfloat16?: number }[] }[];
}

export const bfloat16Cases = readIndex(folder).flatMap(({ file }) => readCases(join(folder, file)));
export const bfloat16Known: ReadonlySet<string> = new Set(bfloat16Differences.flatMap((d) => d.ids));

/** Test files for each mode: one that compiles every form for a GPU takes too long for a file's limit there (docs/gpu.md). */
const PARTS = 3;
const parts = goldenParts(folder, PARTS).map((entries) => new Set(entries.map(({ op }) => op)));

/** Declares a test of a part, from 1, for each device. */
export function bfloat16Tests(mode: Mode, part: number): void {
  const isHere = (op: string): boolean => parts[part - 1]!.has(op);
  const known = new Set(bfloat16Cases.filter((c) => bfloat16Known.has(c.id) && isHere(c.op)).map((c) => c.id));
  for (const device of devices)
    test(`recorded in bfloat16, part ${part}, on ${device}, ${JSON.stringify(mode)}`, async () => {
      await clean(
        device,
        () => {
          const elsewhere = new Set(
            isMicrosoft(device) ? bfloat16Cases.filter((c) => microsoft.some((m) => m.applies(c))).map((c) => c.id) : [],
          );
          const outcomes = runFolder(folder, mode, { ops: isHere }).filter((o) => !elsewhere.has(o.id));
          const failed = outcomes.filter((o) => o.result === "failed" || o.result === "missing");
          expect(failed.filter((o) => !known.has(o.id)).map((o) => `${o.id}: ${o.reason}`)).toEqual([]);
          if (device === "cpu" && Object.keys(mode).length === 0 && existsSync(table)) {
            const rows = (JSON.parse(readFileSync(table, "utf8")) as Table).families.flatMap((f) => f.operations);
            const here = new Set([...parts[part - 1]!].map(nameOf));
            const names = new Set(rows.map((o) => o.name).filter((name) => here.has(name)));
            const listed = Object.fromEntries(
              rows.flatMap((o) => (o.bfloat16 === undefined || !names.has(o.name) ? [] : [[o.name, o.bfloat16]])),
            );
            // npm run operators updates it.
            expect(listed).toEqual(Object.fromEntries(Object.entries(bfloat16Counts(outcomes)).filter(([name]) => names.has(name))));
          }
          if (!isMicrosoft(device)) expect(failed.map((o) => o.id).toSorted()).toEqual([...known].toSorted());
        },
        { collect: true },
      );
    }, 300_000);
}
