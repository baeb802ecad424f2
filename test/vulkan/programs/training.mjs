// training.mjs DEVICE STEPS BATCH: the quickstart's network learns the same digits on cpu and on a device, eagerly and compiled. The losses
// must fall and agree. The last line is "N passed, N failed".
import { digitsFolder } from "../../../build/examples/digits.js";
import { digitNetwork } from "../../../build/examples/network.js";

const dx = await import("dxtensor");
const [device, ...numbers] = process.argv.slice(2);
const [steps, batch] = numbers.map(Number);

/** Losses of a training whose weights, digits and order are the same on every device. */
async function train(where, isCompiled, digits) {
  dx.manualSeed(1);
  // Drawn on cpu: each device has a generator of its own.
  const network = digitNetwork(dx.device("cpu")).to(dx.device(where));
  const optimizer = dx.optim.adam(network.parameters(), { lr: 2e-3 });
  const step = (x, y) => {
    const loss = dx.crossEntropy(network.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const run = isCompiled ? dx.compile(step, { name: "step" }) : step;
  const losses = [];
  for await (const [x, y] of dx.data.dataLoader(digits, { batchSize: batch, dropLast: true })) {
    const [images, labels] = [x.to(where), y.to(where)];
    const loss = dx.scope(() => dx.keep(run(images, labels)));
    losses.push(loss.dataSync()[0]);
    for (const tensor of [loss, x, y, images, labels]) tensor.dispose();
    if (losses.length === steps) break;
  }
  if (isCompiled) run.dispose();
  return losses;
}

let [passed, failed] = [0, 0];
function check(good, what) {
  if (good) passed++;
  else failed++;
  console.log(`${good ? "ok    " : "FAILED"} ${what}`);
}
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

const digits = await dx.withDevice("cpu", () => dx.data.mnist(digitsFolder()));
const results = {};
for (const where of ["cpu", device])
  for (const mode of ["eager", "compiled"]) {
    const start = performance.now();
    const losses = await dx.withDevice("cpu", () => train(where, mode === "compiled", digits));
    const seconds = (performance.now() - start) / 1000;
    results[`${where} ${mode}`] = losses;
    const [first, last] = [losses[0], mean(losses.slice(-10))];
    const end = `loss ${first.toFixed(3)} to ${last.toFixed(3)} in ${steps} steps, ${seconds.toFixed(1)} s`;
    check(losses.length === steps && losses.every(Number.isFinite) && last < first * 0.8, `${where} ${mode}: ${end}`);
  }
// Rounding differs in the last bits and grows from step to step.
const reference = results["cpu eager"];
for (const [name, losses] of Object.entries(results)) {
  const worst = (from, to) => Math.max(...losses.slice(from, to).map((loss, i) => Math.abs(loss - reference[from + i])));
  const early = worst(0, 5);
  const late = worst(5, steps);
  check(early < 1e-4 && late < 0.05, `${name} agrees with cpu eager: ${early.toExponential(1)} in 5 steps, ${late.toExponential(1)} later`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
