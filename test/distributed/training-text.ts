/** What ranks train: the data, network and loop of record.py and record-sharded.py, as the text of their programs. */
import { pathToFileURL } from "node:url";

/** Samples of a step, over all ranks. */
const BATCH = 8;

/**
 * Defines batch(step, part, of): inputs and targets of one of so many parts. network(), load(model): with the state that a file recorded, and
 * train(model, optimizer, of): the losses of 100 steps, of(step) being a step's batch.
 */
export const trainingText = (recordedFile: string, hidden: number): string => `const { readFileSync } = await import("node:fs");
const { state } = JSON.parse(readFileSync(new URL(${JSON.stringify(pathToFileURL(recordedFile).href)}), "utf8"));
const batch = (step, part, of) => {
  const n = Array.from({ length: ${BATCH} / of }, (_, i) => i + (part * ${BATCH}) / of + step * ${BATCH});
  const x = n.map((v) => Array.from({ length: 6 }, (_, i) => Math.sin(v * 1.3 + i * 0.7)));
  return [dx.tensor(x), dx.tensor(x.map(([a, b]) => Number(a > 0) + Number(b > 0.5)), { dtype: "int32" })];
};
const network = () => dx.nn.sequential(dx.nn.linear(6, ${hidden}), dx.nn.layerNorm(${hidden}), dx.nn.gelu(), dx.nn.linear(${hidden}, 3));
const load = (model) => {
  model.loadStateDict(Object.fromEntries(Object.entries(state).map(([name, values]) => [name, dx.tensor(values)])));
  return model;
};
const train = (model, optimizer, of) => Array.from({ length: 100 }, (_, step) => {
  const [x, y] = of(step);
  const loss = dx.nn.functional.crossEntropy(model.forward(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
  return loss.itemSync();
});
`;
