/** A training that goes on from a file goes on to the last bit. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";

const optimizers = {
  sgd: (p) => dx.optim.sgd(p, { lr: 0.05, momentum: 0.9, nesterov: true }),
  adam: (p) => dx.optim.adam(p, { lr: 0.03 }),
  "adam with amsgrad": (p) => dx.optim.adam(p, { lr: 0.03, amsgrad: true }),
  adamW: (p) => dx.optim.adamW(p, { lr: 0.03 }),
  adagrad: (p) => dx.optim.adagrad(p, { lr: 0.03, lrDecay: 0.01 }),
  adadelta: (p) => dx.optim.adadelta(p),
  adamax: (p) => dx.optim.adamax(p, { lr: 0.03 }),
  asgd: (p) => dx.optim.asgd(p, { lr: 0.03, t0: 3 }),
  nadam: (p) => dx.optim.nadam(p, { lr: 0.03 }),
  radam: (p) => dx.optim.radam(p, { lr: 0.03 }),
  rmsprop: (p) => dx.optim.rmsprop(p, { lr: 0.03, momentum: 0.5, centered: true }),
  rprop: (p) => dx.optim.rprop(p),
} satisfies Record<string, (p: Iterable<dx.Tensor>) => dx.optim.Optimizer>;

describe.each(devices)("on %s", (device) => {
  it.each(Object.entries(optimizers))("%s", async (_, make) => {
    const begin = () => {
      const model = dx.nn.linear(3, 2, { device, generator: new dx.Generator(3) });
      return { model, optimizer: make(model.parameters()), generator: new dx.Generator(4) };
    };
    const losses = async ({ model, optimizer, generator }: ReturnType<typeof begin>, steps: number): Promise<number[]> => {
      const all: Promise<number>[] = [];
      for (let i = 0; i < steps; i++) {
        const x = dx.randn([5, 3], { generator, device });
        const loss = dx.mseLoss(model.forward(x), x.slice(1, 0, 2).mul(2));
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        all.push(loss.item());
      }
      return Promise.all(all);
    };
    const one = begin();
    await losses(one, 23);
    const { state, paramGroups } = one.optimizer.stateDict();
    const tensors: Record<string, dx.Tensor> = { ...one.model.stateDict() };
    for (const [i, slots] of Object.entries(state)) for (const [name, t] of Object.entries(slots)) tensors[`${i}/${name}`] = t;
    const bytes = await dx.io.safetensors.serialize(tensors, { facts: JSON.stringify([paramGroups, await one.generator.getState()]) });

    const two = begin();
    const file = dx.io.safetensors.deserialize(bytes, { device });
    const [groups, drawn] = JSON.parse(file.metadata.facts!) as [typeof paramGroups, dx.GeneratorState];
    const loaded: Record<string, Record<string, dx.Tensor>> = {};
    for (const [name, t] of Object.entries(file.tensors)) {
      const [i, slot] = name.split("/") as [string, string | undefined];
      if (slot !== undefined) (loaded[i] ??= {})[slot] = t;
    }
    two.model.loadStateDict({ weight: file.tensors.weight!, bias: file.tensors.bias! });
    two.optimizer.loadStateDict({ state: loaded, paramGroups: groups });
    two.generator.setState(drawn);
    expect(await losses(two, 10)).toEqual(await losses(one, 10));
  });
});
