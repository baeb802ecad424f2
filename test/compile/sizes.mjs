// A training step called with many batch sizes: by how much the process' resident memory grew once it had its programs, and the programs that are there
// in the end, as JSON. What the process has before is the device's: some drivers keep their memory in it.
const [module, mode, sizes] = process.argv.slice(2);
const dx = await import(module);
process.removeAllListeners("warning");
process.on("warning", () => {});

const weight = dx.zeros([64, 8], { requiresGrad: true });
const step = dx.compile(
  (x, y) => {
    const loss = dx.nn.functional.mseLoss(x.matmul(weight), y);
    const [g] = dx.grad(loss, [weight]);
    dx.noGrad(() => weight.sub_(g.mul(0.1)));
    return loss;
  },
  mode === "dynamic" ? { dynamic: [0] } : {},
);
let base = Infinity;
let grown = 0;
let last = NaN;
for (let i = 0; i < Number(sizes); i++) {
  const n = 1 + ((i * 733) % Number(sizes));
  const [x, y] = [dx.ones([n, 64]), dx.ones([n, 8])];
  last = dx.scope(() => step(x, y).itemSync());
  for (const t of [x, y]) t.dispose();
  if (i === 63) base = process.memoryUsage.rss();
  if (i % 100 === 99) grown = Math.max(grown, process.memoryUsage.rss() - base);
}
process.stdout.write(JSON.stringify({ grown, last, programs: step.programs }));
