import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("values of a program that do not live at the same time share memory, when they are some megabytes together", () => {
  const f = dx.compile(
    (x: dx.Tensor) => {
      let y = x;
      for (let i = 0; i < 80; i++) y = y.cumsum(0);
      return y;
    },
    { name: "sums" },
  );
  const x = dx.eye(160, 160).mul(0);
  expect(f(x).dataSync()).toEqual(x.dataSync());
  // 80 values of 100 KiB.
  const { arenaInBytes, temporaryInBytes } = f.explain();
  expect(arenaInBytes + temporaryInBytes).toBeLessThan(2 * 2 ** 20);
  f.dispose();
});
