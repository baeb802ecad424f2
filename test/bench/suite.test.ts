/** The decision whether a build is slower, and the comparison of peers' results. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { digestOf, distance, uniform, whole } from "../../bench/suite/data.ts";
import { ratioOf } from "../../bench/suite/history.ts";
import { pageOf } from "../../bench/suite/page.ts";
import { verdictOf } from "../../bench/suite/verdict.ts";
import { WORKLOADS } from "../../bench/suite/workloads.ts";

/** Nine rounds of a machine whose speed drifts by `drift` and whose single rounds differ by `noise`. */
function roundsOf(seed: number, factor: number, noise: number): number[][] {
  const values = uniform(seed, 36);
  return [0, 1, 2].map((process) =>
    Array.from({ length: 9 }, (_, i) => (1 + 0.3 * values[i]!) * (1 + noise * values[9 + 9 * process + i]!) * (process === 1 ? factor : 1)),
  );
}

describe("npm run bench -- --check", () => {
  it("takes no noise and no drift for a regression", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.double({ min: 0, max: 0.2, noNaN: true }), (seed, noise) => {
        const [base, now, again] = roundsOf(seed, 1, noise);
        expect(verdictOf(base!, now!, again!).isSlower).toBe(false);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  it("finds what is a quarter slower through the same noise", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.double({ min: 0, max: 0.1, noNaN: true }), (seed, noise) => {
        const [base, now, again] = roundsOf(seed, 1.25, noise);
        const verdict = verdictOf(base!, now!, again!);
        expect(verdict.isSlower).toBe(true);
        expect(verdict.ratio).toBeCloseTo(1.25, 0);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  it("calls nothing slower that is faster", () => {
    const [base, now, again] = roundsOf(3, 0.5, 0.05);
    expect(verdictOf(base!, now!, again!)).toMatchObject({ isSlower: false });
  });
});

describe("workloads", () => {
  it("have names of their own, and work", () => {
    expect(new Set(WORKLOADS.map((w) => w.name)).size).toBe(WORKLOADS.length);
    expect(WORKLOADS.every((w) => w.work > 0)).toBe(true);
    const resnet = WORKLOADS.find((w) => w.name.startsWith("ResNet-50"))!.what;
    if (resnet.kind !== "net") throw new Error("ResNet-50 is no net");
    expect(resnet.nodes.filter((n) => n.op === "conv")).toHaveLength(53);
  });

  it("give every peer the same data", () => {
    // The same as numpy's, of pytorch.py.
    expect([...uniform(1, 3, 2, 0.5)].map((v) => Number(v.toFixed(6)))).toEqual([1.433313, 0.680493, 1.05595]);
    expect([...whole(2, 4, 10)]).toEqual([5, 7, 1, 8]);
  });

  it("tell results apart", () => {
    const right = digestOf([1, 2, 3, 4]);
    expect(distance(digestOf([1, 2, 3, 4.000001]), right)).toBeLessThan(1e-6);
    expect(distance(digestOf([1, 2, 3, 5]), right)).toBeGreaterThan(0.1);
    expect(distance(digestOf([1, 2, 3]), right)).toBe(Infinity);
    expect(distance(digestOf([1, NaN, 3, 4]), right) <= 1).toBe(false);
  });
});

describe("the history's page", () => {
  const row = {
    name: "add <1>",
    group: "g",
    unit: "GB/s",
    resident: {},
    disagreeing: ["PyTorch"],
    values: { "dxtensor eager": 2, PyTorch: 4 },
  };
  const run = { date: "2026-01-02T03:04:05Z", commit: "0123456789", machine: "m & n", device: "cpu", rows: [row] };

  it("has a chart for each workload, and says what is behind and what computed something else", () => {
    expect(ratioOf(row)).toBe(0.5);
    expect(ratioOf({ ...row, values: { "dxtensor eager": 2 } })).toBeNull();
    const page = pageOf([run, run]);
    expect(page).toContain("add &lt;1&gt;");
    expect(page).toContain("m &amp; n");
    expect(page).toContain("1 of 1 rows are behind");
    expect(page).toContain("another result");
    expect(page).not.toContain("add <1>");
  });

  it("shows the last figures of each workload of the last run's machine, whichever run they are from", () => {
    const other = { ...run, date: "2026-01-03T00:00:00.000Z", commit: "cccccccc", rows: [{ ...row, name: "other" }] };
    const page = pageOf([{ ...run, machine: "another" }, run, other]);
    expect(page).toContain("2 runs, the last one 2026-01-03 00:00 ccccccc; 1 of other machines or devices are not shown");
    expect(page).toContain("2 of 2 rows are behind");
    expect(page.match(/class=moment>2026-01-03 00:00 ccccccc</g)).toHaveLength(1);
  });
});
