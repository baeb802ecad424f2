/** Copies between devices carry the bytes that a view spans, not those of its whole storage. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";

// Read when a device is first used, which is below: a profile of the software adapter that lacks something.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4-ELEMENT_WISE_ERF";
const other = `dml:${dx.dml.deviceCount() - 1}`;

const numbers = (t: dx.Tensor): number[] => Array.from(t.dataSync() as Float32Array);
const raw = (t: dx.Tensor): Uint8Array => {
  const { buffer, byteOffset, byteLength } = t.dataSync();
  return new Uint8Array(buffer, byteOffset, byteLength);
};
const bytesOf = (t: dx.Tensor): number => t.storage.contentInBytes;

describe("transfers", () => {
  for (const [name, view, bytes] of [
    ["a row in the middle", (t: dx.Tensor) => t.reshape([1000, 100]).select(0, 7), 400],
    ["an odd offset", (t: dx.Tensor) => t.narrow(0, 10_003, 5), 32],
    ["a column with gaps", (t: dx.Tensor) => t.reshape([1000, 100]).narrow(0, 500, 3).select(1, 1), 808],
    ["an expanded element", (t: dx.Tensor) => t.narrow(0, 50_000, 1).expand([4]), 4],
    ["nothing", (t: dx.Tensor) => t.narrow(0, 50_000, 0), 0],
    ["all", (t: dx.Tensor) => t, 400_000],
  ] as const)
    test(`${name} to another device`, () => {
      dx.scope(() => {
        const part = view(dx.arange(100_000, { dtype: "float32", device: "cpu" }));
        const moved = part.to(other);
        expect(numbers(moved)).toEqual(numbers(part));
        expect(bytesOf(moved)).toBe(bytes);
      });
    });

  test("what does not fit into a chunk arrives bit for bit, in both directions", () => {
    dx.scope(() => {
      // Over two chunks of 8 MiB, and an end that is no multiple of four.
      const x = dx.arange((1 << 22) + 5, { dtype: "float32", device: "cpu" });
      const bytes = dx.tensor(
        Uint8Array.from({ length: (1 << 24) + 2 }, (_, i) => i ^ (i >> 9)),
        { device: "cpu" },
      );
      for (const t of [x, bytes]) {
        const there = t.to(other);
        const [expected, ...found] = [t, there, there.to("cpu")].map(raw);
        for (const moved of found) expect(Buffer.compare(moved, expected!)).toBe(0);
      }
      const rows = x
        .narrow(0, 0, 1 << 22)
        .reshape([2048, 2048])
        .transpose(0, 1);
      expect(numbers(rows.to(other).select(0, 3).narrow(0, 0, 3))).toEqual([3, 2051, 4099]);
    });
  });

  test("an operation that falls back reads and writes what its views span", () => {
    dx.scope(() => {
      const x = dx.arange(1 << 20, { dtype: "float32", device: other });
      const y = dx.erf(x.narrow(0, 3, 3).mul(0));
      expect(numbers(y)).toEqual([0, 0, 0]);
      expect(numbers(dx.erf(x.narrow(0, 1 << 19, 1)))).toEqual([1]);
      expect(bytesOf(y)).toBe(12);
    });
  });
});
