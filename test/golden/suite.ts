/** The recorded cases of this folder as tests: one for each operation, on each device, in one mode. */
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { clean, devices, isMicrosoft } from "../device.ts";
import { readIndex, readCases } from "./cases.ts";
import { differences } from "./differences.ts";
import { goldenFolder } from "./folder.ts";
import { reportOf } from "./report.ts";
import { runCase, type Mode, type Outcome } from "./run.ts";
import { microsoft } from "./scope.ts";


/** Declares the tests. least: cases that pass at least, so that none goes missing in silence. */
export function goldenTests(mode: Mode, least: number): void {
  const known = new Set(differences.flatMap((d) => d.ids));
  for (const device of devices) {
    const all: Outcome[] = [];
    const elsewhere = isMicrosoft(device) ? microsoft : [];
    describe(`golden cases on ${device}`, () => {
      for (const { op, file } of readIndex(goldenFolder)) {
        test(op, async () => {
          await clean(
            device,
            () => {
              const cases = readCases(join(goldenFolder, file)).filter((c) => !elsewhere.some((e) => e.applies(c)));
              const names = cases.reduce<readonly string[]>((best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best), []);
              const outcomes = cases.map((c) => runCase(c, names, mode, device));
              all.push(...outcomes);
              expect(outcomes.filter((o) => o.result === "failed" && !known.has(o.id))).toEqual([]);
              // A case that passes everywhere is no difference: it leaves the list.
              if (mode.compiled !== true && !isMicrosoft(device)) expect(outcomes.filter((o) => o.result === "passed" && known.has(o.id)).map((o) => o.id)).toEqual([]);
            },
            { collect: true },
          );
        });
      }
      test("counts", () => {
        expect(all.filter((o) => o.result === "passed").length).toBeGreaterThanOrEqual(least);
      });
    });
    afterAll(() => {
      const r = reportOf(all, mode);
      console.log(`golden on ${device} ${JSON.stringify(mode)}: ${r.passed} passed (${r.gradients} with gradients, ${r.inPlace} in place), ${r.failed} failed, ${r.missing} missing, ${r.outOfScope} out of scope`);
    });
  }
}
