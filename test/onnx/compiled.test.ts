/** ONNX's own node tests by the third call of a compiled function: the operators themselves, without their expanded forms. */
import { describe, expect, test } from "vitest";
import { clean, devices } from "../device.ts";
import { archive, readCases, type Case } from "./cases.ts";
import { differences } from "./differences.ts";
import { runCase } from "./run.ts";

const known = new Set(differences.flatMap((d) => d.ids));
const cases = readCases(archive).filter((c) => !c.name.includes("_expanded"));
const groupOf = (c: Case): string => c.name.split("_")[1]!;
const groups = [...new Set(cases.map(groupOf))].toSorted();

describe.each(devices)("ONNX's node tests, compiled, on %s", (device) => {
  test.each(groups)("%s", (group) =>
    clean(
      device,
      () => {
        const outcomes = cases.filter((c) => groupOf(c) === group).map((c) => runCase(c, device, { compiled: true }));
        expect(outcomes.filter((o) => o.result === "failed" && !known.has(o.id))).toEqual([]);
      },
      { collect: true },
    ),
  );
});
