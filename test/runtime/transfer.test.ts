/** Copies between devices carry the bytes that a view spans, not those of its whole storage. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";

// Read when a device is first used, which is below: profiles of the software adapter, of which the last lacks something.
process.env.DXTENSOR_SIMULATE = "rtx-3070@6.4,rtx-3070@6.4-ELEMENT_WISE_ERF";
const other = `dml:${dx.dml.deviceCount() - 1}`;
const another = "dml:0";

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

/** Neither of them is the one that others fall back to: nothing waits until the result is read. */
describe("transfers between two devices of the list", () => {
  const piece = 2 ** 23;
  const block = Uint8Array.from({ length: 65_537 }, (_, i) => i ^ (i >> 9));
  const bytes = (size: number, seed: number): Uint8Array => {
    const all = new Uint8Array(size);
    for (let at = 0; at < size; at += block.length) all.set(block.subarray(0, size - at), at);
    return all.fill(seed, size >> 1, (size >> 1) + 1);
  };

  test("come in order with what is queued on both, whatever is dropped meanwhile", () => {
    for (const size of [1, piece + 3]) {
      const expected = bytes(size, 1);
      const source = dx.tensor(expected, { device: another });
      const moved = source.to(other);
      source.fill_(0);
      const back = moved.to(another);
      const dropped = moved.to(another);
      moved.mul_(0);
      for (const t of [source, moved, dropped]) t.dispose();
      expect(Buffer.compare(raw(back), expected)).toBe(0);
      back.dispose();
    }
  });

  test("views carry what they span, to and from", () => {
    dx.scope(() => {
      const x = dx.arange(100_000, { dtype: "float32", device: another }).reshape([1000, 100]);
      for (const view of [x.narrow(0, 500, 3).select(1, 1), x.select(0, 7).narrow(0, 3, 5), x.transpose(0, 1).narrow(0, 3, 2)]) {
        const moved = view.to(other);
        expect(numbers(moved)).toEqual(numbers(view));
        expect(numbers(moved.add(1).to(another))).toEqual(numbers(view.add(1)));
      }
    });
  });

  test("gradients flow back", () => {
    dx.scope(() => {
      const x = dx.tensor([1, 2, 3], { device: another, requiresGrad: true });
      const y = x.to(other);
      y.mul(y).to(another).sum().backward();
      expect(numbers(x.grad!)).toEqual([2, 4, 6]);
    });
  });

  test("more than staging memory holds", async () => {
    const size = 9 * piece + 5;
    const expected = bytes(size, 3);
    const source = dx.tensor(expected, { device: another });
    const moved = source.to(other);
    expect(Buffer.compare((await moved.data()) as Uint8Array, expected)).toBe(0);
    for (const t of [source, moved]) t.dispose();
    for (const device of [another, other]) expect(dx.memoryStatistics(device).stagingInBytes).toBeLessThan(160 * 2 ** 20);
  });
});
