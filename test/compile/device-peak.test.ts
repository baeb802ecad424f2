/** What a device reaches, which a profile's shares are of. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devicePeak } from "../../src/compile/device-peak.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice } from "../device.ts";

eachDevice("a device's peak", (name) => {
  it("is measured once, and profiles tell their share of it", () => {
    const native = nativeDevice(dx.device(name));
    const peak = devicePeak(native);
    expect(peak.bytesPerSecond).toBeGreaterThan(1e6);
    expect(peak.flopsPerSecond).toBeGreaterThan(1e6);
    expect(devicePeak(native)).toBe(peak);
    const x = dx.ones([64, 64], { device: name });
    const f = dx.compile((a: dx.Tensor) => dx.matmul(a, a), { name: "product" });
    f(x);
    const profile = f.profileSync();
    expect(profile.peak).toBe(peak);
    const [dispatch] = profile.dispatches;
    expect([dispatch!.bytes, dispatch!.flops]).toEqual([expect.any(Number), 2 * 64 ** 3]);
    expect(dispatch!.bytes).toBeGreaterThanOrEqual(2 * 4 * 64 ** 2);
    // A clock may not tell the ends of so small a dispatch apart.
    if (dispatch!.microseconds > 0) expect(String(profile)).toMatch(/\d+ % of (bandwidth|arithmetic)/);
    expect(String(profile)).toMatch(/a copy reaches [\d.e+]+ GB\/s, a product [\d.e+-]+ TFLOP\/s/);
    f.dispose();
    x.dispose();
  });
});
