/** A training that may be killed at any moment, and resumes from its last checkpoint: every loss equals that of an undisturbed run. */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { exampleCommand, isMain, runExample, whole, type CommonOptions } from "../shared/command.ts";
import { progress } from "../shared/progress.ts";

interface Options extends CommonOptions {
  readonly steps: number;
  readonly every: number;
  readonly folder: string;
}

const command = exampleCommand("resume", "Trains with checkpoints; killed and started again, it resumes with the same losses.")
  .option("--steps <n>", "training steps in all", whole(1), 500)
  .option("--every <n>", "steps between checkpoints", whole(1), 50)
  .option("--folder <path>", "where the checkpoint lies", join(fileURLToPath(import.meta.url), "../../../resume"));

/** All that a training depends on: what a checkpoint has in addition to the step. */
export interface Training {
  readonly model: dx.nn.Sequential;
  readonly optimizer: dx.optim.Adam;
  readonly schedule: dx.optim.lrScheduler.LRScheduler;
  readonly generator: dx.Generator;
}

/** Brings everything back to where the file says. Gives the step; 0, and nothing changed, where there is no file. */
export async function resume(file: string, into: Training): Promise<number> {
  if (!existsSync(file)) return 0;
  const { state } = await dx.load<{ step: number }>(file, { into });
  return state.step;
}

export function training(generator: dx.Generator, steps: number): Training {
  // Dropout draws from the generator too: its state is part of the checkpoint.
  const model = dx.nn.sequential(
    dx.nn.linear(8, 32, { generator }),
    dx.nn.relu(),
    dx.nn.dropout(0.2, { generator }),
    dx.nn.linear(32, 1, { generator }),
  );
  const optimizer = dx.optim.adam(model.parameters(), { lr: 1e-2 });
  const schedule = new dx.optim.lrScheduler.CosineAnnealingLR(optimizer, { tMax: steps });
  return { model, optimizer, schedule, generator };
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  mkdirSync(options.folder, { recursive: true });
  const file = join(options.folder, "checkpoint.safetensors");
  const generator = new dx.Generator(options.seed);
  const all = training(generator, options.steps);
  const { model, optimizer, schedule } = all;
  const begin = await resume(file, all);
  say(begin === 0 ? `Begins; checkpoints go to ${file}.` : `Resumes after step ${begin}.`);

  const step = dx.compile(
    (x: dx.Tensor) => {
      const y = x.square().sum(1, { keepDims: true });
      const loss = dx.nn.functional.mseLoss(model.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step" },
  );
  const bar = progress(options.steps, options.json);
  let last = 0;
  for (let i = begin + 1; i <= options.steps; i++) {
    const x = dx.randn([64, 8], { generator });
    const loss = step(x);
    schedule.step();
    last = await loss.item();
    bar.update(i, { loss: last.toFixed(4) });
    if (options.json) console.log(JSON.stringify({ step: i, loss: last }));
    for (const t of [x, loss]) t.dispose();
    if (i % options.every === 0 || i === options.steps) await dx.save(file, { ...all, step: i });
  }
  bar.stop();
  say(
    begin >= options.steps
      ? `All ${options.steps} steps are done; remove ${file} to begin again.`
      : `Loss after ${options.steps} steps: ${last.toFixed(4)}.`,
  );
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
