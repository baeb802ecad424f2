/** The soak's verdict: steady growth is reported, fluctuation and short runs are not. */
import { describe, expect, it } from "vitest";
import { growthOf, verdictOf } from "../scripts/soak/verdict.ts";

interface Sample {
  readonly seconds: number;
  readonly rss: number;
  readonly heap: number;
  readonly pooled: number;
  readonly program: number;
  readonly liveBuffers: number;
  readonly counts: { readonly asked: number; readonly answered: number; readonly wrong: number };
}

const counts = { asked: 10, answered: 10, wrong: 0 };
/** 60 samples of a run of so many seconds; `at` says how far it has come, 0 to 1. */
const run = (seconds: number, rss: (at: number) => number, others: Partial<Sample> = {}): Sample[] =>
  Array.from({ length: 60 }, (_, i) => ({
    seconds: (seconds * (i + 1)) / 60,
    rss: rss((i + 1) / 60),
    heap: 30,
    pooled: 16,
    program: 1,
    liveBuffers: 190,
    counts,
    ...others,
  }));
const ended = { code: 0, signal: null };
/** Any numbers from -1 to 1. */
const noise = (at: number): number => Math.sin(at * 9301) * Math.cos(at * 49297);

describe("the verdict of a soak", () => {
  it("finds nothing in a flat run, however it breathes", () => {
    expect(
      verdictOf(
        run(1800, (at) => 800 + 40 * noise(at)),
        ended,
      ),
    ).toMatchObject({ problems: [], unjudged: [] });
    // A single dear sample at either end is no growth.
    expect(
      verdictOf(
        run(1800, (at) => (at > 0.98 ? 2000 : 800)),
        ended,
      ).problems,
    ).toEqual([]);
  });

  it("lets a run warm up", () => {
    expect(
      verdictOf(
        run(1800, (at) => 900 - 500 * Math.exp(-at * 12)),
        ended,
      ).problems,
    ).toEqual([]);
  });

  it("finds what grows without end, slowly too", () => {
    const leak = verdictOf(
      run(1800, (at) => 400 + 300 * at + 20 * noise(at)),
      ended,
    );
    expect(leak.problems).toEqual([expect.stringMatching(/^rss grew from \d+(\.\d+)? to \d+(\.\d+)? MiB, by \d/)]);
    expect(leak.growth.rss!.perHour).toBeGreaterThan(500);
    expect(leak.growth.rss!.perHour).toBeLessThan(700);
  });

  it("says of a short run that it is too short, instead of passing or failing it", () => {
    const short = verdictOf(
      run(36, (at) => 400 + 400 * at),
      ended,
    );
    expect(short).toMatchObject({ problems: [], unjudged: ["rss", "heap"] });
    expect(verdictOf(run(36, () => 400).slice(0, 5), ended).unjudged).toEqual(["rss", "heap", "pooled", "program", "liveBuffers"]);
  });

  it("counts buffers and the pool in short runs too", () => {
    const samples = run(36, () => 400).map((s, i) => ({ ...s, liveBuffers: 190 + 10 * i }));
    expect(verdictOf(samples, ended).problems).toEqual([expect.stringContaining("liveBuffers grew")]);
    expect(growthOf(samples, "pooled").isFlat).toBe(true);
  });

  it("compares the peaks of the pool, which swings with every act", () => {
    const swinging = (peak: (i: number) => number) =>
      run(1800, () => 400).map((s, i, all) => ({ ...s, pooled: i % 7 === 0 || i > all.length - 9 ? peak(i) : 32 }));
    expect(
      verdictOf(
        swinging(() => 305),
        ended,
      ).problems,
    ).toEqual([]);
    const leak = verdictOf(
      swinging((i) => 200 + 5 * i),
      ended,
    );
    expect(leak.problems).toEqual([expect.stringMatching(/^pooled grew from \d+ to 495 MiB, by \d/)]);
  });

  it("tells results that are wrong or lost, and how the process ended", () => {
    const bad = run(1800, () => 400, { counts: { asked: 12, answered: 10, wrong: 3 } });
    expect(verdictOf(bad, { code: null, signal: "SIGSEGV" }).problems).toEqual([
      "the process ended with SIGSEGV",
      "3 results were wrong",
      "2 of 12 results were lost",
    ]);
    expect(verdictOf([], ended).problems).toEqual(["nothing was counted"]);
  });
});
