// enumerate.mjs: runs on a machine with an old C library and an old driver: load every library, list the adapter, make a device or
// refuse it with a typed error, and train on the software adapter. The last line is "N passed, N failed".
const dx = await import(process.env.DXTENSOR_TEST_PACKAGE ?? "dxtensor");

let [passed, failed] = [0, 0];
function check(good, what) {
  if (good) passed++;
  else failed++;
  console.log(`${good ? "ok    " : "FAILED"} ${what}`);
}

const count = dx.dml.deviceCount();
check(count > 0, `Microsoft's library is loaded and lists ${count} adapter(s): ${dx.dml.deviceName(0)}`);
try {
  const sum = dx.ones([4], { device: "dml:0" }).add(1).dataSync();
  check(
    sum.every((x) => x === 2),
    `dml:0 computes: ${dx.dml.deviceName(0)}`,
  );
} catch (error) {
  check(
    error instanceof dx.NativeError && /D3D12CreateDevice/.test(error.message),
    `dml:0 is refused with a typed error: ${error.message}`,
  );
}

dx.setDefaultDevice("cpu");
dx.manualSeed(3);
const network = dx.nn.sequential(dx.nn.linear(8, 32), dx.nn.relu(), dx.nn.linear(32, 4)).to(dx.device("cpu"));
const optimizer = dx.optim.adam(network.parameters(), { lr: 1e-2 });
const x = dx.tensor(
  Float32Array.from({ length: 32 * 8 }, (_, i) => Math.sin(i * i)),
  { shape: [32, 8], device: "cpu" },
);
const y = dx.tensor(
  Int32Array.from({ length: 32 }, (_, i) => i % 4),
  { shape: [32], device: "cpu" },
);
const losses = [];
for (let i = 0; i < 50; i++) {
  const loss = dx.crossEntropy(network.forward(x), y);
  loss.backward();
  optimizer.step();
  optimizer.zeroGrad();
  losses.push(loss.dataSync()[0]);
}
check(
  losses.at(-1) < losses[0] * 0.7,
  `the software adapter trains: loss ${losses[0].toFixed(3)} to ${losses.at(-1).toFixed(3)} in 50 steps`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
