import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { requireIndices, type IndexRange } from "../../src/runtime/index-check.ts";

const check = (index: dx.Tensor, range: IndexRange): string | null => {
  try {
    requireIndices("test", index, range);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
};
const at = (values: number[], dtype: dx.DType = "int32"): dx.Tensor => dx.tensor(values, { dtype, device: "cpu" });

it("numbers outside are named, whatever the dtype, and however the tensor came to be", () => {
  for (const dtype of ["int32", "int64", "uint8"] as const) {
    expect(check(at([0, 2, 1], dtype), { length: 3 })).toBeNull();
    expect(check(at([0, 3, 1], dtype), { length: 3 })).toMatch(/test: index must be integers in \[0, 2\]; received 3/);
    expect(check(at([1, 2], dtype).add(1).to(dtype), { length: 3 })).toMatch(/received 3/);
  }
  expect(check(at([0, -1]), { length: 3 })).toMatch(/received -1/);
  expect(check(at([0, -3]), { length: 3, wraps: true })).toBeNull();
  expect(check(at([0, -4]), { length: 3, wraps: true, argument: "index" })).toMatch(/index must be .*\[-3, 2\]; received -4/);
  expect(check(at([0, -100]), { length: 3, except: -100 })).toBeNull();
  expect(check(at([0, -99]), { length: 3, except: -100 })).toMatch(/received -99/);
});

it("a view is judged by its own numbers, and a tensor again after a write", () => {
  const index = at([0, 9, 1]);
  expect(check(index.slice(0, 2, 3), { length: 3 })).toBeNull();
  expect(check(index, { length: 3 })).toMatch(/received 9/);
  index.slice(0, 1, 2).fill_(2);
  expect(check(index, { length: 3 })).toBeNull();
  index.add_(1);
  expect(check(index, { length: 3 })).toMatch(/received 3/);
  expect(check(at([]), { length: 0 })).toBeNull();
});
