/** Memory of a sum in a wider dtype, in a process of its own: the peak counts from the start of the process. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";

// The allocator is the same for every device.
test("a reduction that widens takes little memory on top of its input", () => {
  const device = "cpu";
  const bytes = 2 ** 27;
  const x = dx.ones([bytes], { device, dtype: "uint8" });
  x.slice(0, 0, 1).dataSync();
  const before = dx.memoryStatistics(device);
  expect(before.peakInBytes).toBeLessThan(bytes + 2 ** 20);
  for (let call = 0; call < 3; call++) expect(x.sum().itemSync()).toBe(bytes);
  const after = dx.memoryStatistics(device);
  expect((after.pooledInBytes - before.pooledInBytes) / 2 ** 20).toBeLessThanOrEqual(256);
  expect((after.peakInBytes - bytes) / 2 ** 20).toBeLessThanOrEqual(200);
  x.dispose();
});
