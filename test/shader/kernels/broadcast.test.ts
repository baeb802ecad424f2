import { expect, it } from "vitest";
import { addBroadcast, broadcastParams, mergedAxes } from "../../../src/shader/kernels/broadcast.ts";
import { sizeOf, type Shape } from "../../../src/core/shape.ts";
import { launch, numbers } from "./support.ts";

const cases: readonly (readonly [Shape, Shape, Shape])[] = [
  [[6], [6], [6]],
  [[3, 8], [3, 8], [8]],
  [
    [3, 8],
    [3, 1],
    [1, 8],
  ],
  [
    [2, 3, 5],
    [2, 3, 5],
    [3, 1],
  ],
  [[4, 1, 6, 2], [4, 1, 6, 2], [1]],
  [
    [2, 3, 4, 5],
    [2, 1, 4, 1],
    [3, 1, 5],
  ],
  [[5, 16], [1], [5, 1]],
];

it.each(["f32", "f16"] as const)("adds %s with broadcasting", (e) => {
  for (const [out, a, b] of cases) {
    const [x, y] = [numbers(sizeOf(a), 1, 4, e).map(Math.round), numbers(sizeOf(b), 2, 4, e).map(Math.round)];
    const at = (index: number, shape: Shape): number => {
      let [rest, offset, stride] = [index, 0, 1];
      for (let i = 1; i <= out.length; i++) {
        const d = shape[shape.length - i] ?? 1;
        offset += (d === 1 ? 0 : rest % out[out.length - i]!) * stride;
        rest = Math.floor(rest / out[out.length - i]!);
        stride *= d;
      }
      return offset;
    };
    const merged = mergedAxes(out, a, b)!;
    const buffers = { a: { shape: a, values: x }, b: { shape: b, values: y }, y: { shape: out } };
    const expected = Array.from({ length: sizeOf(out) }, (_, i) => x[at(i, a)]! + y[at(i, b)]!);
    expect(launch(addBroadcast(e, merged), buffers, broadcastParams(merged)).y).toEqual(expected);
  }
});

it("merges axes that all tensors run through alike", () => {
  expect(mergedAxes([2, 3, 4], [2, 3, 4], [2, 3, 4])).toEqual({ sizes: [1, 1, 1, 24], a: [0, 0, 0, 1], b: [0, 0, 0, 1] });
  expect(mergedAxes([2, 3, 4], [2, 3, 4], [4])).toEqual({ sizes: [1, 1, 6, 4], a: [0, 0, 4, 1], b: [0, 0, 0, 1] });
  expect(mergedAxes([2, 2, 2, 2, 2], [2, 1, 2, 1, 2], [1, 2, 1, 2, 1])).toBeNull();
});
