// Makes a shader, runs it eagerly and compiled, and posts the results.
import { parentPort, workerData } from "node:worker_threads";

const dx = await import(workerData.module);
const halved = dx.shader({ name: "halved", inputs: { x: "float32" }, outputs: { y: "float32" }, threads: 64 }, (s) => {
  s.buffers.y.store(s.thread, s.buffers.x.load(s.thread).mul(0.5));
});
const step = dx.compile((x) => halved({ x: x.add(1) }).y);
const sums = [];
for (let i = 0; i < 20; i++) {
  const x = dx.full([1000], workerData.base + i, { device: "cpu" });
  sums.push(halved({ x }).y.sum().dataSync()[0], step(x).sum().dataSync()[0]);
}
parentPort.postMessage(sums);
