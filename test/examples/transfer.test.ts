import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

interface Result {
  readonly firstLoss: number;
  readonly lastLoss: number;
  readonly accuracy: number;
  readonly difference: number;
}

it("a new head tells even digits, and the ONNX file gives the same logits", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-transfer-"));
  try {
    const out = join(folder, "parity.onnx");
    const small = ["--pictures", "400", "--pretrain", "80", "--steps", "80", "--batch", "16", "--goal", "0", "--out", out];
    const { firstLoss, lastLoss, accuracy, difference } = await run<Result>("transfer", small);
    expect(lastLoss).toBeLessThan(firstLoss);
    expect(accuracy).toBeGreaterThan(0.6); // half is chance
    expect(difference).toBeLessThan(1e-4);
    expect((await stat(out)).size).toBeGreaterThan(100_000);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("weights that are not there are refused in words", async () => {
  const { exitCode, stderr } = await raw("transfer", ["--device", "cpu", "--pictures", "40", "--model", "nowhere.pth"]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^The weights can't be read: .*nowhere\.pth/);
});
