import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, liveBuffers, settledBuffers } from "../device.ts";

eachDevice("scope", (device) => {
  test("disposes of all but what it returns, in arrays, objects and Maps too", () =>
    clean(device, () => {
      const before = settledBuffers(device);
      const kept = dx.scope(() => {
        const a = dx.ones([4]);
        const b = a.add(a);
        const view = b.reshape(2, 2);
        a.mul(b).sum();
        return { view, list: [a.add(b)], map: new Map([["c", a.sub(b)]]) };
      });
      expect(liveBuffers(device)).toBe(before + 3);
      expect(kept.view.toArraySync()).toEqual([
        [2, 2],
        [2, 2],
      ]);
      expect(kept.list[0]!.isDisposed || kept.map.get("c")!.isDisposed).toBe(false);
    }));

  test("nests: an inner scope's result belongs to the outer one", () =>
    clean(device, () => {
      const before = settledBuffers(device);
      let inner: dx.Tensor | undefined;
      dx.scope(() => {
        inner = dx.scope(() => dx.ones([4]).add(dx.ones([4])));
        expect(inner.isDisposed).toBe(false);
      });
      expect(inner!.isDisposed).toBe(true);
      expect(liveBuffers(device)).toBe(before);
    }));

  test("disposes when fn throws, also later", () =>
    clean(device, async () => {
      const before = settledBuffers(device);
      expect(() =>
        dx.scope(() => {
          dx.ones([4]).add(dx.ones([4]));
          throw new Error("stop");
        }),
      ).toThrow("stop");
      await expect(
        dx.scope(async () => {
          dx.ones([4]);
          await Promise.resolve();
          throw new Error("later");
        }),
      ).rejects.toThrow("later");
      expect(liveBuffers(device)).toBe(before);
    }));

  test("waits for a promise", () =>
    clean(device, async () => {
      const before = settledBuffers(device);
      const sum = await dx.scope(async () => {
        const x = dx.ones([3]);
        await x.data();
        return x.add(x).sum();
      });
      expect(liveBuffers(device)).toBe(before + 1);
      expect(await sum.item()).toBe(6);
    }));

  test("keep() and dispose() inside", () =>
    clean(
      device,
      () => {
        const kept = dx.scope(() => {
          const x = dx.keep(dx.ones([2]));
          dx.ones([2]).dispose();
          return [x].length;
        });
        expect(kept).toBe(1);
        const x = dx.scope(() => [dx.keep(dx.ones([2]))])[0]!;
        expect(x.isDisposed).toBe(false);
        x.dispose();
      },
      { collect: true },
    ));

  test("gradients of leaves outlive the scope of a step", () =>
    clean(device, () => {
      const w = dx.tensor([1, 2], { requiresGrad: true });
      for (let i = 0; i < 3; i++) dx.scope(() => w.mul(w).sum().backward());
      expect(w.grad!.toArraySync()).toEqual([6, 12]);
      w.grad!.dispose();
    }));
});
