/** Compiled and eager training of small networks: losses and parameters after some steps, on both devices. */
import * as dx from "../../index.ts";
import type { Tensor } from "../../index.ts";
import type { Case } from "../case.ts";
import { randomFor } from "../operator-case.ts";
import type { Random } from "../values/seeded-random.ts";
import type { Side } from "../side.ts";
import { elementsOf } from "../values/layouts.ts";
import { compareRuns, read, type Run } from "./lowering-cases.ts";

interface Network {
  readonly name: string;
  readonly input: readonly number[];
  readonly classes: number;
  readonly make: () => dx.nn.Sequential;
  readonly optimizer: (parameters: dx.nn.Parameter[]) => { step(): void; zeroGrad(): void };
}

const { nn, optim } = dx;

/** A small network that an optimizer moves. */
const perceptron = (name: string, optimizer: Network["optimizer"]): Network => ({
  name: `perceptron with ${name}`,
  input: [8, 6],
  classes: 3,
  make: () => nn.sequential(nn.linear(6, 3)),
  optimizer,
});

/** Every other optimizer. */
const others = (
  ["adadelta", "adagrad", "adamax", "asgd", "nadam", "radam", "rmsprop", "rprop", "lamb", "lion", "adafactor", "sparseAdam"] as const
).map((name) => perceptron(name, (p) => optim[name](p, { lr: 0.02 })));

const networks: readonly Network[] = [
  ...others,
  perceptron("8-bit AdamW", (p) => optim.adamW8bit(p, { lr: 0.02, min8bitSize: 0 })),
  perceptron("8-bit Lion", (p) => optim.lion8bit(p, { lr: 0.02, min8bitSize: 0 })),
  perceptron("muon", (p) => {
    const [matrices, others] = [p.filter((each) => each.rank === 2), p.filter((each) => each.rank !== 2)];
    const both = [optim.muon(matrices, { lr: 0.02 }), optim.sgd(others, { lr: 0.02 })];
    return { step: () => both.forEach((o) => o.step()), zeroGrad: () => both.forEach((o) => o.zeroGrad()) };
  }),
  perceptron("lookahead", (p) => optim.lookahead(optim.sgd(p, { lr: 0.05 }), { k: 2 })),
  {
    name: "perceptron with SGD and momentum",
    input: [16, 12],
    classes: 5,
    make: () => nn.sequential(nn.linear(12, 24), nn.relu(), nn.linear(24, 5)),
    optimizer: (p) => optim.sgd(p, { lr: 0.1, momentum: 0.9 }),
  },
  {
    name: "perceptron with LayerNorm, GELU and Adam",
    input: [16, 12],
    classes: 5,
    make: () => nn.sequential(nn.linear(12, 24), nn.layerNorm(24), nn.gelu(), nn.linear(24, 5)),
    optimizer: (p) => optim.adam(p, { lr: 0.01 }),
  },
  {
    name: "convolutions with BatchNorm, pooling and AdamW",
    input: [8, 1, 14, 14],
    classes: 10,
    make: () =>
      nn.sequential(
        nn.conv2d(1, 4, 3, { bias: false }),
        nn.batchNorm2d(4),
        nn.relu(),
        nn.maxPool2d(2),
        nn.conv2d(4, 8, 3),
        nn.relu(),
        nn.avgPool2d(2),
        nn.flatten(),
        nn.linear(32, 10),
      ),
    optimizer: (p) => optim.adamW(p, { lr: 0.01, weightDecay: 0.01 }),
  },
  {
    name: "strided convolution, sigmoid and SGD",
    input: [6, 2, 9, 9],
    classes: 4,
    make: () => nn.sequential(nn.conv2d(2, 6, 3, { stride: 2, padding: 1 }), nn.sigmoid(), nn.flatten(), nn.linear(150, 4)),
    optimizer: (p) => optim.sgd(p, { lr: 0.05 }),
  },
];

const STEPS = 6;

const noise = (random: Random, n: number, scale: number): Float32Array =>
  Float32Array.from({ length: n }, () => random.real(-scale, scale));

/** Parameters come from the case's random numbers, so that both devices begin with the same ones. */
function fillParameters(model: dx.nn.Sequential, random: Random, side: Side): void {
  for (const p of model.parameters()) {
    const scale = p.shape.length > 1 ? Math.sqrt(3 / elementsOf(p.shape.slice(1))) : 0.5;
    dx.noGrad(() => p.copy_(dx.tensor(noise(random, p.size, scale), { shape: [...p.shape], device: side.name })));
  }
}

function train(side: Side, network: Network, mode: "eager" | "compiled", random: Random): Run {
  return dx.withDevice(side.name, () =>
    dx.scope(() => {
      const model = network.make();
      fillParameters(model, random, side);
      const optimizer = network.optimizer([...model.parameters()]);
      const one = (x: Tensor, y: Tensor): Tensor => {
        optimizer.zeroGrad();
        const loss = nn.functional.crossEntropy(model.forward(x), y);
        loss.backward();
        optimizer.step();
        return loss.detach();
      };
      const compiled = mode === "compiled" ? dx.compile(one) : null;
      const losses: Tensor[] = [];
      for (let i = 0; i < STEPS; i++) {
        const x = dx.tensor(noise(random, elementsOf(network.input), 1), { shape: [...network.input], device: side.name });
        const labels = Int32Array.from({ length: network.input[0]! }, () => random.between(0, network.classes - 1));
        losses.push((compiled ?? one)(x, dx.tensor(labels, { device: side.name })));
      }
      const values = read([...losses, ...model.parameters()]);
      compiled?.dispose();
      return { values, outputs: values.length };
    }),
  );
}

/** In-place operations repoint storages or copy into them: the views of a tensor must show them on every device. */
function inPlace(side: Side, random: Random): Run {
  return dx.withDevice(side.name, () =>
    dx.scope(() => {
      const x = dx.tensor(noise(random, 40, 2), { shape: [5, 8], device: side.name });
      const whole = x.clone();
      const row = dx.narrow(x, 0, 1, 2);
      const column = dx.narrow(x, 1, 3, 2);
      row.mul_(2);
      column.add_(dx.ones([5, 2]));
      dx.transpose(x, 0, 1).relu_();
      x.set([dx.s(2, 5, 2), dx.s(1, 8, 3)], 7);
      whole.sub_(x);
      const values = read([x, row.contiguous(), column.contiguous(), whole]);
      return { values, outputs: values.length };
    }),
  );
}

export function* trainingCases(quick: boolean): Generator<Case> {
  for (const [i, network] of networks.entries()) {
    for (const mode of quick ? [i % 2 === 0 ? ("compiled" as const) : ("eager" as const)] : (["eager", "compiled"] as const)) {
      const id = `training/${network.name}/${mode}`;
      yield { id, run: (context) => compareRuns((side) => [train(side, network, mode, randomFor(id, context.seed))], "trained", context) };
    }
  }
  const id = "training/in place";
  yield { id, run: (context) => compareRuns((side) => [inPlace(side, randomFor(id, context.seed))], "rounded", context) };
}
