// The process that soaks: acts in random order until the time is over or SIGINT comes, and prints its counts, one line of JSON for each sample.
// Started by scripts/soak.ts with --expose-gc.
import type * as Library from "../../src/index.ts";
import { actsOf, random, type Internals } from "./acts.ts";

const [root = "", minutes, seed, interval] = process.argv.slice(2);
const module = new URL("dist/index.js", root).href;
const dx = (await import(module)) as typeof Library;
const internals = (await import(new URL("dist/runtime/device-statistics.js", root).href)) as Internals;
const { reclaim } = await import(new URL("dist/runtime/buffers.js", root).href);
const { clearScalars } = await import(new URL("dist/runtime/constants.js", root).href);

const counts: Record<string, number> & { acts: number } = { acts: 0, asked: 0, answered: 0, wrong: 0 };
const next = random(Number(seed));
const acts: Readonly<Record<string, () => void | Promise<void>>> = actsOf(dx, internals, { module, next, counts });
/** How often each act comes. */
const weights = { train: 2, infer: 6, resize: 8, read: 6, file: 2, devices: 3, outOfMemory: 3, exhausted: 2, removal: 2, workers: 1 };
const order = Object.entries(weights).flatMap(([name, n]) => new Array<string>(n).fill(name));

let isStopping = false;
process.on("SIGINT", () => {
  isStopping = true;
});
const started = performance.now();
const seconds = () => (performance.now() - started) / 1000;

/** What is alive once nothing is used any more. */
function sample() {
  clearScalars();
  reclaim(true);
  const memory = dx.memoryStatistics("cpu");
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const mib = (bytes: number) => Math.round((bytes / 2 ** 20) * 10) / 10;
  const line = {
    seconds: Math.round(seconds()),
    rss: mib(rss),
    heap: mib(heapUsed),
    arrayBuffers: mib(arrayBuffers),
    liveBuffers: memory.liveBuffers,
    pooled: mib(memory.pooledInBytes),
    program: mib(memory.programInBytes),
    counts,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

let sampled = 0;
while (!isStopping && seconds() < Number(minutes) * 60) {
  const name = order[next(order.length)]!;
  await acts[name]!();
  counts.acts++;
  counts[`act ${name}`] = (counts[`act ${name}`] ?? 0) + 1;
  if (seconds() - sampled >= Number(interval)) {
    sampled = seconds();
    sample();
  }
}
sample();
