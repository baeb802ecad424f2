/** All that a training depends on in one safetensors file, which appears whole or not at all. */
import { existsSync } from "node:fs";
import * as dx from "dxtensor";

/** What a checkpoint has in addition to the tensors. */
interface Facts {
  readonly step: number;
  readonly groups: readonly object[];
  readonly schedule: object;
  readonly generator: dx.GeneratorState;
}

export interface Training {
  readonly model: dx.nn.Sequential;
  readonly optimizer: dx.optim.Adam;
  readonly schedule: dx.optim.lrScheduler.LRScheduler;
  readonly generator: dx.Generator;
}

/** Writes the state after `step` steps. */
export async function saveCheckpoint(path: string, step: number, { model, optimizer, schedule, generator }: Training): Promise<void> {
  const tensors: Record<string, dx.Tensor> = {};
  for (const [name, t] of Object.entries(model.stateDict())) tensors[`model.${name}`] = t;
  const { state, paramGroups } = optimizer.stateDict();
  // "optimizer.3.exp_avg": the moment of the fourth parameter.
  for (const [parameter, slots] of Object.entries(state))
    for (const [name, t] of Object.entries(slots)) tensors[`optimizer.${parameter}.${name}`] = t;
  const facts: Facts = { step, groups: paramGroups, schedule: schedule.stateDict(), generator: await generator.getState() };
  await dx.io.safetensors.save(path, tensors, { facts: JSON.stringify(facts) });
}

/** Brings everything back to where the file says; 0, and nothing changed, where there is none. */
export async function loadCheckpoint(path: string, { model, optimizer, schedule, generator }: Training): Promise<number> {
  if (!existsSync(path)) return 0;
  const { tensors, metadata } = await dx.io.safetensors.load(path);
  const facts = JSON.parse(metadata.facts ?? "{}") as Facts;
  const weights: Record<string, dx.Tensor> = {};
  const state: Record<string, Record<string, dx.Tensor>> = {};
  for (const [name, t] of Object.entries(tensors)) {
    const [kind, first = "", ...rest] = name.split(".");
    if (kind === "model") weights[[first, ...rest].join(".")] = t;
    else (state[first] ??= {})[rest.join(".")] = t;
  }
  model.loadStateDict(weights);
  optimizer.loadStateDict({ state, paramGroups: facts.groups } as unknown as dx.optim.OptimizerState);
  schedule.loadStateDict(facts.schedule as never);
  generator.setState(facts.generator);
  return facts.step;
}
