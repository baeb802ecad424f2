// Ends while a device does not answer, with exit status 3. Arguments: the package's folder of modules, how it ends.
import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const folder = isMainThread ? process.argv[2] : workerData;
const dx = await import(`${folder}/index.js`);
const { injectFault } = await import(`${folder}/runtime/device-statistics.js`);

if (!isMainThread) dx.setDeviceTimeout(500);
const x = dx.ones([16], { device: "cpu" });
x.sum().itemSync();
injectFault("cpu", "hang");
// More than one list, so that the queue thread waits as well.
for (let i = 0; i < 3000; i++) x.add(1).dispose();

if (!isMainThread) {
  parentPort.postMessage("hung");
  x.dataSync();
} else if (process.argv[3] === "worker.terminate()") {
  const worker = new Worker(new URL(import.meta.url), { workerData: folder });
  await once(worker, "message");
  await worker.terminate();
}
if (process.argv[3] === "process.exit()") process.exit(3);
process.exitCode = 3;
