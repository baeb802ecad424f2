/** Training on a backend from outside, compared with cpu: optimizers, mixed precision, checkpoints, quantized numbers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";
import { expectClose } from "../tolerance.ts";

const device = "openreg:0";
const wave = (count: number, phase = 0): number[] => Array.from({ length: count }, (_, i) => Math.sin(12.9898 * i + phase) / 2);
const on = (where: string, shape: readonly number[], phase = 0): dx.Tensor =>
  dx.tensor(wave(shape.reduce((n, d) => n * d, 1), phase), { device: where }).reshape(shape); // prettier-ignore

beforeAll(() => dx.backend.register(openreg));
afterEach(() => {
  dx.resetFallbackStats();
  dx.closeDevice(device);
});

function network(where: string): dx.nn.Module & { forward(x: dx.Tensor): dx.Tensor } {
  const net = dx.withDevice(where, () => dx.nn.sequential(dx.nn.linear(6, 8), dx.nn.layerNorm([8]), dx.nn.gelu(), dx.nn.linear(8, 3)));
  dx.noGrad(() => net.parameters().forEach((p, i) => p.copy_(on(where, p.shape, i))));
  return net as never;
}

const target = (where: string): dx.Tensor => dx.tensor([0, 1, 2, 0, 1], { dtype: "int32", device: where });

describe("optimizers, eager and compiled, take the steps that they take on cpu", () => {
  const makers: Record<string, (p: dx.nn.Parameter[]) => dx.optim.Optimizer> = {
    sgd: (p) => dx.optim.sgd(p, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
    adam: (p) => dx.optim.adam(p, { lr: 0.05 }),
    adamW: (p) => dx.optim.adamW(p, { lr: 0.05 }),
    nadam: (p) => dx.optim.nadam(p, { lr: 0.05 }),
    radam: (p) => dx.optim.radam(p, { lr: 0.05 }),
    adamax: (p) => dx.optim.adamax(p, { lr: 0.05 }),
    adagrad: (p) => dx.optim.adagrad(p, { lr: 0.05 }),
    adadelta: (p) => dx.optim.adadelta(p, { lr: 0.5 }),
    rmsprop: (p) => dx.optim.rmsprop(p, { lr: 0.02, centered: true }),
    rprop: (p) => dx.optim.rprop(p, { lr: 0.02 }),
    asgd: (p) => dx.optim.asgd(p, { lr: 0.05 }),
  };
  const losses = (where: string, make: (p: dx.nn.Parameter[]) => dx.optim.Optimizer, isCompiled: boolean): number[] =>
    dx.withDevice(where, () => {
      const net = network(where);
      const optimizer = make(net.parameters());
      const step = (x: dx.Tensor, y: dx.Tensor): dx.Tensor => {
        optimizer.zeroGrad();
        const loss = dx.nn.functional.crossEntropy(net.forward(x), y);
        loss.backward();
        optimizer.step();
        return loss;
      };
      const run = isCompiled ? dx.compile(step) : step;
      return Array.from({ length: 5 }, (_, i) => run(on(where, [5, 6], i), target(where)).itemSync());
    });
  it.each(Object.entries(makers))("%s", (_, make) => {
    const want = losses("cpu", make, false);
    for (const isCompiled of [false, true])
      losses(device, make, isCompiled).forEach((loss, i) => expect(Math.abs(loss - want[i]!)).toBeLessThan(1e-4));
    expect(want.at(-1)).not.toBe(want[0]);
  });
});

describe("two devices train one model, each on its part of the samples", () => {
  // "host": gradients go through the host's memory. "device": from one device to the other.
  it.each(["host", "device"] as const)("as one device does on all of them, gradients summed by %s copies", (way) => {
    const rows = on("cpu", [8, 6]);
    const classes = dx.tensor([0, 1, 2, 0, 1, 2, 0, 1], { dtype: "int32", device: "cpu" });
    const batch = (where: string, indices: readonly number[]): readonly [dx.Tensor, dx.Tensor] => {
      const chosen = dx.tensor([...indices], { dtype: "int32", device: "cpu" });
      return [rows.indexSelect(0, chosen).to(where), classes.indexSelect(0, chosen).to(where)];
    };
    const lossOf = (net: ReturnType<typeof network>, [x, y]: readonly [dx.Tensor, dx.Tensor]): dx.Tensor =>
      dx.nn.functional.crossEntropy(net.forward(x), y);
    const parts = [0, 1].map((rank) => {
      const where = `openreg:${rank}`;
      const net = network(where);
      const sampler = new dx.data.DistributedSampler(8, { numReplicas: 2, rank, shuffle: false });
      return { where, net, optimizer: dx.optim.sgd(net.parameters(), { lr: 0.5, momentum: 0.9 }), indices: [...sampler] };
    });
    const whole = network("cpu");
    const optimizer = dx.optim.sgd(whole.parameters(), { lr: 0.5, momentum: 0.9 });
    for (let step = 0; step < 3; step++) {
      optimizer.zeroGrad();
      lossOf(whole, batch("cpu", [0, 1, 2, 3, 4, 5, 6, 7])).backward();
      optimizer.step();
      for (const { where, net, optimizer: own, indices } of parts) {
        own.zeroGrad();
        dx.withDevice(where, () => lossOf(net, batch(where, indices)).backward());
      }
      const gradients = parts.map(({ net }) => net.parameters().map((p) => p.grad!.clone()));
      parts.forEach(({ where, net }, rank) => {
        const theirs = gradients[1 - rank]!.map((g) => (way === "host" ? g.to("cpu").to(where) : g.to(where)));
        dx.noGrad(() => net.parameters().forEach((p, i) => p.grad!.add_(theirs[i]!).mul_(0.5)));
      });
      for (const { optimizer: own } of parts) own.step();
    }
    for (const { net } of parts)
      net.parameters().forEach((p, i) => expectClose(p, whole.parameters()[i]!.toArraySync(), { rtol: 1e-4, atol: 1e-5 }));
    dx.closeDevice("openreg:1");
  });
});

it("mixed precision: float16 weights and a GradScaler, a step with infinite gradients left out", () => {
  const run = (where: string): (number | boolean)[] =>
    dx.withDevice(where, () => {
      const net = network(where).to("float16") as ReturnType<typeof network>;
      const optimizer = dx.optim.sgd(net.parameters(), { lr: 0.1 });
      const scaler = dx.optim.gradScaler({ initScale: 2 ** 10, growthInterval: 2 });
      return [1, 1, Infinity, 1].flatMap((factor, i) => {
        optimizer.zeroGrad();
        const y = net.forward(on(where, [5, 6], i).to("float16"));
        scaler.scale(y.square().mean().mul(factor)).backward();
        const stepped = scaler.stepSync(optimizer);
        scaler.update();
        return [
          stepped,
          net
            .forward(on(where, [5, 6], i).to("float16"))
            .to("float32")
            .sum()
            .itemSync(),
        ];
      });
    });
  const want = run("cpu");
  expect(want.filter((v) => typeof v === "boolean")).toEqual([true, true, false, true]);
  run(device).forEach((v, i) => {
    if (typeof v === "boolean") expect(v).toBe(want[i]);
    else expect(Math.abs(v - (want[i] as number))).toBeLessThan(0.05);
  });
  // It computes in float32: what it stores in float16 is computed elsewhere, and counted.
  expect(dx.fallbackStats().length).toBeGreaterThan(0);
});

it("a checkpoint of model and optimizer continues as if there had been none, on another device too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-checkpoint-"));
  try {
    const make = (where: string) => {
      const net = network(where);
      const optimizer = dx.optim.adam(net.parameters(), { lr: 0.05 });
      const step = (i: number): number =>
        dx.withDevice(where, () => {
          optimizer.zeroGrad();
          const loss = dx.nn.functional.crossEntropy(net.forward(on(where, [5, 6], i)), target(where));
          loss.backward();
          optimizer.step();
          return loss.itemSync();
        });
      return { net, optimizer, step };
    };
    const first = make(device);
    for (let i = 0; i < 3; i++) first.step(i);
    const file = join(folder, "net.safetensors");
    await dx.io.safetensors.save(file, first.net.stateDict() as never);
    const others = [device, "openreg:1", "cpu"].map((where) => ({ where, ...make(where) }));
    for (const { where, net, optimizer } of others) {
      net.loadStateDict((await dx.io.safetensors.load(file, { device: where })).tensors);
      optimizer.loadStateDict(first.optimizer.stateDict());
    }
    const want = [3, 4, 5].map(first.step);
    for (const { step } of others) [3, 4, 5].forEach((i, k) => expect(Math.abs(step(i) - want[k]!)).toBeLessThan(1e-5));
  } finally {
    rmSync(folder, { recursive: true });
    dx.closeDevice("openreg:1");
  }
});

it("quantized numbers: levels, products of integers, their fake form's gradient", () => {
  const results = (where: string): unknown[] =>
    dx.withDevice(where, () => {
      const q = dx.quantize(dx.tensor([[-3, 0.25], [0.75, 400]]), 0.5, 3); // prettier-ignore
      const product = dx.intMm(q, q, { aZeroPoint: 3, bZeroPoint: 3 });
      const x = dx.tensor([-9, 0.3, 2, 99]).requiresGrad_();
      dx.fakeQuantizePerTensorAffine(x, 0.5, 3, 0, 15).sum().backward();
      return [q, product, dx.dequantize(q, 0.5, 3), x.grad!].map((t) => t.toArraySync());
    });
  const [levels, product, back, gradient] = results(device);
  expect([levels, back, gradient]).toEqual([
    [[0, 3], [5, 255]],
    [[-1.5, 0], [1, 126]],
    [0, 1, 1, 0],
  ]); // prettier-ignore
  // (q - 3) times itself: [[-3, 0], [2, 252]].
  expect(product).toEqual([[9, 0], [498, 63504]]); // prettier-ignore
  expect(results("cpu")).toEqual(results(device));
});

it("gradients of second order inside a compiled function", () => {
  const fn = (x: dx.Tensor): dx.Tensor => {
    const leaf = x.detach().requiresGrad_();
    const [first] = dx.grad(dx.softmax(leaf, -1).square().sum(), [leaf], { createGraph: true });
    return dx.grad(first!.square().sum(), [leaf])[0]!;
  };
  const compiled = dx.compile(fn);
  for (let i = 0; i < 3; i++) expectClose(compiled(on(device, [3, 4], i)), fn(on("cpu", [3, 4], i)).toArraySync());
});

it("errors name the operation, the argument and the device's tensor", () => {
  expect(() => dx.linear(on(device, [2, 3]), on(device, [4, 5]))).toThrow(dx.ShapeError);
  expect(() => on(device, [2, 3]).add(on("cpu", [2, 3]))).toThrow(/all on openreg:0; received one on cpu/);
});
