import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { settle } from "../../src/runtime/buffers.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { holdQueue } from "../../src/runtime/device-statistics.ts";

it("count what the device is asked to do, and what lives", async () => {
  await dx.withDevice("cpu", async () => {
    const x = dx.ones([256]);
    x.add(1);
    await dx.synchronize("cpu");
    const [counted, memory] = [dx.counters("cpu"), dx.memoryStatistics("cpu")];
    const y = x.add(1);
    await dx.synchronize("cpu");
    expect(dx.counters("cpu").dispatchesRecorded - counted.dispatchesRecorded).toBe(1);
    const after = dx.memoryStatistics("cpu");
    expect([after.liveBuffers - memory.liveBuffers, after.liveInBytes - memory.liveInBytes >= 1024]).toEqual([1, true]);
    y.dispose();
    expect(dx.memoryStatistics("cpu").liveBuffers).toBe(memory.liveBuffers);
  });
});

it("synchronize() resolves when the queue is done, not before", async () => {
  const x = dx.ones([4], { device: "cpu" });
  holdQueue("cpu", true);
  let done = false;
  const wait = async (): Promise<void> => {
    await dx.synchronize("cpu");
    done = true;
  };
  const waiting = wait();
  x.add(1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(done).toBe(false);
  holdQueue("cpu", false);
  await waiting;
  expect(done).toBe(true);
});

it("refuse a device that is not there", async () => {
  expect(() => dx.counters("dml:97")).toThrow(dx.DeviceError);
  expect(() => dx.memoryStatistics("dml:97")).toThrow(dx.DeviceError);
  await expect((async () => dx.synchronize("dml:97"))()).rejects.toThrow(dx.DeviceError);
});

it("tell where memory is: in tensors, in programs, idle, in staging", async () => {
  await dx.withDevice("cpu", async () => {
    const size = 48 * 2 ** 20;
    const before = dx.memoryStatistics();
    const x = dx.zeros([size / 4]);
    const during = dx.memoryStatistics();
    expect(during.liveInBytes - before.liveInBytes).toBe(size);
    // Used memory is what is pooled and not idle.
    const used = ({ pooledInBytes, idleInBytes }: typeof during): number => pooledInBytes - idleInBytes;
    expect(used(during) - used(before)).toBeGreaterThanOrEqual(size);
    x.dispose();
    const after = dx.memoryStatistics();
    expect(used(during) - used(after)).toBeGreaterThanOrEqual(size);
    expect(after.pooledInBytes).toBe(during.pooledInBytes);
    await dx.ones([1024]).data();
    expect(dx.memoryStatistics().stagingInBytes).toBeGreaterThanOrEqual(4096);
  });
});

it("tell what of it are weights, gradients and optimizers, each byte once", () => {
  dx.withDevice("cpu", () => {
    const before = dx.memoryStatistics();
    const model = dx.nn.linear(100, 200, { bias: false });
    const optimizer = dx.optim.adam(model.parameters());
    const size = 4 * 100 * 200;
    const more = (): number[] => {
      const now = dx.memoryStatistics();
      return [
        now.weightsInBytes - before.weightsInBytes,
        now.gradientsInBytes - before.gradientsInBytes,
        now.optimizersInBytes - before.optimizersInBytes,
      ];
    };
    expect(more()).toEqual([size, 0, 2 * size]);
    dx.scope(() =>
      model
        .forward(dx.ones([3, 100]))
        .sum()
        .backward(),
    );
    expect(more()).toEqual([size, size, 2 * size]);
    optimizer.step();
    expect(more()).toEqual([size, size, 2 * size]);
    optimizer.zeroGrad();
    expect(more()).toEqual([size, 0, 2 * size]);
    optimizer.dispose();
    model.dispose();
    expect(more()).toEqual([0, 0, 0]);
  });
});

it("memory that stood at a peak which is over goes back, and comes again", async () => {
  const native = nativeDevice(dx.device("cpu"));
  await dx.withDevice("cpu", async () => {
    const settled = (): number => native.binding.settle(native.id);
    settled();
    const before = dx.memoryStatistics().pooledInBytes;
    const large = Array.from({ length: 4 }, () => dx.ones([64 * 2 ** 18]));
    expect(dx.memoryStatistics().pooledInBytes).toBeGreaterThanOrEqual(before);
    for (const t of large) t.dispose();
    // It was needed since the last call.
    expect(settled()).toBe(0);
    expect(settled()).toBeGreaterThanOrEqual(3 * 64 * 2 ** 20);
    expect(
      await dx
        .ones([64 * 2 ** 18])
        .sum()
        .item(),
    ).toBe(64 * 2 ** 18);
  });
});

it("asks for that when something is read, not more often than every two seconds", () => {
  const native = nativeDevice(dx.device("cpu"));
  const calls: number[] = [];
  const fake = { id: native.id, isClosed: false, binding: { settle: (id: number) => calls.push(id) } } as unknown as typeof native;
  for (const now of [0, 1000, 1999, 2000, 3000, 4001]) settle(fake, now);
  expect(calls.length).toBe(2);
});
