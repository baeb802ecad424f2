import { expect, it } from "vitest";
import { run } from "./run.ts";

interface Result {
  readonly kinds: readonly string[];
  readonly accuracy: number;
  readonly recall: readonly number[];
  readonly curve: readonly { readonly loss: number }[];
}

it("tells kinds of sound from each other, and its metrics agree with each other", async () => {
  const { kinds, accuracy, recall, curve } = await run<Result>("audio", [
    "--sounds",
    "24",
    "--batch",
    "12",
    "--epochs",
    "6",
    "--goal",
    "0.6",
  ]);
  expect(kinds).toEqual(["beeps", "falling", "rising", "steady", "trill"]);
  expect(recall).toHaveLength(5);
  expect(accuracy).toBeCloseTo(recall.reduce((sum, share) => sum + share, 0) / 5, 6); // as many of each kind
  expect(accuracy).toBeGreaterThan(0.6); // one in five is chance
  expect(curve.at(-1)!.loss).toBeLessThan(curve[0]!.loss);
});
