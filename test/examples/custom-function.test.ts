import { expect, it } from "vitest";
import { run } from "./run.ts";

it("a network of weights -1 and 1 learns", async () => {
  const { accuracy, values, firstLoss, lastLoss } = await run<{ accuracy: number; values: number[]; firstLoss: number; lastLoss: number }>(
    "custom-function",
    ["--steps", "200", "--goal", "0.85"],
  );
  expect(values).toEqual([-1, 1]);
  expect(accuracy).toBeGreaterThan(0.85);
  expect(lastLoss).toBeLessThan(firstLoss / 2);
});
