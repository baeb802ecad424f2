/** The operations that ops/wiring.ts gives to autograd, with the properties that autograd needs. */
import { expect, it } from "vitest";
import { arithmetic } from "../../src/autograd/gradient-arithmetic.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

const list = (t: Tensor): unknown => t.toArraySync();

it("sums over what was broadcast, copies packed, fills, and leaves out by a mask", () => {
  const x = dx.tensor([
    [1, 2],
    [3, 4],
  ]);
  expect(list(arithmetic.sumTo(x, [1, 2]))).toEqual([[4, 6]]);
  expect(list(arithmetic.sumTo(x, []))).toBe(10);
  const copy = arithmetic.clone(x.t());
  expect([copy.desc.isPacked, list(copy), copy.storage === x.storage]).toEqual([
    true,
    [
      [1, 3],
      [2, 4],
    ],
    false,
  ]);
  expect(
    list(
      arithmetic.without(
        x,
        dx.tensor([
          [0, 1],
          [2, 0],
        ]),
      ),
    ),
  ).toEqual([
    [1, 0],
    [0, 4],
  ]);
  const zeros = arithmetic.zeros(x, { shape: [2], dtype: "float16" });
  expect([zeros.dtype, zeros.device, list(zeros), list(arithmetic.onesLike(x.select(0, 0)))]).toEqual([
    "float16",
    x.device,
    [0, 0],
    [1, 1],
  ]);
});

it("accumulates in place: the object and its storage stay", () => {
  const x = dx.tensor([1, 2]);
  const { storage } = x;
  dx.noGrad(() => arithmetic.accumulate(x, dx.tensor([10, 20])));
  expect([list(x), x.storage === storage, x.version]).toEqual([[11, 22], true, 1]);
});
