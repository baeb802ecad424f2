// A training step called with many batch sizes: the process' largest resident memory and the programs that are there in the end, as JSON.
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
let most = 0;
let last = NaN;
for (let i = 0; i < Number(sizes); i++) {
  const n = 1 + ((i * 733) % Number(sizes));
  const [x, y] = [dx.ones([n, 64]), dx.ones([n, 8])];
  last = dx.scope(() => step(x, y).itemSync());
  for (const t of [x, y]) t.dispose();
  if (i % 100 === 99) most = Math.max(most, process.memoryUsage.rss());
}
process.stdout.write(JSON.stringify({ most, last, programs: step.programs }));
