/** Training runs that PyTorch made, step by step: losses, gradients, weights. Eager and compiled. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { lossOf, modelOf, numbersOf, optimizerOf, readTrace, type TrainingTrace } from "../golden/traces.ts";
import { tensorOf } from "../golden/cases.ts";
import { expectClose } from "../tolerance.ts";

const IDS = ["linear-regression-sgd", "mlp-adam", "mlp-adamw", "mlp-adam-amsgrad-l2", "conv-autoencoder-adam"];

const rows = (t: dx.Tensor, batch: readonly number[] | undefined): dx.Tensor =>
  batch === undefined ? t : dx.indexSelect(t, 0, dx.tensor(Int32Array.from(batch)));

function train(trace: TrainingTrace, compiled: boolean): void {
  const model = modelOf(trace);
  const optimizer = optimizerOf(trace, model.parameters());
  const x = tensorOf(trace.inputs[0]!);
  const target = tensorOf(trace.targets);
  const forwardBackward = (bx: dx.Tensor, by: dx.Tensor): dx.Tensor => {
    const loss = lossOf(trace, model.forward(bx), by);
    loss.backward();
    return loss;
  };
  const whole = (bx: dx.Tensor, by: dx.Tensor): dx.Tensor => {
    const loss = forwardBackward(bx, by);
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
  const step = compiled ? dx.compile(whole) : whole;
  for (let i = 0; i < trace.steps; i++) {
    const batch = trace.batches?.[i];
    const [bx, by] = [rows(x, batch), rows(target, batch)];
    let loss: dx.Tensor;
    if (i === 0) {
      loss = forwardBackward(bx, by);
      for (const [name, p] of model.namedParameters()) expectClose(p.grad!, numbersOf(trace.gradsStep1[name]!), { rtol: 1e-4, atol: 1e-5 });
      optimizer.step();
      for (const [name, p] of model.namedParameters()) expectClose(p, numbersOf(trace.afterStep1[name]!), trace.tol.weights);
      optimizer.zeroGrad();
    } else {
      loss = step(bx, by);
    }
    const { rtol, atol } = trace.tol.losses;
    expect(Math.abs(loss.itemSync() - trace.losses[i]!), `loss of step ${i}`).toBeLessThanOrEqual(atol + rtol * Math.abs(trace.losses[i]!));
  }
  for (const [name, p] of model.namedParameters()) expectClose(p, numbersOf(trace.final[name]!), trace.tol.weights);
  model.eval();
  expectClose(
    dx.noGrad(() => model.forward(x)),
    numbersOf(trace.evalOutput),
    trace.tol.weights,
  );
  if (compiled) (step as dx.Compiled<[dx.Tensor, dx.Tensor], dx.Tensor>).dispose();
  optimizer.dispose();
  model.dispose();
}

eachDevice("training runs", (device) => {
  for (const id of IDS) {
    const trace = readTrace(id);
    for (const compiled of [false, true]) {
      test(`${trace.title} (${id})${compiled ? ", compiled" : ""}`, async () => {
        // The default generator's state stays.
        dx.withDevice(device, () => {
          dx.rand([1]).dispose();
        });
        await clean(device, () => {
          train(trace, compiled);
        });
      });
    }
  }
});
