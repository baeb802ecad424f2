/** A small training with a checkpoint after each step, for processes that are killed: with dx of the sources, or of the bundle. */
import { createHash } from "node:crypto";
import { join } from "node:path";

/** All objects of a training that begins, or is loaded into. */
export function begin(dx, seed) {
  const generator = new dx.Generator(seed);
  const model = dx.nn.sequential(dx.nn.linear(3, 16, { generator }), dx.nn.dropout(0.3, { generator }), dx.nn.linear(16, 2, { generator }));
  const optimizer = dx.optim.adam(model.parameters(), { lr: 0.01 });
  const schedule = new dx.optim.lrScheduler.ExponentialLR(optimizer, { gamma: 0.99 });
  const samples = Array.from({ length: 14 }, (_, i) => [i / 14, 1 - i / 14, i % 3]);
  const loader = dx.data.dataLoader(samples, { batchSize: 4, shuffle: true, generator, collateFn: (rows) => dx.tensor(rows) });
  return { model, optimizer, schedule, generator, loader };
}

/** Of all tensors' bits and the position of the generator. */
export async function hashOf(dx, { model, optimizer, generator }) {
  const hash = createHash("sha256");
  dx.scope(() => {
    const tensors = [...Object.values(model.stateDict()), ...Object.values(optimizer.stateDict().state).flatMap((s) => Object.values(s))];
    for (const t of tensors) hash.update(t.dataSync());
  });
  hash.update(JSON.stringify(await generator.getState()));
  return hash.digest("hex").slice(0, 16);
}

/** Loads the last checkpoint of a folder, if there is one. Gives the step. */
export async function resume(dx, state, folder) {
  const last = await dx.latest(folder);
  if (last === null) return 0;
  return (await dx.load(last, { into: state })).state.step;
}

/** Steps until there are so many, each with a checkpoint before it is told. */
export async function* train(dx, state, folder, from, until, beforeSave = () => {}) {
  for (let step = from; step < until;)
    for await (const x of state.loader) {
      const loss = dx.nn.functional.mseLoss(state.model(x), x.slice(1, 0, 2));
      loss.backward();
      state.optimizer.step();
      state.optimizer.zeroGrad();
      state.schedule.step();
      step++;
      if (folder !== null) {
        beforeSave(step);
        await dx.save(join(folder, `step-${step}.safetensors`), { ...state, step }, { keepLast: 2, maxShardBytes: 400 });
      }
      yield { step, loss: await loss.item(), hash: await hashOf(dx, state) };
      x.dispose();
      loss.dispose();
      if (step === until) break;
    }
}
