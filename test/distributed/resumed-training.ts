/** A training of two ranks that saves after each step, and continues from its last checkpoint; and commands that a test starts. */
import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const index = pathToFileURL(resolve("dist/bundle/dxtensor.js")).href;
export const STEPS = 30;

/**
 * Steps with a checkpoint after each, up to the last; the losses of all steps are in the checkpoint, too. An error is told, with exit status 3. isSharded: all
 * ranks hold parts, and write them.
 */
export const resumed = (
  to: string,
  timeoutMs = 20_000,
  pauseMs = 0,
  isSharded = false,
): string => `import * as dx from ${JSON.stringify(index)};
import { mkdirSync, writeFileSync } from "node:fs";
const d = dx.distributed, STEPS = ${STEPS}, to = ${JSON.stringify(to)};
try {
  const group = await d.initProcessGroup({ timeoutMs: ${timeoutMs} });
  const generator = new dx.Generator(3);
  const model = dx.nn.sequential(dx.nn.linear(4, 16, { generator }), dx.nn.tanh(), dx.nn.linear(16, 1, { generator }));
  if (${isSharded}) d.fullyShard(model);
  const optimizer = dx.optim.adam(model.parameters(), { lr: 0.02 });
  mkdirSync(to, { recursive: true });
  let step = 0, losses = [];
  const last = await dx.latest(to);
  if (last !== null) ({ state: { step, losses } } = await dx.load(last, { into: { model, optimizer } }));
  const ddp = ${isSharded} ? model : d.distributedDataParallel(model);
  for (; step < STEPS; ) {
    const x = dx.tensor(Array.from({ length: 8 }, (_, i) => [1, 2, 3, 4].map((k) => Math.sin(k * (i + 8 * group.rank + step)))));
    const loss = dx.nn.functional.mseLoss(ddp.forward(x), x.sum(1, { keepDims: true }));
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    losses = [...losses, (await d.allReduce(loss.detach(), { op: "mean" })).itemSync()];
    step++;
    if (${isSharded}) await d.save(to + "/step-" + step + ".safetensors", { model, optimizer, step, losses }, { keepLast: 2 });
    else if (group.rank === 0) await dx.save(to + "/step-" + step + ".safetensors", { model, optimizer, step, losses }, { keepLast: 2 });
    await d.barrier();
    if (${pauseMs} > 0) await new Promise((done) => setTimeout(done, ${pauseMs}));
  }
  if (group.rank === 0) writeFileSync(to + ".json", JSON.stringify(losses));
} catch (e) {
  console.log(JSON.stringify({ name: e.name, reason: e.reason, peer: e.peer, message: e.message }));
  process.exitCode = 3;
}
await d.destroyProcessGroup();
`;

/** How a command ended. */
export interface End {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts a command. */
export function start([file, ...args]: readonly [string, ...string[]], env: Readonly<Record<string, string>>) {
  const child = spawn(file, args, {
    env: { ...process.env, DXTENSOR_DEVICE: "cpu", DXTENSOR_THREADS: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (piece: Buffer) => (stdout += piece.toString()));
  child.stderr.on("data", (piece: Buffer) => (stderr += piece.toString()));
  const end = new Promise<End>((done) => child.on("close", (status, signal) => done({ status, signal, stdout, stderr })));
  return { child, end };
}
