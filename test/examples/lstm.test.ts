import { expect, it } from "vitest";
import { run } from "./run.ts";

it("adds two marked numbers of eight better than saying 1 (0.167) by far", async () => {
  const { error, lastLoss } = await run<{ error: number; lastLoss: number }>("lstm", ["--length", "8", "--steps", "250", "--goal", "0.05"]);
  expect(error).toBeLessThan(0.05);
  expect(lastLoss).toBeLessThan(0.06);
});
