import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { holdQueue } from "../../src/runtime/statistics.ts";

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
