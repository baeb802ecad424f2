/** The end of a worker and of the process does not wait for the device's work, and disturbs nobody else's. On `cpu`. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { share } from "../share.ts";

/** The work takes minutes, the end a few milliseconds and what the system takes to stop threads. */
const LIMIT_MS = 3000;

const module = new URL("../../dist/bundle/dxtensor.js", import.meta.url).href;
const program = fileURLToPath(new URL("./abandoned.mjs", import.meta.url));
const end = async <T>(...args: string[]): Promise<T> =>
  JSON.parse((await promisify(execFile)(process.execPath, [program, module, ...args], { timeout: 120_000 })).stdout) as T;

const works = ["shader", "products", "additions"];
const waits = ["dataSync", "data", "synchronize", "closeDevice", "full queue"];

it.each(
  share(
    works.flatMap((work) => waits.map((wait) => [work, wait] as const)),
    4,
  ),
)(
  "worker.terminate() ends a worker with %s in %s, and others continue",
  async (work, wait) => {
    const { ended, sums } = await end<{ ended: number; sums: number[] }>(work, wait, "worker.terminate()");
    expect(sums).toEqual([500_500, 500_500, 500_500]);
    expect(ended).toBeLessThan(LIMIT_MS);
  },
  180_000,
);

it.each(
  share(
    works.flatMap((work) => ["process.exit()", "process.exit() with a worker"].map((how) => [how, work])),
    3,
  ),
)(
  "%s ends the process with %s",
  async (how, work) => {
    const { at, sums } = await end<{ at: number; sums: number[] }>(work, "dataSync", how);
    expect(Date.now() - at).toBeLessThan(LIMIT_MS);
    for (const sum of sums) expect(sum).toBe(500_500);
  },
  180_000,
);
