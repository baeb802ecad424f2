/** The levels of devices, from counts of reports: scripts/conformance/criteria.ts. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CRITERIA, levelOf, missing } from "../../scripts/conformance/criteria.ts";
import type { SetResult } from "../../scripts/conformance/schema.ts";
import { SETS } from "../../scripts/conformance/sets.ts";

const result = (name: SetResult["name"], passed: number, failed = 0, isComplete = true): SetResult => ({
  name,
  files: 1,
  ofFiles: 1,
  passed,
  failed,
  skipped: 0,
  seconds: 1,
  isComplete,
});
const whole = (changes: Partial<Record<SetResult["name"], SetResult>> = {}): { sets: SetResult[] } => ({
  sets: SETS.map(({ name }) => changes[name] ?? result(name, 1000)),
});

describe("levels", () => {
  it.each([
    [whole(), "stable"],
    [whole({ operators: result("operators", 995, 5) }), "stable"],
    [whole({ operators: result("operators", 994, 6) }), "preview"],
    [whole({ operators: result("operators", 899, 101) }), "listed"],
    [whole({ "must-pass": result("must-pass", 999, 1) }), "preview"],
    [whole({ "must-pass": result("must-pass", 989, 11) }), "listed"],
    [whole({ "must-pass": result("must-pass", 799, 201) }), null],
    [whole({ stress: result("stress", 999, 1) }), "preview"],
    [whole({ models: result("models", 1, 1) }), "listed"],
    [whole({ "must-pass": result("must-pass", 1000, 0, false) }), null],
    [whole({ "must-pass": result("must-pass", 0) }), null],
    [whole({ operators: { ...result("operators", 900), skipped: 101 } }), "listed"],
    [whole({ operators: { ...result("operators", 900), skipped: 100 } }), "stable"],
    [{ sets: [result("must-pass", 1000)] }, "listed"],
    [{ sets: [] }, null],
  ])("%#", (report, level) => {
    expect(levelOf(report)).toBe(level);
  });

  it("say what lacks", () => {
    const [stable] = CRITERIA;
    expect(missing(stable!, { sets: [result("must-pass", 999, 1), result("operators", 5, 0, false), result("models", 3)] })).toEqual([
      "must-pass: 99.90 % of 1000 pass, 100 % are required",
      "operators was not run to its end",
      "stress was not run",
    ]);
  });

  it("are in the documentation as they are here", () => {
    const page = readFileSync("docs/conformance.md", "utf8");
    for (const { level, rates } of CRITERIA) {
      const row = page.split("\n").find((line) => line.startsWith(`| ${level} |`));
      const cells = SETS.map(({ name }) => (rates[name] === undefined ? "" : `${rates[name] * 100} %`));
      expect(
        row
          ?.split("|")
          .slice(2, -1)
          .map((cell) => cell.trim()),
      ).toEqual(cells);
    }
    for (const { name, about } of SETS) expect(page).toContain(`| ${name} | ${about} |`);
  });
});
