import { expect, it } from "vitest";
import { allReduceSeconds, bestAlgorithm, efficiency, fitLink, shareOf, type Link } from "../../bench/distributed/cost-model.ts";
import { costPage, sizeText } from "../../bench/distributed/cost-page.ts";

const link: Link = { latency: 20e-6, bandwidth: 2e9, reduction: 8e9 };

it("a ring and a tree cost what their messages do", () => {
  // Two ranks: two messages of half of the bytes, and one half added.
  expect(allReduceSeconds("ring", 2, 8e6, link)).toBeCloseTo(2 * (20e-6 + 4e6 / 2e9) + 4e6 / 8e9, 12);
  expect(allReduceSeconds("tree", 8, 8e6, link)).toBeCloseTo(3 * (2 * (20e-6 + 8e6 / 2e9) + 8e6 / 8e9), 12);
  expect(allReduceSeconds("ring", 1, 8e6, link)).toBe(0);
  // Many ranks: a ring's time of long messages has a limit, a tree's grows with the logarithm.
  expect(allReduceSeconds("ring", 1024, 1e9, link)).toBeLessThan(1.1 * (2e9 / 2e9 + 1e9 / 8e9));
  expect([bestAlgorithm(1024, 1024, link), bestAlgorithm(1024, 1e9, link)]).toEqual(["tree", "ring"]);
});

it("finds the link that times came from, with noise nearly, and predicts more ranks from two", () => {
  const sizes = [4096, 65_536, 2 ** 20, 2 ** 24];
  const times = (ranks: number, noise = 0) =>
    sizes.map((bytes, i) => ({
      ranks,
      bytes,
      seconds: allReduceSeconds("ring", ranks, bytes, link, shareOf(ranks, 2)) * (1 + (i % 2 === 0 ? noise : -noise)),
    }));
  const exact = fitLink(times(2), link.reduction, 2);
  expect([exact.latency / link.latency, exact.bandwidth / link.bandwidth].map((r) => Number(r.toFixed(6)))).toEqual([1, 1]);
  const near = fitLink(times(2, 0.05), link.reduction, 2);
  for (const { ranks, bytes, seconds } of times(4)) {
    expect(allReduceSeconds("ring", ranks, bytes, exact, shareOf(ranks, 2)) / seconds).toBeCloseTo(1, 6);
    expect(Math.abs(allReduceSeconds("ring", ranks, bytes, near, shareOf(ranks, 2)) / seconds - 1)).toBeLessThan(0.15);
  }
  expect(() => fitLink(times(2).slice(0, 1), link.reduction, 2)).toThrow(RangeError);
  expect([efficiency(0.1, 0.05, 0.06), efficiency(0.1, 0.16, 0.06)]).toEqual([1, 0.5]);
});

it("shows it as a page with a picture", () => {
  const predictions = [8, 1024].flatMap((ranks) =>
    [65_536, 2 ** 20].map((bytes) => ({ ranks, bytes, ring: 1e-3 * ranks, tree: 2e-3 * ranks, best: "ring", efficiency: 1 })),
  );
  const compared = [{ ranks: 2, bytes: 65_536, measured: 1e-3, predicted: 1.1e-3, ratio: 1.1 }];
  const step = { seconds: 0.1, hidden: 0.06 };
  const page = costPage({ processor: "a <processor>", cores: 2, estimated: link, compared, link, step, predictions });
  expect(page.match(/<polyline/g)?.length).toBe(4);
  expect(page).toContain("a &lt;processor>");
  expect(page).not.toMatch(/NaN|Infinity|undefined/);
  expect([sizeText(65_536), sizeText(25 * 2 ** 20)]).toEqual(["64 KiB", "25 MiB"]);
});
