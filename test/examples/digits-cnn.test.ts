import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

it("the digits' network learns from 2,000 of them to read four of five of 10,000 others", async () => {
  const { accuracy, firstLoss, lastLoss } = await run<{ accuracy: number; firstLoss: number; lastLoss: number }>("digits-cnn", [
    "--limit",
    "2000",
    "--epochs",
    "2",
    "--goal",
    "0.8",
  ]);
  expect(accuracy).toBeGreaterThan(0.8);
  expect(lastLoss).toBeLessThan(firstLoss);
});

it("a goal that is missed is an error, and so is a batch larger than the data", async () => {
  const missed = await raw("digits-cnn", ["--device", "cpu", "--limit", "128", "--epochs", "1", "--json"]);
  expect(missed.exitCode).toBe(1);
  expect(missed.stdout).toMatch(/"error":\{"name":"ExampleError","message":"The goal of 99\.0 % was missed: /);
  const few = await raw("digits-cnn", ["--device", "cpu", "--limit", "100"]);
  expect([few.exitCode, few.stderr]).toEqual([1, "A batch of 128 is more than the 100 digits there are."]);
});
