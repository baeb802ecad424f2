/** Large reads run in pieces: they give the state at the call, whatever is queued after it, and use little staging memory. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { holdQueue } from "../../src/runtime/device-statistics.ts";
import { eachDevice } from "../device.ts";

const MIB = 2 ** 20;

eachDevice("large asynchronous reads", (device) => {
  // 16 MiB is the most that goes at once; a piece has 8.
  it.each([16 * MIB - 4, 16 * MIB, 16 * MIB + 4, 24 * MIB, 41 * MIB + 12])("give every byte of %i", async (bytes) => {
    const expected = Uint32Array.from({ length: bytes / 4 }, (_, i) => (i * 2654435761) >>> 0);
    const x = dx.tensor(expected, { device });
    const view = x.slice(0, 3, expected.length - 2);
    for (const [t, want] of [
      [x, expected],
      [view, expected.subarray(3, -2)],
      [x, expected],
    ] as const)
      expect(Buffer.compare(Buffer.from((await t.data()).buffer), Buffer.from(want.slice().buffer))).toBe(0);
    view.dispose();
    x.dispose();
  });

  it("see what was queued before, and nothing of what comes after", async () => {
    const x = dx.full([6 * MIB], 1, { device, dtype: "float32" });
    await x.slice(0, 0, 1).data();
    const reads: Promise<dx.TypedArray>[] = [];
    for (let i = 0; i < 6; i++) {
      reads.push(x.data());
      x.add_(1);
      // Its memory is the next one's at once.
      const other = x.mul(100);
      reads.push(other.data());
      other.dispose();
    }
    x.dispose();
    for (const [i, read] of reads.entries()) {
      const value = i % 2 === 0 ? i / 2 + 1 : (Math.floor(i / 2) + 2) * 100;
      expect((await read).every((v) => v === value)).toBe(true);
    }
  });

  it("are refused, or given whole, when the device closes", async () => {
    const x = dx.full([8 * MIB], 3, { device, dtype: "float32" });
    const reads = [x.data(), x.data(), x.data()];
    dx.closeDevice(device);
    for (const result of await Promise.allSettled(reads))
      if (result.status === "fulfilled") expect(result.value.every((v) => v === 3)).toBe(true);
      else expect(result.reason).toBeInstanceOf(dx.DxError);
    expect(dx.ones([3], { device }).sum().itemSync()).toBe(3);
  });

  it("do not block JavaScript", async () => {
    const x = dx.full([8 * MIB], 2, { device, dtype: "float32" });
    await x.slice(0, 0, 1).data();
    holdQueue(device, true);
    let isDone = false;
    const reading = x.data().then((v) => {
      isDone = true;
      return v;
    });
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(isDone).toBe(false);
    holdQueue(device, false);
    expect((await reading).at(-1)).toBe(2);
    x.dispose();
  });
});
