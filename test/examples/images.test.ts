import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

interface Result {
  readonly classes: readonly string[];
  readonly accuracy: number;
  readonly confusion: readonly (readonly number[])[];
  readonly curve: readonly { readonly loss: number }[];
}

it("tells shapes from each other, and its counts agree with each other", async () => {
  const size = ["--images", "32", "--size", "16", "--batch", "16", "--epochs", "5", "--workers", "1"];
  const { classes, accuracy, confusion, curve } = await run<Result>("images", [...size, "--goal", "0.4"]);
  expect(classes).toEqual(["circle", "cross", "ring", "square"]);
  expect(confusion.map((row) => row.reduce((sum, count) => sum + count, 0))).toEqual([8, 8, 8, 8]);
  expect(accuracy).toBeCloseTo(confusion.reduce((sum, row, i) => sum + row[i]!, 0) / 32, 6);
  expect(accuracy).toBeGreaterThan(0.4); // one in four is chance
  expect(curve.at(-1)!.loss).toBeLessThan(curve[0]!.loss);
});

it("a folder without images is a typed error", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-no-images-"));
  try {
    await mkdir(join(folder, "train", "empty"), { recursive: true });
    await mkdir(join(folder, "test"));
    const { exitCode, stdout } = await raw("images", ["--device", "cpu", "--folder", folder, "--json"]);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^\{"error":\{"name":"\w+Error","message":"imageFolder/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
