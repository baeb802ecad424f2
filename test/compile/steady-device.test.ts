/** Measuring behind other work: on hardware the device is busy before, and what was measured at another clock is measured again. */
import { afterEach, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { steadily } from "../../src/compile/steady-device.ts";
import { nativeDevice, type NativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice } from "../device.ts";

eachDevice("a steady device", (name) => {
  afterEach(() => dx.closeDevice(name));
  const hardware = (native: NativeDevice, isHardware: boolean): NativeDevice =>
    Object.create(native, { adapter: { value: { ...native.adapter, isHardware } } }) as NativeDevice;

  it("is busy before each measurement, at most three times, and leaves no memory behind", () => {
    const native = nativeDevice(dx.device(name));
    dx.zeros([4], { device: name }).dispose();
    const { liveBuffers, liveInBytes } = native.binding.memory(native.id);
    const submitted = (): number => dx.counters(name).listsSubmitted;
    const before = submitted();
    const counts: number[] = [];
    const result = steadily(hardware(native, true), () => counts.push(submitted()), 16);
    expect(counts[0]).toBeGreaterThan(before);
    expect(counts.length).toBeLessThanOrEqual(3);
    expect(result).toBeLessThanOrEqual(counts.length);
    expect(native.binding.memory(native.id)).toMatchObject({ liveBuffers, liveInBytes });
  });

  it("is left alone if it is no hardware, and lets errors through", () => {
    const native = nativeDevice(dx.device(name));
    const before = dx.counters(name).listsSubmitted;
    expect(steadily(hardware(native, false), () => 7)).toBe(7);
    expect(dx.counters(name).listsSubmitted).toBe(before);
    const { liveBuffers } = native.binding.memory(native.id);
    expect(() => steadily(hardware(native, true), () => expect.unreachable("measured"), 16)).toThrow(/measured/);
    expect(native.binding.memory(native.id).liveBuffers).toBe(liveBuffers);
  });
});
