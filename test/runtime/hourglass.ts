/** A million eager operations in a synchronous loop that disposes of nothing and never yields. Also run inside a worker. */
import * as dx from "../../src/index.ts";

export interface Hourglass {
  readonly value: number;
  readonly recorded: number;
  /** MiB by which the resident set grew after the first tenth. */
  readonly residentGrowth: number;
  /** Highest number of pooled device bytes after the first tenth, relative to that then. */
  readonly pooledGrowth: number;
}

export function hourglass(device: string, elements: number, count: number): Hourglass {
  const one = dx.ones([elements], { device });
  let x = dx.zeros([elements], { device });
  const before = dx.counters(device).dispatchesRecorded;
  let resident = 0;
  let pooled = 0;
  let most = 0;
  for (let i = 0; i < count; i++) {
    x = dx.add(x, one);
    if (i === Math.floor(count / 10)) {
      x.dataSync();
      resident = process.memoryUsage.rss();
      pooled = dx.memoryStatistics(device).pooledInBytes;
    } else if (i > count / 10 && i % Math.floor(count / 20) === 0) {
      most = Math.max(most, dx.memoryStatistics(device).pooledInBytes);
    }
  }
  const value = Number(x.dataSync()[elements - 1]);
  return {
    value,
    recorded: dx.counters(device).dispatchesRecorded - before,
    residentGrowth: (process.memoryUsage.rss() - resident) / 2 ** 20,
    pooledGrowth: most / pooled,
  };
}
