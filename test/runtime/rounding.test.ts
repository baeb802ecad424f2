/** How shaders convert float32 to float16: the device's answer, and its effect. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { roundsHalf } from "../../src/runtime/rounding.ts";
import { cast } from "../../src/shader/kernels/elementwise.ts";
import { announcingContainers } from "../../src/shader/dxbc/shader-program.ts";
import { floatOfHalf, halfOfFloat } from "../../src/shader/operations.ts";
import { eachDevice, isMicrosoft } from "../device.ts";
import { runKernel } from "../shader/device.ts";

eachDevice("rounding to float16", (name) => {
  it("is found out, the same each time, and leaves nothing behind", () => {
    const native = nativeDevice(dx.device(name));
    const first = roundsHalf(native);
    const before = [...native.binding.pressure];
    expect([roundsHalf(native), roundsHalf(native)]).toEqual([first, first]);
    expect([...native.binding.pressure]).toEqual(before);
    // A program whose shaders are told of while they are made does not wait for their pipelines.
    const told: unknown[] = [];
    announcingContainers((made) => told.push(made), () => roundsHalf(native)); // prettier-ignore
    expect(told).toEqual([]);
    // Direct3D's rules cut off, and so does our executor.
    if (!isMicrosoft(name)) expect(first).toBe(false);
    expect(native.capabilities.roundsHalf).toBe(isMicrosoft(name) ? first : false);
  });

  it("is to the nearest in shaders, whoever rounds", () => {
    const values = Float32Array.from({ length: 4096 }, (_, i) => (i - 2048) * 1.0009 ** (i - 2048));
    values.set([65519.996, 65520, 1e30, -Infinity, 2.9802322e-8, 2.9802325e-8, -1e-9, 0, -0]);
    const x = dx.tensor(values);
    const { y } = runKernel(cast("f32", "f16"), { inputs: { x }, outputs: { y: [values.length] } });
    expect([...y!.to("float32").dataSync()]).toEqual([...values].map((v) => floatOfHalf(halfOfFloat(v))));
  });
});
