import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { Kinds } from "../../src/compile/kinds.ts";

it("tells in what a kind of arguments differs from the one before, and which axes to make dynamic", () => {
  const kinds = new Kinds();
  const [a, b, c] = [dx.ones([2, 3]), dx.ones([4, 3]), dx.ones([4, 3], { dtype: "int32" })];
  const add = (...args: unknown[]): string =>
    kinds.add(
      args.flat().filter((t) => t instanceof dx.Tensor),
      args,
    );
  expect(add(a, 1)).toBe("arguments of a new kind");
  expect(kinds.remedy).toMatch(/keep shapes few$/);
  expect(add(b, 1)).toBe("arguments of a new kind: argument 0 has the shape [4, 3] instead of [2, 3]");
  expect(kinds.remedy).toContain("{ dynamic: [[0], null] }");
  expect(add(c, 1)).toBe("arguments of a new kind: argument 0 is int32 instead of float32");
  expect(add(c, 2)).toBe("arguments of a new kind");
  expect(add([dx.ones([4, 5], { dtype: "int32" })])).toBe("arguments of a new kind: a tensor has the shape [4, 5] instead of [4, 3]");
  expect(kinds.remedy).toContain("{ dynamic: [0, 1] }");
});
