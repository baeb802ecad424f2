/** exchange() between two devices of this process, in DataParallel.compileStep(), against one device. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";

// As in two-devices.test.ts: profiles of the software adapter, so that there are two devices without hardware.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4,rtx-3070@6.4";
const { clean, numbers } = await import("../device.ts");
const second = `dml:${dx.dml.deviceCount() - 1}`;
const first = second === "dml:0" ? "cpu" : "dml:0";
const pair = [first, second];

class Net extends dx.nn.Module {
  readonly inner = dx.nn.sequential(dx.nn.linear(5, 7), dx.nn.gelu(), dx.nn.linear(7, 3));
  readonly norm = dx.nn.layerNorm([3]);
  readonly unused = new dx.nn.Parameter(dx.tensor([1]));
  constructor() {
    super();
    this.registerBuffer("calls", dx.tensor([0], { dtype: "int32" }));
  }
  forward(x: dx.Tensor): dx.Tensor {
    dx.noGrad(() => (this as unknown as { calls: dx.Tensor }).calls.add_(1));
    return this.norm.forward(this.inner.forward(x));
  }
}

const close = (a: readonly number[], b: readonly number[]): void => {
  expect(a.length).toBe(b.length);
  a.forEach((v, i) => expect(Math.abs(v - b[i]!) / Math.max(1, Math.abs(b[i]!))).toBeLessThan(1e-4));
};
const weights = (m: dx.nn.Module): number[] => m.parameters().flatMap((p) => numbers(p));
const data = (batch: number, step: number): readonly [dx.Tensor, dx.Tensor] => [
  dx
    .arange(batch * 5, { dtype: "float32" })
    .add(step)
    .sin()
    .reshape([batch, 5]),
  dx
    .arange(batch * 3, { dtype: "float32" })
    .cos()
    .reshape([batch, 3]),
];
const error = (net: dx.nn.Module) => (x: dx.Tensor, y: dx.Tensor) => dx.nn.functional.mseLoss((net as Net).forward(x), y);

const optimizers = {
  sgd: (p: Iterable<dx.Tensor>) => dx.optim.sgd(p, { lr: 0.1, momentum: 0.9, weightDecay: 0.01 }),
  adamW: (p: Iterable<dx.Tensor>) => dx.optim.adamW(p, { lr: 0.02 }),
};

const STEPS = 6;

/** Steps on both devices, and on one; the rate changes on the way. */
function losses(
  optimizer: (p: Iterable<dx.Tensor>) => dx.optim.Optimizer,
  { batch, ...options }: { readonly batch: number; readonly bucketSizeInBytes?: number; readonly check?: boolean },
): void {
  const [net, alone] = [new Net(), new Net()];
  alone.loadStateDict(net.stateDict());
  const [own, other] = [optimizer(net.parameters()), optimizer(alone.parameters())];
  const step = dx.nn.dataParallel(net, pair).compileStep(error(net), own, options);
  for (let i = 0; i < STEPS; i++) {
    if (i === 3) own.lr = other.lr = 0.01;
    const [x, y] = data(batch, i);
    const loss = step(x, y);
    expect([loss.shape, loss.dtype, String(loss.device), loss.requiresGrad]).toEqual([[], "float32", first, false]);
    const expected = error(alone)(x, y);
    expected.backward();
    other.step();
    other.zeroGrad();
    close(numbers(loss), numbers(expected));
    close(weights(net), weights(alone));
  }
  expect(net.parameters().every((p) => String(p.device) === first && p.grad === null)).toBe(true);
  expect(numbers((net as unknown as { calls: dx.Tensor }).calls)).toEqual([STEPS]);
  expect(step.programs).toBe(4);
  // The state is in the user's optimizer.
  expect(Object.keys(own.stateDict().state)).toEqual(Object.keys(other.stateDict().state));
  step.dispose();
}

describe("DataParallel.compileStep", () => {
  for (const name of ["sgd", "adamW"] as const)
    for (const batch of [8, 7, 2])
      test(`${name}, a batch of ${batch}: losses and parameters as on one device`, () => {
        dx.withDevice(first, () => losses(optimizers[name], { batch }));
      });

  test("a bucket for each parameter, and calls that are not checked", () => {
    dx.withDevice(first, () => losses(optimizers.sgd, { batch: 6, bucketSizeInBytes: 1 }));
    dx.withDevice(first, () => losses(optimizers.adamW, { batch: 6, bucketSizeInBytes: 64, check: false }));
  });

  test("parts that are on their devices, parameters written meanwhile, clipped gradients", () => {
    dx.withDevice(first, () => {
      const [net, alone] = [new Net(), new Net()];
      const initial = { ...new Net().stateDict() };
      const [own, other] = [net, alone].map((m) => optimizers.adamW(m.parameters()));
      const update = (o: dx.optim.Optimizer): void => {
        dx.nn.utils.clipGradNorm_(o.paramGroups[0]!.params as dx.nn.Parameter[], 0.05);
        o.step();
      };
      const step = dx.nn.dataParallel(net, pair).compileStep(error(net), own!, { update });
      for (let i = 0; i < 6; i++) {
        if (i % 3 === 0)
          for (const [m, o] of [
            [net, own!],
            [alone, other!],
          ] as const) {
            m.loadStateDict(initial);
            if (i > 0) o.loadStateDict({ ...o.stateDict(), state: {} });
          }
        const [x, y] = data(6, i);
        const halves = pair.map((device, k) => [x, y].map((t) => t.narrow(0, 3 * k, 3).to(device)) as [dx.Tensor, dx.Tensor]);
        const loss = step.ofParts(halves);
        const expected = error(alone)(x, y);
        expected.backward();
        update(other!);
        other!.zeroGrad();
        close(numbers(loss), numbers(expected));
        close(weights(net), weights(alone));
      }
    });
  });

  test("leaves no buffers behind", async () => {
    for (const device of pair)
      await clean(
        device,
        () =>
          dx.withDevice(first, () => {
            const net = dx.nn.linear(4, 4);
            const optimizer = optimizers.adamW(net.parameters());
            const step = dx.nn.dataParallel(net, pair).compileStep((x: dx.Tensor) => net.forward(x).pow(2).mean(), optimizer);
            const x = dx.ones([4, 4]);
            for (let i = 0; i < 3; i++) step(x).dispose();
            step.dispose();
            optimizer.dispose();
            for (const t of [x, ...net.parameters()]) t.dispose();
          }),
        { collect: true },
      );
  });

  test("refuses what it cannot do", () => {
    dx.withDevice(first, () => {
      const net = dx.nn.linear(2, 2);
      const parallel = dx.nn.dataParallel(net, pair);
      const optimizer = optimizers.sgd(net.parameters());
      const lossOf = (x: dx.Tensor): dx.Tensor => net.forward(x).sum();
      const step = parallel.compileStep(lossOf, optimizer);
      expect(() => step(dx.ones([1, 2]))).toThrow(dx.ValueError);
      expect(() => step.ofParts([[dx.ones([1, 2])], [dx.ones([1, 2])]])).toThrow(dx.DeviceError);
      expect(() => step.ofParts([[dx.ones([1, 2])]])).toThrow("the inputs of 2 devices");
      expect(() => dx.compile((x: dx.Tensor) => step(x))(dx.ones([2, 2]))).toThrow(dx.TraceError);
      expect(() => parallel.compileStep(lossOf, optimizers.sgd(dx.nn.linear(2, 2).parameters()))).toThrow("of the module's parameters");
      expect(() => parallel.compileStep(lossOf, optimizer, { bucketSizeInBytes: 0 })).toThrow(dx.ValueError);
      expect(() => parallel.compileStep((x: dx.Tensor) => net.forward(x), optimizer)(dx.ones([2, 2]))).toThrow(dx.ShapeError);
      expect(() => dx.nn.dataParallel(net, [second, first]).compileStep(lossOf, optimizer)).toThrow(dx.DeviceError);
      for (const p of net.parameters()) p.requiresGrad_(false);
      expect(() => parallel.compileStep(lossOf, optimizer)).toThrow(dx.AutogradError);
    });
  });
});
