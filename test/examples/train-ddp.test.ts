import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { run } from "./run.ts";

interface Learned {
  readonly rank: number;
  readonly size: number;
  readonly loss: number;
  readonly right: number;
  readonly weights: number;
}

const options = ["--points", "300", "--epochs", "30", "--goal", "0.8"];

it("learns the spirals alone", async () => {
  const { rank, size, loss, right } = await run<Learned>("train-ddp", options);
  expect([rank, size]).toEqual([0, 1]);
  expect(loss).toBeLessThan(0.6);
  expect(right).toBeGreaterThan(0.8);
});

/** `npm run distributed` builds the engine, and sets the variable. */
const hasEngine = process.env.DXTENSOR_GLOO_TESTS === "1";

it.skipIf(!hasEngine)("learns them with two ranks, whose weights stay equal (npm run distributed)", () => {
  const args = ["launch", "-n", "2", "build/examples/train-ddp/main.js", "--", "--device", "cpu", "--json", ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, ["dist/bundle/cli.js", ...args], { encoding: "utf8" });
  expect([status, stderr]).toEqual([0, ""]);
  const ranks = [...stdout.matchAll(/^\[[01]\] (\{.*)$/gm)].map(([, line]) => JSON.parse(line!) as Learned);
  expect(new Set(ranks.map(({ rank, size }) => `${rank} of ${size}`))).toEqual(new Set(["0 of 2", "1 of 2"]));
  expect(ranks[0]!.weights).toBe(ranks[1]!.weights);
  expect(ranks[0]!.loss).toBe(ranks[1]!.loss);
  for (const { right } of ranks) expect(right).toBeGreaterThan(0.8);
});
