/** Programs of larger sizes: the calls that they serve, and the warnings for others. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const rows = (n: number): dx.Tensor => dx.arange(0, 3 * n, { dtype: "float32" }).reshape([n, 3]);

it("calls of sizes up to a bucket's share a program, which one more run with its sizes is recorded for", () => {
  let runs = 0;
  const f = dx.compile(
    (x: dx.Tensor) => {
      runs++;
      return x.mul(2).sum(0);
    },
    { dynamic: [0], buckets: [8, 16] },
  );
  const sums = [5, 6, 8, 5].map((n) => f(rows(n)).toArraySync());
  expect(sums).toEqual([5, 6, 8, 5].map((n) => rows(n).mul(2).sum(0).toArraySync()));
  expect(f.programs).toBe(1);
  expect(f.explain().recordings).toEqual(["sizes up to [8, 3]"]);
  const before = runs;
  f(rows(7));
  expect(runs).toBe(before + 1);
  f(rows(9));
  expect([f.programs, f.explain().recordings]).toEqual([2, ["sizes up to [8, 3]", "sizes up to [16, 3]"]]);
  f.dispose();
  expect(f.programs).toBe(0);
});

it("what cannot be padded has a program of its own, with the reason among the recordings", () => {
  const f = dx.compile((x: dx.Tensor) => x.mul(2), { dynamic: [0], buckets: [8] });
  f(rows(1).slice(0, 0, 1).expand(6, 3));
  f(rows(9));
  expect([f.programs, f.explain().recordings]).toEqual([
    2,
    ["an argument that is a view: its sizes are not padded", "sizes that are not padded"],
  ]);
  f.dispose();
  const hooked = dx.compile(
    (x: dx.Tensor) => {
      const y = x.mul(2);
      y.registerHook((g) => g.mul(3));
      return y.sum();
    },
    { dynamic: [0], buckets: [8] },
  );
  for (const n of [5, 6]) {
    const x = rows(n).requiresGrad_();
    hooked(x).backward();
    expect(x.grad!.sum().itemSync()).toBe(3 * n * 6);
  }
  expect([...new Set(hooked.explain().recordings)]).toEqual(["hooks or custom gradients in it: its sizes are not padded"]);
  hooked.dispose();
});
