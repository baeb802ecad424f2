import { expect, it } from "vitest";
import { run } from "./run.ts";

it("the kernel agrees with its composition, and its gradient with finite differences", async () => {
  const { difference, gradient, microseconds } = await run<{ difference: number; gradient: boolean; microseconds: Record<string, number> }>(
    "custom-kernel",
    ["--rows", "33", "--width", "17", "--calls", "3"],
  );
  expect(difference).toBeLessThan(1e-6);
  expect(gradient).toBe(true);
  expect(Object.keys(microseconds)).toEqual(["composition", "kernel", "compiled"]);
  for (const time of Object.values(microseconds)) expect(time).toBeGreaterThan(0);
});
