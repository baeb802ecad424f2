// A million eager operations in a synchronous loop that disposes of nothing and never yields. Run as a worker it posts the result.
import { isMainThread, parentPort, workerData } from "node:worker_threads";

/** @returns what was computed and recorded, and by how much resident (MiB) and pooled device memory (ratio) grew after the first tenth. */
export function hourglass(dx, device, elements, count) {
  const one = dx.ones([elements], { device });
  let x = dx.zeros([elements], { device });
  const before = dx.counters(device).dispatchesRecorded;
  let resident = 0;
  let pooled = 0;
  let peak = 0;
  for (let i = 0; i < count; i++) {
    x = dx.add(x, one);
    if (i === Math.floor(count / 10)) {
      x.dataSync();
      resident = process.memoryUsage.rss();
      pooled = dx.memoryStatistics(device).pooledInBytes;
    } else if (i > count / 10 && i % Math.floor(count / 20) === 0) {
      peak = Math.max(peak, dx.memoryStatistics(device).pooledInBytes);
    }
  }
  const value = Number(x.dataSync()[elements - 1]);
  return {
    value,
    recorded: dx.counters(device).dispatchesRecorded - before,
    residentGrowth: (process.memoryUsage.rss() - resident) / 2 ** 20,
    pooledGrowth: peak / pooled,
  };
}

if (!isMainThread && workerData?.hourglass) {
  const { module, device, elements, count } = workerData.hourglass;
  parentPort.postMessage(hourglass(await import(module), device, elements, count));
}
