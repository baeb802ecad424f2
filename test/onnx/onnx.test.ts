/** ONNX's own node tests through the importer: one test for each group of cases, on each device. */
import { afterAll, describe, expect, test } from "vitest";
import { namesOfFamilies } from "../../src/onnx/operators/index.ts";
import { operatorNames } from "../../src/onnx/operators/names.ts";
import { clean, devices, isMicrosoft } from "../device.ts";
import { archive, hashOf, readCases, type Case } from "./cases.ts";
import { differences } from "./differences.ts";
import { reportOf } from "./report.ts";
import { runCase, type Outcome } from "./run.ts";

const cases = readCases(archive);

/** Cases that pass at least on each device, so that none goes missing in silence. */
const minPassed = (device: string): number => (isMicrosoft(device) ? 755 : 870);

/** "test_cast_FLOAT_to_INT8" belongs to "cast". */
const groupOf = (c: Case): string => c.name.split("_")[1]!;

const groups = [...new Set(cases.map(groupOf))].toSorted();

for (const device of devices) {
  const all: Outcome[] = [];
  const known = new Set(differences.filter((d) => d.microsoft !== true || isMicrosoft(device)).flatMap((d) => d.ids));
  describe(`ONNX's node tests on ${device}`, () => {
    for (const group of groups)
      test(group, async () => {
        await clean(
          device,
          () => {
            const outcomes = cases.filter((c) => groupOf(c) === group).map((c) => runCase(c, device));
            all.push(...outcomes);
            expect(outcomes.filter((o) => o.result === "failed" && !known.has(o.id)).map((o) => `${o.id}: ${o.reason}`)).toEqual([]);
          },
          { collect: true },
        );
      });
    test("counts", () => {
      expect(all.filter((o) => o.result === "passed").length).toBeGreaterThanOrEqual(minPassed(device));
      // A case that passes here is no difference: it leaves the list.
      if (device === "cpu") expect(all.filter((o) => o.result === "passed" && known.has(o.id)).map((o) => o.id)).toEqual([]);
    });
  });
  afterAll(() => {
    const r = reportOf(all, device);
    console.log(`onnx on ${device}: ${r.passed} passed, ${r.failed} failed, ${r.missing} missing, ${r.outOfScope} out of scope`);
  });
}

test("the names of operators are those of the families", () => {
  expect(operatorNames()).toEqual(namesOfFamilies());
});

test("the archive holds the cases whose names hash to even numbers", () => {
  expect(cases.length).toBe(912);
  expect(cases.every((c) => hashOf(c.name) % 2 === 0)).toBe(true);
  const names = new Set(cases.map((c) => c.name));
  expect(names.size).toBe(cases.length);
  expect(differences.flatMap((d) => d.ids).filter((id) => !names.has(id))).toEqual([]);
});
