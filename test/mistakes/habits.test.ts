/** Habits from PyTorch and JavaScript: accepted if the meaning is clear, a typed error otherwise. */
import { inspect } from "node:util";
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

eachDevice("habits", (device) => {
  test("positional forms as PyTorch has them", () =>
    clean(device, () => {
      expect(dx.arange(0, 4, { device }).toArraySync()).toEqual([0, 1, 2, 3]);
      expect(dx.arange(1, 8, 3, { device }).toArraySync()).toEqual([1, 4, 7]);
      expect(dx.arange(4, 0, -2, { device, dtype: "float32" }).toArraySync()).toEqual([4, 2]);
      expect(dx.arange(3, { start: 1, device }).toArraySync()).toEqual([1, 2]);
      const t = dx.ones([2, 3, 4], { device });
      expect(t.flatten(1).shape).toEqual([2, 12]);
      expect(t.flatten(0, 1).shape).toEqual([6, 4]);
      expect(t.flatten({ startDim: 1 }).shape).toEqual([2, 12]);
      expect(dx.flatten(t).shape).toEqual([24]);
      expect(dx.nn.flatten(2).forward(t.reshape(2, 3, 2, 2)).shape).toEqual([2, 3, 4]);
      expect(t.sum(1, { keepDims: true }).shape).toEqual([2, 1, 4]);
      expect(dx.tensor([1, 2n], { device }).toArraySync()).toEqual([1n, 2n]);
    }));

  test("a function of one argument may be handed to map()", () =>
    clean(device, () => {
      const list = [dx.zeros([1], { device }), dx.ones([1], { device })];
      expect(list.map(dx.neg).map((t) => t.itemSync())).toEqual([-0, -1]);
    }));

  test("habits", () =>
    clean(device, () => {
      const t = dx.tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        { device },
      );
      expect([t.numel(), t.dim(), t.size]).toEqual([6, 2, 6]);
      expect(t.T.toArraySync()).toEqual([
        [1, 4],
        [2, 5],
        [3, 6],
      ]);
      expect(dx.ones([2, 3, 4], { device }).T.shape).toEqual([4, 3, 2]);
      expect(t.tolist()).toEqual([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      expect([...t].map((row) => row.toArraySync())).toEqual([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      expect(() => [...dx.tensor(1, { device })]).toThrow(/not iterable/);
      expect(dx.tensor(1, { device })).not.toBe(dx.tensor(1, { device }));
      expect([t.long().dtype, t.int().dtype, t.half().dtype, t.bool().dtype, t.long().float().dtype]).toEqual([
        "int64",
        "int32",
        "float16",
        "bool",
        "float32",
      ]);
      expect(JSON.parse(JSON.stringify({ t, d: t.device }))).toEqual({
        t: {
          dtype: "float32",
          shape: [2, 3],
          data: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
        d: String(device),
      });
      const whole: Int32Array = t.int().dataSync("int32");
      expect(whole).toEqual(Int32Array.of(1, 2, 3, 4, 5, 6));
      expect(() => t.dataSync("int32")).toThrow("dataSync: dtype must be the tensor's own (float32); received int32.");
      expect(JSON.stringify(dx.tensor([2n ** 60n], { device }))).toContain(String(2n ** 60n));
    }));

  test("copies by fields are refused, of what holds a tensor, too", () =>
    clean(device, async () => {
      const t = dx.ones([2], { device });
      expect(() => structuredClone({ inner: [t] })).toThrow(/toArraySync/);
      const { port1, port2 } = new MessageChannel();
      expect(() => {
        port1.postMessage(t);
      }).toThrow(/toArraySync/);
      port1.close();
      port2.close();
      const other = dx.zeros([2], { device });
      await dx.synchronize(device);
      expect(() => {
        expect(t).toEqual(other);
      }).toThrow(/tensor\(\[1\., 1\.\]/);
      expect(inspect(t.device)).not.toContain("refuse");
    }));
});
