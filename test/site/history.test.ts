/** Performance history: the checks of the file's lines, and the charts. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Run } from "../../bench/suite/history.ts";
import { chartOf, historyPage, ratiosOf, readHistory, seriesOf } from "../../scripts/site/history.ts";

const runs = readHistory();
const run = (date: string, commit: string, values: Readonly<Record<string, number>>): Run => ({
  date: `${date}T00:00:00.000Z`,
  commit,
  machine: "a <machine>",
  device: "cpu",
  version: "1.2.3",
  rows: [{ name: "matmul", group: "matmul", unit: "GFLOP/s", values, resident: {}, disagreeing: [] }],
});
const two = [
  run("2026-01-01", "aaaaaaa1", { "dxtensor eager": 50, "dxtensor compiled": 80, Peer: 100, Slower: 25 }),
  run("2026-02-01", "bbbbbbb2", { "dxtensor eager": 150, Peer: 100 }),
];

it("the repository's runs name their commit, their machine and where they are from, and are in the order of the dates", () => {
  expect(runs.length).toBeGreaterThanOrEqual(3);
  const dates = readFileSync("docs/benchmarks/history.jsonl", "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as Run).date);
  // A line that is appended later is of a later run.
  expect(dates).toEqual(dates.toSorted());
  for (const { commit, machine, version, rows } of runs) {
    expect(commit).toMatch(/^[0-9a-f]{40}$/);
    expect([machine === "", version === undefined, rows.length]).toEqual([false, false, expect.any(Number)]);
  }
});

it("those of the H100 are the figures of its report", () => {
  const report = JSON.parse(readFileSync("docs/gpu/h100.json", "utf8")) as {
    date: string;
    parts: { bench: { figures: { kernels: { name: string; value: number }[]; steps: { name: string; compiled: { ms: number } }[] } } };
  };
  const { rows } = runs.find((one) => one.date === report.date)!;
  const { kernels, steps } = report.parts.bench.figures;
  const gemm = kernels.find((k) => k.name === "gemm float32 8192")!;
  expect(rows.find((row) => row.name === gemm.name)!.values["dxtensor eager"]).toBeCloseTo(gemm.value, 1);
  const resnet = steps.find((s) => s.name === "resnet")!;
  expect(rows.find((row) => row.name === "training step, resnet")!.values["dxtensor compiled"]).toBeCloseTo(1000 / resnet.compiled.ms, 0);
});

it.each([
  ["no date", { date: "soon" }, "soon is no date"],
  ["no commit", { commit: "unknown" }, "unknown is no commit"],
  ["a source that is not there", { source: "docs/none.md" }, "docs/none.md is not there"],
  ["a line without rows", { rows: undefined }, "rows"],
])("refuses %s", (_, change, message) => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-history-"));
  try {
    const file = join(folder, "history.jsonl");
    writeFileSync(file, `${JSON.stringify(two[0])}\n${JSON.stringify({ ...two[1], ...change })}\n`);
    expect(() => readHistory(file)).toThrow(message);
    expect(() => readHistory(file)).toThrow("history.jsonl:2");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("ratios are to the best peer, not to our own other form", () => {
  expect(ratiosOf(two[0]!.rows[0]!)).toEqual({ "dxtensor eager": 0.5, "dxtensor compiled": 0.8, Peer: 1, Slower: 0.25 });
});

it("a chart has a title, a line for each peer, and a point for each figure that leads to its run", () => {
  const points = seriesOf(two).get("matmul")!;
  const chart = chartOf("matmul", points, ["dxtensor eager", "dxtensor compiled", "Peer", "Slower"]);
  expect(chart).toContain('aria-label="matmul: speed as a ratio to the best peer, over 2 runs"');
  expect(chart.match(/<circle/g)).toHaveLength(6);
  // A peer of one run has a point and no line.
  expect(chart.match(/<polyline/g)).toHaveLength(2);
  expect(chart.match(/<a href="#run-20260101000000-aaaaaaa"/g)).toHaveLength(4);
  expect(chart).toContain("dxtensor eager: 1.50 of the best peer; 2026-02-01, dxtensor 1.2.3, commit bbbbbbb, a &lt;machine&gt;");
  const y = [...chart.matchAll(/cy="([\d.]+)"/g)].map(([, value]) => Number(value));
  // Higher is faster: 0.5, 1.5 of eager.
  expect(y[1]!).toBeLessThan(y[0]!);
  expect(Math.min(...y)).toBeGreaterThan(0);
});

it("the page has a table next to each chart, a row for each run, and links commits where the repository has an address", () => {
  const page = historyPage(two, "https://example.org/dxtensor");
  expect(page).toContain("## a &lt;machine&gt;, device cpu");
  expect(page.match(/<svg/g)).toHaveLength(1);
  expect(page).toContain("<td>50</td><td>80</td><td>100</td><td>25</td><td>0.80</td>");
  expect(page).toContain('<tr id="run-20260201000000-bbbbbbb">');
  expect(page).toContain('href="https://example.org/dxtensor/commit/bbbbbbb2"');
  expect(historyPage(two, null)).not.toContain("https://");
});
