/**
 * Processes that are killed while they train and save: the last complete checkpoint is there, and a run that resumes from it equals the uninterrupted one, to
 * the last bit. npm test takes a share; DXTENSOR_TESTS=all kills 300 times at random moments, and at each call of the file system.
 */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { devices } from "../../device.ts";
import { generator } from "../../onnx/mutate.ts";
import { isWhole, share } from "../../share.ts";
import { begin, resume, train, type Step } from "./training.mjs";

const program = fileURLToPath(new URL("./training-child.mjs", import.meta.url));
const bundle = new URL("../../../dist/bundle/dxtensor.js", import.meta.url).href;
const KILLS = isWhole ? 300 : 3;
const SEED = 34;

let root: string;
let before: dx.Device;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-kill-"));
  before = dx.defaultDevice();
  dx.setDefaultDevice("cpu");
});
afterAll(() => {
  dx.setDefaultDevice(before);
  rmSync(root, { recursive: true, force: true });
});

/** The steps of a run that nothing interrupts. */
async function steps(until: number): Promise<readonly Step[]> {
  const all: Step[] = [];
  for await (const step of train(dx, begin(dx, 7), null, 0, until)) all.push(step);
  return all;
}

interface Line extends Partial<Step> {
  readonly from?: number;
  readonly calls?: number;
  readonly writes?: readonly number[];
}

/** A process that trains. Gives what it printed. kill: called with each line. */
async function run(
  folder: string,
  until: number,
  args: readonly (string | number)[] = [],
  kill?: (line: Line, end: () => void) => void,
): Promise<{ lines: readonly Line[]; signal: string | null }> {
  const child = spawn(process.execPath, [program, bundle, folder, String(until), ...args.map(String)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const ended = new Promise<string | null>((resolve) => child.once("close", (_code, signal) => resolve(signal)));
  const lines: Line[] = [];
  for await (const text of createInterface({ input: child.stdout })) {
    // The last line of a process that was killed may be a part of one.
    if (!text.endsWith("}")) continue;
    const line = JSON.parse(text) as Line;
    lines.push(line);
    kill?.(line, () => child.kill("SIGKILL"));
  }
  const signal = await ended;
  expect(errors).toBe("");
  return { lines, signal };
}

/** Checkpoints of a folder, and nothing that belongs to none. */
const checkpoints = (folder: string): readonly string[] => readdirSync(folder).filter((name) => /^step-\d+\.safetensors$/.test(name));

/** A save at the end removes what all that were killed left. */
async function requireClean(folder: string): Promise<void> {
  await dx.save(join(folder, "step-100000.safetensors"), {}, { keepLast: 1 });
  expect(readdirSync(folder)).toEqual(["step-100000.safetensors"]);
}

describe.skipIf(!devices.includes("cpu"))("a training that is killed", () => {
  test(`${KILLS} times at random moments continues with the same bits`, { timeout: 3_600_000 }, async () => {
    const folder = join(root, "random");
    mkdirSync(folder);
    const random = generator(SEED);
    // More than a fast machine takes before the kills.
    const all = await steps(40 * KILLS + 10);
    let reached = 0;
    let killed = 0;
    for (let i = 0; i < KILLS; i++) {
      // After some steps, and then at any moment of the next ones.
      const after = Math.floor(random() * 4);
      const delayMs = random() * 40;
      let seen = 0;
      const { lines, signal } = await run(folder, all.length, [], (_line, end) => {
        if (seen++ === after) setTimeout(end, delayMs);
      });
      const [start, ...done] = lines;
      const from = start!.from!;
      // What was printed had its checkpoint before.
      expect([i, from >= reached]).toEqual([i, true]);
      expect([i, done.filter((line) => line.step !== undefined)]).toEqual([
        i,
        all.slice(from, from + done.filter((l) => l.step !== undefined).length),
      ]);
      reached = Math.max(from, ...done.map((line) => line.step ?? 0));
      if (signal === "SIGKILL") killed++;
    }
    expect(killed).toBeGreaterThan(KILLS / 2);
    const { lines, signal } = await run(folder, reached + 5);
    expect([signal, lines.at(-2)]).toEqual([null, all[reached + 4]]);
    expect(checkpoints(folder)).toHaveLength(2);
    await requireClean(folder);
  });

  test("at each call of the file system has the checkpoint before it, or the new one", { timeout: 3_600_000 }, async () => {
    const UNTIL = 5;
    const SAVE = 4;
    const all = await steps(UNTIL);
    const start = join(root, "start");
    mkdirSync(start);
    await run(start, SAVE - 1);
    const whole = join(root, "whole");
    cpSync(start, whole, { recursive: true });
    const { lines } = await run(whole, UNTIL, [1e9, "before", SAVE]);
    const { calls = 0, writes = [] } = lines.at(-1)!;
    expect([calls > 40, writes.length > 8]).toEqual([true, true]);
    const points = [
      ...Array.from({ length: calls }, (_, i) => [i + 1, "before"] as const),
      ...writes.map((call) => [call, "half"] as const),
    ];
    const left = new Set<number>();
    for (const [call, kind] of share(points, 36, 3)) {
      const folder = join(root, `call-${call}-${kind}`);
      cpSync(start, folder, { recursive: true });
      expect([call, kind, (await run(folder, UNTIL, [call, kind, SAVE])).signal]).toEqual([call, kind, "SIGKILL"]);
      const state = begin(dx, 1);
      const from = await resume(dx, state, folder);
      expect([call, kind, [SAVE - 1, SAVE].includes(from)]).toEqual([call, kind, true]);
      left.add(from);
      const rest: Step[] = [];
      for await (const step of train(dx, state, folder, from, UNTIL)) rest.push(step);
      expect([call, kind, rest]).toEqual([call, kind, all.slice(from)]);
      expect(checkpoints(folder)).toHaveLength(2);
      await requireClean(folder);
      rmSync(folder, { recursive: true });
    }
    expect(left).toEqual(new Set([SAVE - 1, SAVE]));
  });
});
