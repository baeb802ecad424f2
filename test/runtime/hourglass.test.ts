import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { isWhole } from "../share.ts";
import { hourglass, type Hourglass } from "./hourglass.mjs";

const COUNT = 1_000_000;

function check(run: Hourglass, count: number): void {
  expect(run.value).toBe(count);
  expect(run.recorded).toBeGreaterThanOrEqual(count);
  // V8's own heap breathes by some ten MiB; a leak of a million tensors would be hundreds.
  expect(run.residentGrowth).toBeLessThan(120);
  expect(run.pooledGrowth).toBeLessThanOrEqual(1.5);
}

// On the software adapter only: a million dispatches of an emulated GPU would take minutes and say nothing new.
describe("a loop that disposes of nothing and never yields", () => {
  it("stays flat on small tensors", () => check(hourglass(dx, "cpu", 16, COUNT), COUNT), 120_000);

  it.runIf(isWhole)("stays flat on large tensors", () => check(hourglass(dx, "cpu", 8192, COUNT), COUNT), 240_000);

  it.runIf(isWhole)(
    "stays flat in a worker thread",
    async () => {
      const module = new URL("../../dist/index.js", import.meta.url).href;
      const worker = new Worker(new URL("./hourglass.mjs", import.meta.url), {
        workerData: { hourglass: { module, device: "cpu", elements: 16, count: COUNT } },
      });
      const ended = once(worker, "exit");
      const [run] = (await Promise.race([once(worker, "message"), once(worker, "error").then(([e]) => Promise.reject(e as Error))])) as [
        Hourglass,
      ];
      check(run, COUNT);
      expect(await ended).toEqual([0]);
    },
    120_000,
  );
});
