import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { kill, start } from "./run.ts";

interface Loss {
  readonly step: number;
  readonly loss: number;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-resume-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const STEPS = 500;
const begin = (name: string) => start("resume", ["--steps", String(STEPS), "--every", "10", "--folder", join(folder, name)]);

/** All losses until the process ends, or until it is killed: after the twelfth, while it continues. */
async function losses({ child, line }: ReturnType<typeof begin>, isKilled: boolean): Promise<Loss[]> {
  const all: Loss[] = [];
  do all.push((await line()) as Loss);
  while (all.at(-1)!.step < STEPS && !(isKilled && all.length === 12));
  if (isKilled) await kill(child);
  const { exitCode, signal } = await child;
  expect([exitCode, signal]).toEqual(isKilled ? [undefined, "SIGKILL"] : [0, undefined]);
  return all;
}

it("killed twice and started again, it continues with the very same losses", async () => {
  const whole = await losses(begin("whole"), false);
  expect(whole.map((l) => l.step)).toEqual(Array.from({ length: STEPS }, (_, i) => i + 1));
  expect(whole.at(-1)!.loss).toBeLessThan(whole[0]!.loss / 2);

  const parts = [await losses(begin("killed"), true), await losses(begin("killed"), true), await losses(begin("killed"), false)];
  for (const [i, part] of parts.entries()) {
    const { step } = part[0]!;
    expect(part).toEqual(whole.slice(step - 1, step - 1 + part.length));
    // It begins right behind a checkpoint: the one before the kill, or one that was written until the kill came.
    expect(step % 10).toBe(1);
    expect(step).toBeGreaterThan(i === 0 ? 0 : parts[i - 1]![0]!.step);
  }
  expect(parts[0]![0]!.step).toBe(1);
});
