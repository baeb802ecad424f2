// leaks.mjs DEVICE STEPS: trains a small network for many steps, a tenth of them eagerly, and looks at memory: resident, and the
// device's. After the first fifth neither may grow. The last line is "N passed, N failed".
const dx = await import("dxtensor");
const [device, text] = process.argv.slice(2);
const steps = Number(text);
/** MiB that the process may grow by over all steps: the driver's caches and the heap of JavaScript breathe. */
const allowed = 24;

dx.manualSeed(2);
const network = dx.nn.sequential(dx.nn.linear(16, 32), dx.nn.relu(), dx.nn.linear(32, 4)).to(dx.device(device));
const optimizer = dx.optim.adam(network.parameters(), { lr: 1e-3 });
const step = (x, y) => {
  const loss = dx.crossEntropy(network.forward(x), y);
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  return loss;
};
const compiled = dx.compile(step, { name: "step" });
const collect = globalThis.gc ?? (() => {});

async function measure() {
  await dx.synchronize(device);
  // A collector needs some turns until everything unreachable is found.
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setImmediate(resolve));
    collect();
  }
  const { liveBuffers, liveInBytes, pooledInBytes } = dx.memoryStatistics(device);
  return { resident: process.memoryUsage.rss() / 2 ** 20, liveBuffers, liveInBytes, pooledInBytes };
}

let first;
let last = 0;
const marks = [];
for (let i = 0; i < steps; i++) {
  const x = dx.tensor(
    Float32Array.from({ length: 8 * 16 }, (_, k) => Math.sin(k * 0.7 + i)),
    { shape: [8, 16], device },
  );
  const y = dx.tensor(
    Int32Array.from({ length: 8 }, (_, k) => (k + i) % 4),
    { shape: [8], device },
  );
  const loss = dx.scope(() => dx.keep(i % 10 === 9 ? step(x, y) : compiled(x, y)));
  if (i % 100 === 99) last = loss.dataSync()[0];
  for (const tensor of [x, y, loss]) tensor.dispose();
  if ((i + 1) % Math.ceil(steps / 5) === 0 || i + 1 === steps) {
    const now = await measure();
    first ??= now;
    marks.push(now);
    process.stdout.write(
      `step ${i + 1}: loss ${last.toFixed(4)}, ${now.resident.toFixed(1)} MiB resident, ${now.liveBuffers} buffers, ${now.pooledInBytes} bytes pooled\n`,
    );
  }
}
const end = marks.at(-1);
const checks = [
  ["buffers", end.liveBuffers <= first.liveBuffers && end.liveInBytes <= first.liveInBytes],
  ["the device's memory", end.pooledInBytes <= first.pooledInBytes],
  [`resident memory (${(end.resident - first.resident).toFixed(1)} MiB more)`, end.resident - first.resident < allowed],
  ["the loss is a number", Number.isFinite(last)],
];
for (const [name, good] of checks) console.log(`${good ? "ok    " : "FAILED"} ${name}`);
compiled.dispose();
const failed = checks.filter(([, good]) => !good).length;
console.log(`${checks.length - failed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
