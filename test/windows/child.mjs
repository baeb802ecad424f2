// Separate programs for test/windows: `node child.mjs NAME DEVICE` prints one line of JSON. The package is imported from DXTENSOR_TEST_PACKAGE.
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

const load = () => import(process.env.DXTENSOR_TEST_PACKAGE);

/** 40 steps of a chain, with a matrix product in each, whose end is known. */
async function chain(device) {
  const dx = await load();
  const one = dx.ones([8, 8], { device });
  let x = dx.zeros([8, 8], { device });
  for (let i = 0; i < 40; i++) x = x.add(one).matmul(one).div(8);
  return Array.from(await x.data());
}

const programs = {
  /** Leaves with thousands of operations queued and a read that nobody waits for. */
  async pending(device) {
    const dx = await load();
    let x = dx.zeros([256, 256], { device });
    await x.data();
    const w = dx.full([256, 256], 1 / 256, { device });
    for (let i = 0; i < 500; i++) x = x.matmul(w).add(1);
    void x.data();
    console.log(JSON.stringify({ queued: 500 }));
    process.exit(0);
  },
  /** Ends by itself while a read is pending: the promise keeps the process alive until it is there. */
  async waits(device) {
    const dx = await load();
    let x = dx.zeros([64, 64], { device });
    for (let i = 0; i < 50; i++) x = x.add(1);
    void x.data().then((v) => console.log(JSON.stringify({ value: v[0] })));
  },
  /** Two threads in addition to this one, each with devices of its own; one is terminated in the middle. */
  async threads(device) {
    const start = (name) => {
      const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { name, device } });
      return { worker, said: new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject)) };
    };
    const helpers = [start("chain"), start("chain")];
    const victim = start("endless");
    await victim.said;
    await victim.worker.terminate();
    const [own, ...theirs] = await Promise.all([chain(device), ...helpers.map(({ said }) => said)]);
    console.log(JSON.stringify({ own: own[0], theirs: theirs.map((values) => values[0]), lengths: theirs.map((values) => values.length) }));
  },
  /** Works until the device goes, and says what each way of using it then answers. */
  async removed(device) {
    const dx = await load();
    const seen = [];
    let x = dx.ones([16], { device: "cpu" });
    for (let i = 0; i < 2000 && seen.length === 0; i++) {
      try {
        x = i === 0 ? dx.ones([16], { device }) : x.add(1);
        await x.data();
      } catch (error) {
        seen.push(["data", error]);
      }
    }
    for (const [name, use] of [
      ["dataSync", () => (String(x.device) === device ? x : dx.ones([16], { device })).dataSync()],
      ["operation", () => dx.ones([3], { device }).add(1).dataSync()],
      ["synchronize", () => dx.synchronize(device)],
    ]) {
      try {
        await use();
        seen.push([name, null]);
      } catch (error) {
        seen.push([name, error]);
      }
    }
    const other = Array.from(await dx.ones([3], { device: "cpu" }).add(1).data());
    console.log(
      JSON.stringify({
        seen: seen.map(([name, error]) => ({ name, type: error?.constructor.name ?? null, message: error?.message ?? null })),
        other,
      }),
    );
  },
};

if (isMainThread) {
  const [name, device] = process.argv.slice(2);
  await programs[name](device);
} else if (workerData.name === "chain") {
  parentPort.postMessage(await chain(workerData.device));
} else {
  const dx = await load();
  let x = dx.ones([64], { device: workerData.device });
  await x.data();
  parentPort.postMessage("started");
  for (;;) {
    x = x.add(1);
    await x.data();
  }
}
