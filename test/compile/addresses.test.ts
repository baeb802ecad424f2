/** Views whose offset or strides follow a size are read and written by addresses, in a program that serves several sizes. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";

const SIZES = [5, 6, 8, 7, 6];
const rows = (n: number): number[][] => Array.from({ length: n }, (_, i) => [10 * i + 1, 10 * i + 2, 10 * i + 3]);

eachDevice("views that move with a size", () => {
  it("are read where they are: the last row, all but the ends, axes merged into one", () => {
    const f = dx.compile((x: dx.Tensor) => [x.select(0, -1), x.narrow(0, 1, x.shape[0]! - 2), x.transpose(0, 1).reshape([-1])], {
      dynamic: [[0]],
    });
    for (const n of SIZES) {
      const [last, inner, merged] = f(dx.tensor(rows(n))).map((t) => t.toArraySync());
      expect([n, last]).toEqual([n, rows(n).at(-1)]);
      expect([n, inner]).toEqual([n, rows(n).slice(1, -1)]);
      expect([n, merged]).toEqual([n, [0, 1, 2].flatMap((c) => rows(n).map((row) => row[c]))]);
    }
    // The first size has its own until another comes.
    expect(f.programs).toBe(2);
  });

  it("are written, and no other element", () => {
    const f = dx.compile(
      (x: dx.Tensor) => {
        const y = x.clone();
        y.select(0, -1).mul_(2);
        y.narrow(0, 0, 1).fill_(-1);
        return y;
      },
      { dynamic: [[0]] },
    );
    for (const n of SIZES) {
      const expected = rows(n);
      expected[n - 1] = expected[n - 1]!.map((v) => 2 * v);
      expected[0] = [-1, -1, -1];
      expect(f(dx.tensor(rows(n))).toArraySync()).toEqual(expected);
    }
    // The first size has its own until another comes.
    expect(f.programs).toBe(2);
  });

  it("take the gradients of their elements", () => {
    const f = dx.compile((x: dx.Tensor) => dx.grad(x.select(0, -1).square().sum(), [x])[0]!, { dynamic: [[0]] });
    for (const n of SIZES) {
      const expected = rows(n).map((row, i) => row.map((v) => (i === n - 1 ? 2 * v : 0)));
      expect(f(dx.tensor(rows(n)).requiresGrad_()).toArraySync()).toEqual(expected);
    }
    // The first size has its own until another comes.
    expect(f.programs).toBe(2);
  });
});
