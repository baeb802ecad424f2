import { expect, it } from "vitest";
import { Placeholders, CallArguments, mapTensors, tensorsIn } from "../../src/compile/arguments.ts";
import * as dx from "../../src/index.ts";

const never = (): boolean => false;
const argumentsOf = (args: readonly unknown[], numbers: "any" | "by value" = "by value"): CallArguments =>
  new CallArguments(args, never, numbers);

it("tensors are found in arrays, plain objects and Maps, and replaced there; other objects stay as they are", () => {
  const [a, b, c] = [dx.ones([1]), dx.ones([2]), dx.ones([3])];
  class Own {
    readonly t = a;
  }
  const own = new Own();
  const nested = { list: [a, [b]], map: new Map([["k", c]]), own, n: 1 };
  expect(tensorsIn(nested)).toEqual([a, b, c]);
  const replaced = mapTensors(nested, (t) => t.size) as unknown as typeof nested;
  expect(replaced).toEqual({
    list: [1, [2]],
    map: new Map([["k", 3]]),
    own,
    n: 1,
  });
  expect(replaced.own).toBe(own);
});

it("keys tell kinds of arguments apart, and numbers only where the function does not see them", () => {
  const t = dx.ones([2]);
  const leaf = dx.ones([2], { requiresGrad: true });
  const kinds: readonly unknown[][] = [
    [t],
    [dx.ones([3])],
    [dx.ones([2], { dtype: "float16" })],
    [leaf],
    [leaf.mul(2)],
    [t, t],
    [t, dx.ones([2])],
    [t, undefined],
    [t, null],
    [t, "1"],
    [t, 1],
    [t, NaN],
    [t, -0],
    [t, 0],
    [t, 1n],
    [t, [1]],
    [t, { a: 1 }],
    [t, Math.sin],
    [t, Math.cos],
    [t, new Date(0)],
    [t, new Float32Array([1])],
    [t, new Int32Array([1])],
  ];
  expect(new Set(kinds.map((args) => argumentsOf(args).key)).size).toBe(kinds.length);
  expect(argumentsOf([t, { a: [1, "x"] }]).key).toBe(argumentsOf([dx.zeros([2]), { a: [1, "x"] }]).key);
  expect(argumentsOf([t, 1], "any").key).toBe(argumentsOf([t, NaN], "any").key);
  expect(argumentsOf([t, 1], "any").key).not.toBe(argumentsOf([t, 1n], "any").key);
  expect(argumentsOf([t]).key).not.toBe(dx.noGrad(() => argumentsOf([t]).key));
});

it("a key taken over from a call that is alike is the one that would have been made", () => {
  const [t, u] = [dx.ones([2]), dx.zeros([2])];
  const leaf = dx.ones([2], { requiresGrad: true });
  const learned = dx.ones([2], { requiresGrad: true });
  learned.mul(3).sum().backward();
  const kept = leaf.mul(2);
  kept.retainGrad();
  const many = Array.from({ length: 12 }, (_, i) => dx.full([2], i));
  const kinds: readonly (readonly unknown[])[] = [
    [],
    [t],
    [dx.ones([3])],
    [dx.ones([2, 2]).t()],
    [leaf],
    [leaf.mul(2)],
    [kept],
    [learned],
    [learned, learned.grad],
    [t, u],
    [t, t],
    [t, leaf],
    [leaf, t],
    [t, [u]],
    [[t, u]],
    [t, 1],
    [t, undefined],
    many,
    [...many, many[0]],
    [dx.complex(t, u)],
  ];
  const isDirect = [never, (x: dx.Tensor) => x === t];
  let alike = 0;
  for (const before of kinds)
    for (const way of isDirect)
      for (const mode of [dx.noGrad, <T>(fn: () => T): T => fn()]) {
        const likeness = mode(() => new CallArguments(before, way, "any").likeness(before));
        for (const args of kinds)
          for (const now of isDirect) {
            const made = new CallArguments(args, now, "any");
            const taken = new CallArguments(args, now, "any", likeness);
            expect(taken.key).toBe(made.key);
            expect(taken.tensors.length === made.tensors.length && taken.tensors.every((x, i) => x === made.tensors[i])).toBe(true);
            if (likeness?.key === taken.key) alike++;
            for (const x of taken.tensors) expect(taken.indexOf(x)).toBe(made.indexOf(x));
          }
      }
  expect(alike).toBeGreaterThan(20);
});

it("gradients come after the tensors that have them; what stands for them has their layout and no data", () => {
  const leaf = dx.ones([2, 3], { requiresGrad: true });
  leaf.sum().backward();
  const transposed = dx.ones([2, 3]).t();
  const found = argumentsOf([leaf, transposed]);
  // By identity: toEqual would look into them.
  expect(found.tensors.map((t) => [leaf, transposed, leaf.grad].indexOf(t))).toEqual([0, 1, 2]);
  expect(found.gradients).toEqual([2, -1, -1]);
  const placeholders = new Placeholders(found, { name: "test" });
  placeholders.begin(found.tensors);
  const [first, second, third] = placeholders.tensors;
  expect([first!.shape, second!.strides, first!.storage.handle, first!.requiresGrad]).toEqual([[2, 3], [1, 3], 0, true]);
  expect(first!.grad).toBe(third);
  expect(placeholders.indices.get(second!.storage)).toBe(1);
});
