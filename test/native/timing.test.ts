/** The binding's timings of dispatches that cannot end, as on a held device. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, isDirectml } from "../device.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

eachDevice("a timing", (device) => {
  test.skipIf(!isDirectml(device))("continues when it cannot end, though its programs are freed meanwhile", async () => {
    const { binding, id } = nativeDevice(dx.device(device));
    const run = (): void => {
      const compiled = dx.compile((x: dx.Tensor) => x.mul(3).cumsum(0).tanh());
      dx.scope(() => void compiled(dx.ones([33])).dataSync());
      compiled.dispose();
    };
    binding.startTiming(id);
    try {
      run();
      binding.hold(id, true);
      expect(() => binding.stopTiming(id)).toThrow(/held/);
      binding.hold(id, false);
      for (let i = 0; i < 20; i++) run();
      await dx.synchronize(device);
    } finally {
      binding.hold(id, false);
      const { dispatches, programs } = binding.stopTiming(id);
      // What ran after the failed end too.
      expect(new Set(dispatches.filter((_, i) => i % 6 === 0)).size).toBeGreaterThanOrEqual(21);
      if (device === "cpu") expect(programs.length).toBeGreaterThanOrEqual(21);
    }
    expect(() => binding.stopTiming(id)).toThrow(/not timed/);
  });
});
