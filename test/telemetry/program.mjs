// node program.mjs MODULE MODE: a user's program. It opens a device and then acts by MODE.
import { fileURLToPath } from "node:url";
import { isMainThread, Worker, workerData } from "node:worker_threads";

/** Runs until standard input ends. */
const hold = () => new Promise((resolve) => process.stdin.resume().once("end", resolve));
const compute = (dx) => dx.ones([2], { device: "cpu" }).add(1).dataSync();

if (isMainThread) {
  const [module, mode] = process.argv.slice(2);
  const dx = await import(module);
  if (mode === "workers") {
    const workers = [1, 2].map(() => new Worker(fileURLToPath(import.meta.url), { workerData: module, env: {} }));
    await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once("message", resolve))));
    process.stdout.write("open");
    // The main thread's own device waits for a word.
    process.stdin.once("data", () => compute(dx));
    await hold();
    await Promise.all(workers.map((worker) => worker.terminate()));
  } else if (mode === "import") {
    process.stdout.write("open");
    await hold();
  } else {
    for (let i = 0; i < 3; i++) {
      compute(dx);
      dx.closeDevice("cpu");
    }
    if (mode === "exit") process.exit(0);
    process.stdout.write("open");
    await hold();
  }
} else {
  const { parentPort } = await import("node:worker_threads");
  compute(await import(workerData));
  parentPort.postMessage("open");
  setInterval(() => {}, 1000);
}
