import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";

it("shaders run in several workers at once", async () => {
  const module = new URL("../../dist/index.js", import.meta.url).href;
  const bases = [0, 100, 200];
  const results = await Promise.all(
    bases.map(async (base) => {
      const worker = new Worker(new URL("./worker.mjs", import.meta.url), { workerData: { module, base } });
      const ended = once(worker, "exit");
      const failed = once(worker, "error").then(([error]) => Promise.reject(error as Error));
      const [sums] = (await Promise.race([once(worker, "message"), failed])) as [number[]];
      expect(await ended).toEqual([0]);
      return sums;
    }),
  );
  expect(results).toEqual(bases.map((base) => Array.from({ length: 20 }, (_, i) => [(base + i) * 500, (base + i + 1) * 500]).flat()));
});
