import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

interface Result {
  readonly accuracy: number;
  readonly chances: Readonly<Record<string, number>>;
  readonly curve: readonly { readonly loss: number }[];
}

it("reads negated reviews too, where single words are right in half of the cases", async () => {
  const { accuracy, chances, curve } = await run<Result>("text", ["--reviews", "2000", "--epochs", "8", "--batch", "32", "--goal", "0.85"]);
  expect(accuracy).toBeGreaterThan(0.85);
  expect(chances["The cast was great"]).toBeGreaterThan(0.5);
  expect(chances["The cast was never great"]).toBeLessThan(0.5);
  expect(curve.at(-1)!.loss).toBeLessThan(curve[0]!.loss / 2);
});

it("a width that the heads do not divide is an error", async () => {
  const { exitCode, stdout } = await raw("text", ["--device", "cpu", "--width", "30", "--json"]);
  expect(exitCode).toBe(1);
  expect(stdout).toContain('"message":"The width must be a multiple of 4');
});
