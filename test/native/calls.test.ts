/** Random calls of the addon, good, wrong and absurd: typed errors, and the process and the device live on. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { hostEnvironment } from "../../src/native/load-addon.ts";
import { addonPaths, libraryPaths } from "../../src/native/paths.ts";

/** DXTENSOR_FUZZ_CALLS: of each seed, for a long run; DXTENSOR_FUZZ_SEED: the first one. */
const CALLS = Number(process.env.DXTENSOR_FUZZ_CALLS ?? 15_000);
const FIRST = Number(process.env.DXTENSOR_FUZZ_SEED ?? 1);

interface Counts {
  readonly calls: number;
  readonly good: number;
  readonly errors: Readonly<Record<string, number>>;
}

it.each([FIRST, FIRST + 1, FIRST + 2])(
  "random calls, seed %i",
  async (seed) => {
    const addon = addonPaths(hostEnvironment()).find((path) => existsSync(path))!;
    const library = libraryPaths(hostEnvironment()).software!;
    const program = fileURLToPath(new URL("./calls.mjs", import.meta.url));
    // A process of its own: what would end it shows as its exit status.
    const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", program, addon, library, String(seed), String(CALLS)]);
    const { calls, good, errors } = JSON.parse(stdout) as Counts;
    expect(calls).toBeGreaterThan(CALLS / 2);
    expect(good).toBeGreaterThan(calls / 4);
    expect(errors["invalid"]).toBeGreaterThan(calls / 10);
  },
  3_600_000,
);
