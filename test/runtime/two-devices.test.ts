/** DataParallel and Pipeline over two devices of this process, against one device. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";

// Read when a device is first used, which is below: profiles of the software adapter, so that there are two devices without hardware.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4,rtx-3070@6.4";
const { clean, numbers } = await import("../device.ts");
const second = `dml:${dx.dml.deviceCount() - 1}`;
const first = second === "dml:0" ? "cpu" : "dml:0";
const pair = [first, second];

class Net extends dx.nn.Module {
  readonly inner = dx.nn.sequential(dx.nn.linear(5, 7), dx.nn.gelu(), dx.nn.linear(7, 3));
  /** Tied, and unused by the first part. */
  readonly scale = new dx.nn.Parameter(dx.tensor([2, 3, 4]));
  readonly unused = new dx.nn.Parameter(dx.tensor([1]));
  constructor() {
    super();
    this.registerBuffer("shift", dx.tensor([1, 2, 3]));
    this.registerBuffer("calls", dx.tensor([0], { dtype: "int32" }));
  }
  forward(x: dx.Tensor): dx.Tensor {
    dx.noGrad(() => (this as unknown as { calls: dx.Tensor }).calls.add_(1));
    return this.inner
      .forward(x)
      .mul(this.scale)
      .add((this as unknown as { shift: dx.Tensor }).shift);
  }
}

const close = (a: readonly number[], b: readonly number[]): void => {
  expect(a.length).toBe(b.length);
  a.forEach((v, i) => expect(Math.abs(v - b[i]!) / Math.max(1, Math.abs(b[i]!))).toBeLessThan(1e-4));
};
const gradients = (m: dx.nn.Module): (number[] | null)[] => m.parameters().map((p) => (p.grad === null ? null : numbers(p.grad)));

describe("dataParallel", () => {
  for (const batch of [7, 2, 1, 0])
    test(`a batch of ${batch}: outputs, gradients and buffers as on one device`, () => {
      dx.withDevice(first, () => {
        const net = new Net();
        const alone = net.clone();
        const parallel = dx.nn.dataParallel(net, pair);
        const x = dx.rand([batch, 5]);
        for (let call = 1; call <= 3; call++) {
          const [a, b] = [parallel.forward(x), alone.forward(x)];
          expect([String(a.device), a.shape]).toEqual([first, [batch, 3]]);
          close(numbers(a), numbers(b));
          a.mul(a).sum().backward();
          b.mul(b).sum().backward();
          expect(net.unused.grad).toBe(null);
          gradients(net).forEach((g, i) => (g === null ? expect(gradients(alone)[i]).toBe(null) : close(g, gradients(alone)[i]!)));
          expect(numbers((net as unknown as { calls: dx.Tensor }).calls)).toEqual([call]);
        }
        expect(net.parameters().every((p) => String(p.device) === first)).toBe(true);
        expect(Object.keys(parallel.stateDict())[0]).toMatch(/^module\./);
      });
    });

  test("structures, tensors without axes, other values, another axis and output device", () => {
    class Structured extends dx.nn.Module {
      readonly w = new dx.nn.Parameter(dx.tensor([10]));
      forward(x: { a: dx.Tensor; b: readonly [dx.Tensor, string] }, factor: dx.Tensor, k: number): unknown {
        const y = x.a.mul(this.w).mul(factor);
        return { y, list: [x.b[0].add(k), x.b[1]], loss: y.sum(), none: null };
      }
    }
    dx.withDevice(first, () => {
      const parallel = dx.nn.dataParallel(new Structured(), pair, { axis: 1, outputDevice: second });
      const a = dx.arange(6, { dtype: "float32" }).reshape([2, 3]);
      const out = parallel.forward({ a, b: [a.to("int32"), "text"] }, dx.tensor(2), 5) as {
        y: dx.Tensor;
        list: [dx.Tensor, string];
        loss: dx.Tensor;
        none: null;
      };
      expect(String(out.y.device)).toBe(second);
      expect(out.y.toArraySync()).toEqual([
        [0, 20, 40],
        [60, 80, 100],
      ]);
      expect(out.list[0].toArraySync()).toEqual([
        [5, 6, 7],
        [8, 9, 10],
      ]);
      expect([out.list[1], out.none]).toEqual(["text", null]);
      expect(numbers(out.loss)).toEqual([160, 140]);
      out.loss.sum().backward();
      expect(numbers(parallel.module.w.grad!)).toEqual([30]);
    });
  });

  test("training: 10 losses as on one device, with the second gradient too", () => {
    dx.withDevice(first, () => {
      const net = new Net();
      const alone = net.clone();
      const train = (model: dx.nn.Module, of: Net): number[] => {
        const optimizer = dx.optim.adamW(of.parameters(), { lr: 0.05 });
        return Array.from({ length: 10 }, (_, step) => {
          const x = dx.arange(40, { dtype: "float32" }).add(step).sin().reshape([8, 5]);
          const y = (model as Net).forward(x);
          const loss = y.mul(y).mean();
          optimizer.zeroGrad();
          loss.backward();
          optimizer.step();
          return loss.itemSync();
        });
      };
      close(train(dx.nn.dataParallel(net, pair) as unknown as dx.nn.Module, net), train(alone, alone));
      const x = dx.ones([4, 5]);
      const [of, ofAlone] = [dx.nn.dataParallel(net, pair).forward(x), net.forward(x)].map((y) => {
        const [g] = dx.grad(y.mul(y).sum(), [net.scale], { createGraph: true });
        return numbers(dx.grad(g!.sum(), [net.scale])[0]!);
      });
      close(of!, ofAlone!);
    });
  });

  test("leaves no buffers behind", async () => {
    for (const device of pair)
      await clean(
        device,
        () => {
          const net = dx.nn.linear(4, 4, { device: first });
          const out = dx.noGrad(() => dx.nn.dataParallel(net, pair).forward(dx.ones([4, 4], { device: first })));
          expect(out.shape).toEqual([4, 4]);
          net.dispose();
        },
        { collect: true },
      );
  });

  test("refuses what it cannot do", () => {
    dx.withDevice(first, () => {
      const net = dx.nn.linear(2, 2);
      expect(() => dx.nn.dataParallel(net, [])).toThrow(dx.ValueError);
      expect(() => dx.nn.dataParallel(net, [first, first])).toThrow("different devices");
      expect(() => dx.nn.dataParallel(net, [first, "meta"])).toThrow(dx.DeviceError);
      expect(() => dx.nn.dataParallel(net, pair, { axis: -1 })).toThrow(dx.ValueError);
      expect(() => dx.nn.dataParallel(net, [second, first]).forward(dx.ones([2, 2], { device: second }))).toThrow(dx.DeviceError);
      expect(() => dx.compile((x: dx.Tensor) => dx.nn.dataParallel(net, pair).forward(x))(dx.ones([2, 2]))).toThrow(dx.TraceError);
      class Two extends dx.nn.Module {
        forward(a: dx.Tensor, b: dx.Tensor): dx.Tensor {
          return a.add(b);
        }
      }
      expect(() => dx.nn.dataParallel(new Two(), pair).forward(dx.ones([2, 2]), dx.ones([3, 2]))).toThrow("one size along axis 0 (2)");
    });
  });
});

/** Three stages on two devices, the same layers alone on the first one, and an optimizer of each. */
function threeStages(options: { readonly microbatches: number; readonly schedule?: "1F1B" | "GPipe" }) {
  const stages = [dx.nn.linear(5, 6), dx.nn.sequential(dx.nn.gelu(), dx.nn.linear(6, 6)), dx.nn.linear(6, 2)] as const;
  const alone = dx.nn.sequential(...stages.map((s) => s.clone() as dx.nn.Layer));
  const pipe = dx.nn.pipeline(stages, { devices: [first, second, first], ...options });
  const optimizers = [pipe, alone].map((m) => dx.optim.sgd(m.parameters(), { lr: 0.1, momentum: 0.9 }));
  const data = (batch: number, step: number): dx.Tensor =>
    dx
      .arange(batch * 5, { dtype: "float32" })
      .add(step)
      .sin()
      .reshape([batch, 5]);
  return { stages, alone, pipe, optimizers, data };
}

describe("pipeline", () => {
  for (const [batch, microbatches] of [
    [8, 4],
    [5, 3],
    [1, 4],
    [6, 1],
  ] as const)
    test(`a batch of ${batch} in ${microbatches} parts: losses and gradients as on one device`, () => {
      dx.withDevice(first, () => {
        const { stages, alone, pipe, optimizers, data } = threeStages({ microbatches });
        expect(stages[1].parameters().every((p) => String(p.device) === second)).toBe(true);
        for (let step = 0; step < 4; step++) {
          const x = data(batch, step);
          const losses = [pipe.forward(x), alone.forward(x)].map((y) => y.mul(y).mean());
          close(numbers(losses[0]!), numbers(losses[1]!));
          for (const loss of losses) loss.backward();
          gradients(pipe).forEach((g, i) => close(g!, gradients(alone)[i]!));
          for (const optimizer of optimizers) {
            optimizer.step();
            optimizer.zeroGrad();
          }
        }
      });
    });

  for (const schedule of ["1F1B", "GPipe"] as const)
    for (const [batch, microbatches] of [
      [8, 4],
      [5, 3],
      [1, 4],
      [6, 1],
    ] as const)
      test(`step() by ${schedule} of ${batch} in ${microbatches} parts: losses and gradients as on one device`, () => {
        dx.withDevice(first, () => {
          const { alone, pipe, optimizers, data } = threeStages({ microbatches, schedule });
          for (let step = 0; step < 4; step++) {
            const x = data(batch, step).requiresGrad_();
            const targets = { y: dx.arange(batch * 2, { dtype: "float32" }).reshape([batch, 2]) };
            const error = (y: dx.Tensor, { y: wanted }: typeof targets): dx.Tensor => dx.nn.functional.mseLoss(y, wanted);
            const loss = pipe.step([x], targets, error);
            const own = x.grad === null ? null : numbers(x.grad);
            x.grad = null;
            const expected = error(alone.forward(x), targets);
            close(numbers(loss), numbers(expected));
            expect([loss.requiresGrad, String(loss.device), loss.shape]).toEqual([false, first, []]);
            expected.backward();
            close(own!, numbers(x.grad!));
            gradients(pipe).forEach((g, i) => close(g!, gradients(alone)[i]!));
            for (const optimizer of optimizers) {
              optimizer.step();
              optimizer.zeroGrad();
            }
          }
        });
      });

  test("step() by 1F1B keeps two microbatches where GPipe keeps all, and nothing afterwards", async () => {
    const peaks = new Map<string, number>();
    for (const schedule of ["1F1B", "GPipe"] as const)
      await clean(
        first,
        () =>
          dx.withDevice(first, () => {
            const layers = () => dx.nn.sequential(dx.nn.linear(64, 64), dx.nn.gelu(), dx.nn.linear(64, 64));
            const pipe = dx.nn.pipeline([layers(), layers()] as const, { devices: pair, microbatches: 8, schedule });
            const [x, y] = [dx.ones([512, 64]), dx.ones([512, 64], { device: second })];
            const run = (): number => {
              const start = dx.memoryStatistics(first).liveInBytes;
              let peak = 0;
              pipe
                .step([x], y, (output, wanted) => {
                  peak = Math.max(peak, dx.memoryStatistics(first).liveInBytes - start);
                  return dx.nn.functional.mseLoss(output, wanted);
                })
                .dispose();
              return peak;
            };
            run();
            peaks.set(schedule, run());
            for (const t of [x, y]) t.dispose();
            for (const p of pipe.parameters()) p.grad?.dispose();
            for (const stage of pipe.stages) stage.dispose();
          }),
        { collect: true },
      );
    expect(peaks.get("1F1B")! / peaks.get("GPipe")!).toBeLessThan(0.45);
  });

  test("step(): several tensors between stages, integers, a frozen stage, and what it refuses", () => {
    class Twice extends dx.nn.Module {
      readonly w = new dx.nn.Parameter(dx.tensor([2]));
      forward(x: dx.Tensor): [dx.Tensor, dx.Tensor, dx.Tensor] {
        return [x, x.mul(this.w), x.to("int32")];
      }
    }
    class Sum extends dx.nn.Module {
      readonly v = new dx.nn.Parameter(dx.tensor([3]));
      forward(a: dx.Tensor, b: dx.Tensor, c: dx.Tensor): dx.Tensor {
        return a.add(b.mul(this.v)).add(c);
      }
    }
    dx.withDevice(first, () => {
      const pipe = dx.nn.pipeline([new Twice(), new Sum()] as const, { devices: pair });
      const x = dx.tensor([1, 2, 3]);
      const loss = pipe.step([x], x, (y, wanted) => y.sub(wanted).mean());
      // 6x + x, of which each element counts a third.
      close(numbers(loss), [14]);
      close(gradients(pipe).flat() as number[], [6, 4]);
      expect(numbers(x)).toEqual([1, 2, 3]);
      for (const p of pipe.stages[0].parameters()) p.requiresGrad_(false);
      pipe.step([x], x, (y, wanted) => y.sub(wanted).mean());
      close(gradients(pipe).flat() as number[], [6, 8]);
      expect(() => pipe.step([x], dx.ones([4]), (y) => y.sum())).toThrow("one size along axis 0 (3)");
      expect(() => pipe.step([x], x, (y) => y)).toThrow("of one element");
      expect(() => dx.compile(() => pipe.step([x], x, (y) => y.sum()))()).toThrow(dx.TraceError);
      expect(() => dx.nn.pipeline([dx.nn.linear(1, 1)], { devices: [first], schedule: "other" as never })).toThrow(dx.ValueError);
    });
  });

  test("a stage may give several tensors; what it refuses", () => {
    class Twice extends dx.nn.Module {
      forward(x: dx.Tensor): [dx.Tensor, dx.Tensor] {
        return [x, x.mul(2)];
      }
    }
    class Sum extends dx.nn.Module {
      forward(a: dx.Tensor, b: dx.Tensor): dx.Tensor {
        return a.add(b);
      }
    }
    dx.withDevice(first, () => {
      const y = dx.nn.pipeline([new Twice(), new Sum()], { devices: pair }).forward(dx.tensor([1, 2, 3]));
      expect([String(y.device), ...numbers(y)]).toEqual([second, 3, 6, 9]);
      const layer = dx.nn.linear(2, 2);
      expect(() => dx.nn.pipeline([layer], { devices: pair })).toThrow("one for each of 1 stages");
      expect(() => dx.nn.pipeline([layer, layer], { devices: pair })).toThrow("without a common tensor");
      expect(() => dx.nn.pipeline([layer], { devices: [first], microbatches: 0 })).toThrow(dx.ValueError);
      expect(() => dx.nn.pipeline([], { devices: [] })).toThrow(dx.ValueError);
      const pipe = dx.nn.pipeline([layer], { devices: [first] });
      expect(() => dx.compile((x: dx.Tensor) => pipe.forward(x))(dx.ones([2, 2]))).toThrow(dx.TraceError);
    });
  });
});
