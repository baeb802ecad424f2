/** A backend from outside under everything that the library does: src/runtime/outside-device.ts, with openreg as the device. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clearScalars } from "../../src/runtime/constants.ts";
import { backend as openreg, faults } from "../../packages/openreg/src/backend.ts";
import { numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const device = "openreg:0";
const wave = (count: number, phase = 0): number[] => Array.from({ length: count }, (_, i) => Math.sin(12.9898 * i + phase) / 2);
const on = (shape: number[], phase = 0, where = device): dx.Tensor =>
  dx.tensor(wave(shape.reduce((n, d) => n * d, 1), phase), { device: where }).reshape(shape); // prettier-ignore

beforeAll(() => dx.backend.register(openreg));
afterEach(() => {
  dx.setStrict(null);
  dx.setMemoryLimit(undefined);
  dx.setDeviceTimeout(undefined);
  dx.resetFallbackStats();
  for (const name of ["openreg:0", "openreg:1"]) dx.closeDevice(name);
});

describe("tensors", () => {
  it("views, strides, in place, empty, rank 0", () => {
    const x = on([3, 4]);
    const same = on([3, 4], 0, "cpu");
    for (const [a, b] of [
      [x.transpose(0, 1), same.transpose(0, 1)],
      [x.narrow(0, 1, 2), same.narrow(0, 1, 2)],
      [x.sum(), same.sum()],
      [x.sum(0), same.sum(0)],
      [x.transpose(0, 1).matmul(x), same.transpose(0, 1).matmul(same)],
      [dx.cat([x, x.neg()], 1), dx.cat([same, same.neg()], 1)],
      [x.expand([2, 3, 4]).add(1), same.expand([2, 3, 4]).add(1)],
    ] as [dx.Tensor, dx.Tensor][]) {
      expect(String(a.device)).toBe(device);
      expectClose(a, b.toArraySync());
    }
    x.add_(1);
    x.transpose(0, 1).mul_(2);
    same.add_(1);
    same.transpose(0, 1).mul_(2);
    expectClose(x, same.toArraySync());
    expect(dx.zeros([0, 3], { device }).add(1).toArraySync()).toEqual([]);
    expect(dx.tensor(2, { device }).mul(3).itemSync()).toBe(6);
  });

  it("every dtype gets there and back", () => {
    for (const dtype of [
      "float32",
      "float16",
      "bfloat16",
      "float64",
      "int8",
      "uint8",
      "int16",
      "uint16",
      "int32",
      "uint32",
      "int64",
      "uint64",
      "bool",
    ] as const) {
      const x = dx.tensor([0, 1, 1], { dtype, device });
      expect([dtype, numbers(x)]).toEqual([dtype, [0, 1, 1]]);
      expect([dtype, numbers(dx.cat([x, x]))]).toEqual([dtype, [0, 1, 1, 0, 1, 1]]);
    }
  });

  it("is printed with its device", () => {
    expect(dx.tensor([1, 2], { device }).formatSync()).toBe("tensor([1., 2.], device=openreg:0)");
  });

  it("to() among its devices, cpu and meta", () => {
    const x = on([5, 3]);
    const want = x.toArraySync();
    const there = x.transpose(0, 1).to("openreg:1");
    expect(String(there.device)).toBe("openreg:1");
    expectClose(there.transpose(0, 1), want);
    expectClose(there.to("cpu").to(device).transpose(0, 1), want);
    expect(x.to("meta").shape).toEqual([5, 3]);
    expect(() => x.add(there.transpose(0, 1))).toThrow(dx.DeviceError);
  });

  it("a gradient goes back to the other device", () => {
    const x = on([3]).requiresGrad_();
    x.to("openreg:1").square().sum().backward();
    expect(String(x.grad!.device)).toBe(device);
    expectClose(x.grad!, wave(3).map((v) => 2 * v)); // prettier-ignore
  });
});

describe("autograd", () => {
  it("of both orders", () => {
    const f = (x: dx.Tensor): dx.Tensor =>
      dx
        .tanh(x.matmul(x.transpose(0, 1)))
        .sum()
        .add(dx.exp(x).mean());
    expect(dx.gradcheck(f, [on([3, 3]).requiresGrad_()])).toBe(true);
    expect(dx.gradgradcheck(f, [on([2, 2]).requiresGrad_()])).toBe(true);
  });
});

describe("compile", () => {
  it("three calls with other data, replayed and run", () => {
    const model = (x: dx.Tensor, w: dx.Tensor): dx.Tensor => {
      let y = x;
      for (let i = 0; i < 6; i++) y = dx.relu(y.matmul(w).add(0.1)).softmax(-1);
      return y;
    };
    const compiled = dx.compile(model);
    for (let i = 0; i < 4; i++)
      expectClose(compiled(on([4, 5], i), on([5, 5], -i)), model(on([4, 5], i, "cpu"), on([5, 5], -i, "cpu")).toArraySync());
    expect(dx.counters(device).replays).toBeGreaterThan(2);
    const text = String(dx.explain(compiled));
    expect(text).toContain("openreg:0");
    const profile = compiled.profileSync();
    expect(profile.device).toBe("openreg:0 (openreg simulator 0)");
    expect(profile.dispatches.map((d) => d.operator)).toContain("GEMM");
    expect(profile.microseconds).toBeGreaterThan(0);
  });

  it("state and gradients in a compiled training step equal cpu's", () => {
    const losses = (where: string): number[] =>
      dx.withDevice(where, () => {
        const net = dx.nn.sequential(dx.nn.linear(6, 8), dx.nn.tanh(), dx.nn.linear(8, 3));
        dx.noGrad(() => net.parameters().forEach((p, i) => p.copy_(on(p.shape as number[], i, where))));
        const optimizer = dx.optim.sgd(net.parameters(), { lr: 0.1, momentum: 0.9 });
        const step = dx.compile((x: dx.Tensor, y: dx.Tensor) => {
          optimizer.zeroGrad();
          const loss = dx.nn.functional.crossEntropy(net.forward(x), y);
          loss.backward();
          optimizer.step();
          return loss;
        });
        return Array.from({ length: 6 }, (_, i) =>
          step(on([9, 6], i, where), dx.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2], { dtype: "int32" })).itemSync(),
        );
      });
    const want = losses("cpu");
    losses(device).forEach((loss, i) => expect(loss).toBeCloseTo(want[i]!, 5));
  });
});

describe("training", () => {
  const run = async (where: string): Promise<number[]> => {
    const losses: number[] = [];
    await dx.withDevice(where, async () => {
      dx.manualSeed(3);
      const net = dx.nn.sequential(dx.nn.linear(8, 16), dx.nn.relu(), dx.nn.linear(16, 4));
      const optimizer = dx.optim.adam(net.parameters(), { lr: 0.02 });
      const set = new dx.data.TensorDataset(
        on([48, 8], 7, where),
        dx.tensor(Array.from({ length: 48 }, (_, i) => i % 4), { dtype: "int32" }), // prettier-ignore
      );
      for (let epoch = 0; epoch < 10; epoch++)
        for await (const [x, y] of dx.data.dataLoader<dx.Tensor[], dx.Tensor[]>(set, { batchSize: 16 })) {
          optimizer.zeroGrad();
          const loss = dx.nn.functional.crossEntropy(net.forward(x!), y!);
          loss.backward();
          optimizer.step();
          losses.push(loss.itemSync());
        }
    });
    return losses;
  };

  it("a multilayer perceptron trains as on cpu, without a fallback, from the same random weights", async () => {
    dx.setStrict(true);
    const [want, got] = [await run("cpu"), await run(device)];
    expect(got.length).toBe(30);
    got.forEach((loss, i) => expect(Math.abs(loss - want[i]!)).toBeLessThan(1e-4));
    expect(want.at(-1)!).toBeLessThan(want[0]!);
    expect(dx.fallbackStats()).toEqual([]);
  });

  it("a state goes through a file to another device", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-outside-"));
    try {
      const net = dx.withDevice(device, () => dx.nn.linear(3, 2));
      const file = join(folder, "net.safetensors");
      await dx.io.safetensors.save(file, net.stateDict() as never);
      const { tensors } = await dx.io.safetensors.load(file, { device: "openreg:1" });
      const other = dx.withDevice("openreg:1", () => dx.nn.linear(3, 2));
      other.loadStateDict(tensors);
      const x = on([2, 3]);
      expectClose(other.forward(x.to("openreg:1")), net.forward(x).toArraySync() as never);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("what it has no kernel for", () => {
  it("runs on the software adapter, counted by operation", () => {
    const x = on([4, 6]);
    expectClose(x.cumsum(1), on([4, 6], 0, "cpu").cumsum(1).toArraySync());
    x.cumsum(1);
    const [record] = dx.fallbackStats();
    expect(record).toMatchObject({ kind: "fallback", operation: "cumsum", device, calls: 2 });
    expect(record!.reason).toContain("CUMULATIVE_SUMMATION");
  });

  it("inside a compiled program too: the rest stays on the device", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(2).cumsum(1).add(1));
    for (let i = 0; i < 3; i++) expectClose(f(on([3, 4], i)), on([3, 4], i, "cpu").mul(2).cumsum(1).add(1).toArraySync());
    expect(dx.fallbackStats()).toMatchObject([{ operation: "cumsum", calls: 3 }]);
  });

  it("by dtype: float16 is stored, and computed elsewhere", () => {
    const x = dx.tensor([1, 2, 3], { dtype: "float16", device });
    expect(x.mul(x).toArraySync()).toEqual([1, 4, 9]);
    expect(dx.fallbackStats()[0]!.operation).toBe("mul");
  });

  it("relu lets the gradient through where it lets NaN through", () => {
    const x = dx.tensor([NaN, 1, -1, 0, Infinity], { device, requiresGrad: true });
    expect(dx.grad(dx.relu(x).sum(), [x])[0]!.toArraySync()).toEqual([1, 1, 0, 0, 1]);
  });

  it("integers are divided by one operator of the software adapter, not bit by bit", () => {
    for (const dtype of ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"] as const) {
      const signs = dtype.startsWith("u") ? [1] : [1, -1];
      for (const a of signs)
        for (const b of signs) {
          const operands = (target: string): dx.Tensor[] => [
            dx.tensor(
              [0, 7, 8, 100].map((v) => a * v),
              { dtype, device: target },
            ),
            dx.tensor(
              [3, 3, 4, 7].map((v) => b * v),
              { dtype, device: target },
            ),
          ];
          for (const op of [
            dx.remainder,
            dx.fmod,
            dx.floorDivide,
            (x: dx.Tensor, y: dx.Tensor) => dx.div(x, y, { roundingMode: "trunc" }),
          ]) {
            dx.resetFallbackStats();
            const [x, y] = operands(device);
            const [u, v] = operands("cpu");
            expect(op(x!, y!).toArraySync()).toEqual(op(u!, v!).toArraySync());
            const calls = dx.fallbackStats().reduce((n, record) => n + record.calls, 0);
            expect(calls).toBeLessThan(16);
          }
        }
    }
  });

  it("in strict mode it is an error that names the operation and the device", () => {
    const x = on([2, 2]);
    dx.setStrict(true);
    expect(() => x.cumsum(1)).toThrow(dx.UnsupportedError);
    expect(() => x.cumsum(1)).toThrow(/cumsum: .*openreg:0 \(openreg simulator 0\); received has no kernel for CUMULATIVE_SUMMATION/);
    expect(() => dx.compile((a: dx.Tensor) => a.cumsum(0))(x)).toThrow(dx.UnsupportedError);
    dx.setStrict(null);
    expect(x.cumsum(1).shape).toEqual([2, 2]);
  });

  it("in strict mode a compiled function throws before anything of it has run: state stays as it was", () => {
    const state = on([2, 2]);
    const [before, x] = [state.toArraySync(), on([2, 2], 1)];
    const step = dx.compile((a: dx.Tensor) => {
      state.add_(1);
      return a.cumsum(0);
    });
    dx.setStrict(true);
    for (let i = 0; i < 2; i++) {
      expect(() => step(x)).toThrow(/cumsum: .*Strict mode forbids/);
      expect(state.toArraySync()).toEqual(before);
    }
    dx.setStrict(null);
    step(x);
    expectClose(state, on([2, 2], 0, "cpu").add(1).toArraySync());
    const after = state.toArraySync();
    dx.setStrict(true);
    // The program is there already.
    expect(() => step(x)).toThrow(/cumsum/);
    expect(state.toArraySync()).toEqual(after);
    dx.setStrict(null);
    step(x);
    expectClose(state, on([2, 2], 0, "cpu").add(2).toArraySync());
  });

  it("a kernel that goes missing", () => {
    dx.ones([1], { device });
    faults(0).missing("ELEMENT_WISE_TANH");
    expectClose(dx.tanh(on([7, 3])), dx.tanh(on([7, 3], 0, "cpu")).toArraySync());
    expect(dx.fallbackStats()).toMatchObject([{ operation: "tanh", calls: 1 }]);
  });

  it("survives that the software adapter is closed", () => {
    const x = on([4]);
    const want = x.cumsum(0).toArraySync();
    dx.closeDevice("cpu");
    expect(x.cumsum(0).toArraySync()).toEqual(want);
  });
});

describe("memory", () => {
  it("statistics and limit", () => {
    clearScalars();
    const before = dx.memoryStatistics(device).liveInBytes;
    const x = dx.zeros([1024], { device });
    expect(dx.memoryStatistics(device).liveInBytes - before).toBe(4096);
    expect(dx.memoryStatistics(device).limitInBytes).toBe(2 ** 30);
    x.dispose();
    expect(dx.memoryStatistics(device).liveInBytes).toBe(before);
    dx.setMemoryLimit(before + 100_000);
    expect(() => dx.zeros([100_000], { device })).toThrow(dx.OutOfMemoryError);
    expect(dx.ones([2], { device }).toArraySync()).toEqual([1, 1]);
  });

  it("a loop that never yields leaves nothing behind", () => {
    const x = on([1000]);
    for (let i = 0; i < 3000; i++) x.mul(i).add(1);
    expect(dx.memoryStatistics(device).liveBuffers).toBeLessThan(1500);
    expect(dx.memoryStatistics(device).pooledInBytes).toBeLessThan(64 * 2 ** 20);
  });

  it("scope and dispose", () => {
    clearScalars();
    const before = dx.memoryStatistics(device).liveBuffers;
    dx.scope(() => void on([10]).add(on([10])));
    clearScalars();
    expect(dx.memoryStatistics(device).liveBuffers).toBe(before);
  });
});

describe("faults", () => {
  it("out of memory: once is tried again, twice is an error; then it continues", () => {
    const x = on([4]);
    faults(0).failAllocations(1);
    expect(x.add(1).shape).toEqual([4]);
    faults(0).failAllocations(10);
    expect(() => x.add(1)).toThrow(dx.OutOfMemoryError);
    faults(0).failAllocations(0);
    expectClose(x.add(1), wave(4).map((v) => v + 1)); // prettier-ignore
  });

  it("removed: every call says so until it is closed", async () => {
    const x = on([4]);
    faults(0).remove();
    expect(() => x.add(1)).toThrow(dx.DeviceRemovedError);
    expect(() => x.dataSync()).toThrow(dx.DeviceRemovedError);
    await expect(x.data()).rejects.toThrow(dx.DeviceRemovedError);
    await expect(dx.synchronize(device)).rejects.toThrow(dx.DeviceRemovedError);
    expect(() => dx.ones([1], { device })).toThrow(dx.DeviceRemovedError);
    expect(dx.ones([1], { device: "openreg:1" }).itemSync()).toBe(1);
    x.dispose();
    dx.closeDevice(device);
    expect(dx.ones([1], { device }).itemSync()).toBe(1);
  });

  it("stuck: a wait throws, and the device may recover", async () => {
    dx.setDeviceTimeout(50);
    const x = on([4]);
    x.dataSync();
    faults(0).hang(true);
    const y = x.add(1);
    expect(() => y.dataSync()).toThrow(dx.DeviceTimeoutError);
    await expect(dx.synchronize(device)).rejects.toThrow(dx.DeviceTimeoutError);
    faults(0).hang(false);
    expectClose(y, wave(4).map((v) => v + 1)); // prettier-ignore
  });

  it("slow copies", async () => {
    on([1]).dataSync();
    faults(0).slowCopies(20);
    const start = performance.now();
    expect((await on([4]).data()).length).toBe(4);
    expect(performance.now() - start).toBeGreaterThan(30);
  });

  it("work finishes later, in order", async () => {
    const x = on([64]);
    let y = x;
    for (let i = 0; i < 50; i++) y = y.add(1);
    const reading = y.data();
    y.zero_();
    expectClose(dx.tensor(Array.from((await reading) as Float32Array)), wave(64).map((v) => v + 50)); // prettier-ignore
  });
});

describe("a backend that breaks its word", () => {
  const made = (change: Partial<dx.backend.BackendDevice> | null, name: string, more: Partial<dx.backend.Backend> = {}): string => {
    dx.backend.register({
      ...openreg,
      name,
      open: (index, options) => {
        const opened = openreg.open(index, options);
        if (change === null) return null as never;
        return new Proxy(opened, {
          get: (target, key) => {
            if (Object.hasOwn(change, key)) return change[key as keyof typeof change];
            const value: unknown = target[key as keyof typeof target];
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
      ...more,
    });
    return name;
  };
  const add = (name: string) => (): unknown => dx.tensor([1, 2], { device: name }).add(1).toArraySync();
  const fails = (text: string) => (): never => {
    throw new Error(text);
  };

  it.each([
    ["b1", null, dx.BackendError, /b1\.open\(\)/],
    ["b2", { prepare: undefined }, dx.BackendError, /prepare must be a function/],
    ["b3", { operators: ["MATMUL"] }, dx.BackendError, /names of dx\.dml\.OPERATORS; received MATMUL/],
    ["b4", { dtypes: ["half"] }, dx.BackendError, /dtypes/],
    ["b5", { allocate: fails("no") }, dx.NativeError, /b5: no/],
    ["b6", { allocate: () => 7 }, dx.NativeError, /allocate gave number/],
    ["b7", { write: fails("broken bus") }, dx.NativeError, /broken bus/],
    ["b8", { readSync: () => new Uint8Array(1) }, dx.NativeError, /read gave 1 bytes instead of 8/],
    ["b9", { prepare: () => ({}) }, dx.NativeError, /prepare gave no kernel/],
    ["b10", { prepare: () => ({ run: fails("NaN unit") }) }, dx.NativeError, /b10: NaN unit/],
    ["b11", { prepare: () => { throw undefined; } }, dx.NativeError, /it threw undefined/], // prettier-ignore
    ["b12", { readSync: () => { throw Object.assign(new Error("gone"), { kind: "removed" }); } }, dx.DeviceRemovedError, /gone/], // prettier-ignore
  ] as unknown as [string, Partial<dx.backend.BackendDevice> | null, typeof dx.DxError, RegExp][])("%s", (name, change, type, message) => {
    made(change, name);
    expect(add(name)).toThrow(type);
    expect(add(name)).toThrow(message);
    expect(dx.tensor([1], { device: "cpu" }).add(1).itemSync()).toBe(2);
  });

  it("devices() that throws or gives nonsense", () => {
    made({}, "c1", { devices: fails("no bus") });
    expect(add("c1")).toThrow(/c1: no bus/);
    made({}, "c2", { devices: () => [] });
    expect(add("c2")).toThrow(/c2 has none now/);
    made({}, "c3", { devices: () => [{ name: 1 }] as never });
    expect(add("c3")).toThrow(dx.BackendError);
    made({}, "c4", { devices: () => "one" as never });
    expect(add("c4")).toThrow(dx.BackendError);
    expect(dx.devices().map((d) => String(d.device))).toContain("openreg:1");
  });

  it("read that is refused later is a rejection", async () => {
    made({ read: () => Promise.reject(new Error("lost")) }, "d1");
    await expect(dx.tensor([1], { device: "d1" }).data()).rejects.toThrow(/d1: lost/);
  });
});
