import { describe, expect, it } from "vitest";
import { isSameView } from "../../src/compile/geometry.ts";
import { packedStrides, sizeOf } from "../../src/core/shape.ts";

const seen = (shape: readonly number[], strides: readonly number[] = packedStrides(shape), offset = 0) => ({
  desc: { shape, strides, size: sizeOf(shape) },
  offset,
});

/** Whether it is the same view of [5, …] and of [8, …], an axis n of which is 5 or 8. */
const same = (shapes: (n: number) => readonly number[], view: (n: number) => ReturnType<typeof seen>): boolean =>
  isSameView(view(8), view(5), { large: shapes(8), small: shapes(5) });

describe("a view shows the same indices of a larger tensor", () => {
  it("as the whole, transposed, expanded, or merged where what is padded comes first", () => {
    expect(
      same(
        (n) => [n, 3],
        (n) => seen([n, 3]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [n, 3],
        (n) => seen([3, n], [1, 3]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [n, 3, 4],
        (n) => seen([n, 12]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [n, 3],
        (n) => seen([3 * n]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [3, n, 2],
        (n) => seen([3, 2 * n]),
      ),
    ).toBe(true);
    expect(
      same(
        () => [3],
        (n) => seen([n, 3], [0, 1]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [n, n],
        (n) => seen([n], [n + 1]),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [n, 3],
        (n) => seen([n, 1], [3, 1], 2),
      ),
    ).toBe(true);
    expect(
      same(
        (n) => [3, n],
        (n) => seen([n], [1], n),
      ),
    ).toBe(true);
  });

  it("not from the end, and not across what is padded", () => {
    expect(
      same(
        (n) => [n, 3],
        (n) => seen([3], [1], 3 * (n - 1)),
      ),
    ).toBe(false);
    expect(
      same(
        (n) => [3, n],
        (n) => seen([3 * n]),
      ),
    ).toBe(false);
    expect(
      same(
        (n) => [3, n],
        () => seen([3, 2], [5, 1]),
      ),
    ).toBe(false);
    expect(
      same(
        () => [12],
        (n) => seen([n], [2]),
      ),
    ).toBe(false);
  });
});
