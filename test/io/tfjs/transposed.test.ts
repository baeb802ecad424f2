import { expect, test } from "vitest";
import { UnsupportedError } from "../../../src/core/errors.ts";
import { transposed } from "../../../src/io/tfjs/graph-builder.ts";

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

function ordersOf(rank: number): number[][] {
  if (rank === 0) return [[]];
  return ordersOf(rank - 1).flatMap((order) => Array.from({ length: rank }, (_, i) => [...order.slice(0, i), rank - 1, ...order.slice(i)]));
}

/** Each element by its coordinates. */
function reference(shape: readonly number[], order: readonly number[], data: Int32Array): number[] {
  const own = order.map((axis) => shape[axis]!);
  return Array.from({ length: sizeOf(own) }, (_, i) => {
    const at = own.map((length, k) => Math.floor(i / sizeOf(own.slice(k + 1))) % length);
    return data[order.reduce((sum, axis, k) => sum + at[k]! * sizeOf(shape.slice(axis + 1)), 0)]!;
  });
}

const shapes = [
  [5],
  [3, 4],
  [17, 33],
  [1, 40],
  [2, 3, 4],
  [3, 1, 19],
  [3, 3, 5, 7],
  [1, 1, 18, 35],
  [1, 2, 1, 3],
  [2, 0, 3],
  [2, 3, 2, 3, 2],
];

test.each(shapes.map((shape) => ({ shape })))("weights of shape $shape in each order of their axes", ({ shape }) => {
  const data = Int32Array.from({ length: sizeOf(shape) }, (_, i) => i);
  for (const offset of [0, 4, 1]) {
    // In a file, elements begin at any byte.
    const bytes = new Uint8Array(data.byteLength + offset).subarray(offset);
    bytes.set(new Uint8Array(data.buffer));
    for (const order of ordersOf(shape.length)) {
      const made = transposed({ name: "w", dtype: "float32", shape, bytes }, order);
      expect(made.shape).toEqual(order.map((axis) => shape[axis]));
      expect([...new Int32Array(made.bytes.slice().buffer)]).toEqual(reference(shape, order, data));
    }
  }
});

test("a weight of bytes is refused", () => {
  const weight = { name: "kernel", dtype: "bool", shape: [2, 2], bytes: new Uint8Array(4) } as const;
  expect(() => transposed(weight, [1, 0])).toThrow(UnsupportedError);
  expect(() => transposed(weight, [1, 0])).toThrow("kernel");
});
