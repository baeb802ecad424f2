// Ends a worker, or this process, while the device `cpu` has long work. Arguments: the package's module, the work, the kind of wait, the kind of end.
// Prints {ended: milliseconds from the order to end, sums: what another thread computed meanwhile and afterwards}.
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const [module, work, wait, end] = isMainThread ? process.argv.slice(2) : workerData;
const dx = await import(module);
dx.setDefaultDevice("cpu");

/** Much work, from which `wait` gets its tensor. */
const works = {
  /** One kernel that never ends by itself. */
  shader() {
    const endless = dx.shader({ name: "endless", inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 64 }, (s) => {
      const v = s.variable(s.f32(0));
      s.while(
        () => s.f32(1).gt(s.buffers.x.load(s.thread).mul(0)),
        () => {
          v.value = v.value.add(1);
        },
      );
      s.buffers.y.store(s.thread, v.value);
    });
    return endless({ x: dx.ones([64]) }).y;
  },
  /** Many kernels, each of a part of a second, in one submission. */
  products() {
    const x = dx.ones([2048, 2048]);
    const many = dx.compile((t) => {
      let y = t;
      for (let i = 0; i < 20; i++) y = y.matmul(x).mul(1e-4);
      return y;
    });
    let y = x;
    for (let i = 0; i < 60; i++) y = many(y);
    return y;
  },
  /** Many lists of many kernels, nearly as many as the queue takes. */
  additions() {
    let y = dx.ones([1 << 22]);
    for (let i = 0; i < 4000; i++) {
      const next = y.add(1);
      y.dispose();
      y = next;
    }
    return y;
  },
};
const waits = {
  dataSync: (y) => y.dataSync(),
  data: (y) => y.data(),
  synchronize: () => dx.synchronize("cpu"),
  closeDevice: (y) => {
    y.data().catch(() => {});
    dx.closeDevice("cpu");
  },
  "full queue": (y) => {
    y.data().catch(() => {});
    for (;;) y.add(1).dispose();
  },
};

async function begin() {
  const y = works[work]();
  parentPort?.postMessage("begun");
  await waits[wait](y);
}

const sum = () => {
  const x = dx.arange(0, 1000, 1, { dtype: "float32" });
  return x.add(1).sum().itemSync();
};

if (!isMainThread) await begin();
else if (end === "worker.terminate()") {
  const worker = new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2) });
  const sums = [sum()];
  await once(worker, "message");
  sums.push(sum());
  const start = performance.now();
  await worker.terminate();
  const ended = performance.now() - start;
  sums.push(sum());
  process.stdout.write(JSON.stringify({ ended, sums }));
} else {
  const isOwn = end === "process.exit()";
  if (isOwn) works[work]();
  else await once(new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2) }), "message");
  process.stdout.write(JSON.stringify({ at: Date.now(), sums: isOwn ? [] : [sum()] }), () => process.exit(0));
}
