import { expect, it } from "vitest";
import { areSame, areSameOrNull, isSame, isSameGuard, operand } from "../../src/compile/operand.ts";
import * as dx from "../../src/index.ts";

it("a tensor outside is the same while it shows the same and has the same history", () => {
  const t = dx.tensor([1, 2]);
  const o = operand(t);
  const view = t.view(2);
  expect([isSame(o, t), isSame(o, view), isSame(o, dx.tensor([1, 2]))]).toEqual([true, true, false]);
  t.leafRequiresGrad = true;
  expect(isSame(o, t)).toBe(false);
  const leaf = operand(t);
  expect([isSame(leaf, t), isSame(leaf, view)]).toEqual([true, false]);
});

it("guards are plain data by value, and objects by identity", () => {
  const fn = (): void => {};
  expect([isSameGuard({ a: [1] }, { a: [1] }), isSameGuard(0, 1), isSameGuard(fn, fn), isSameGuard(fn, () => {})]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

it("several are the same one by one, and none is the same as none", () => {
  const [a, b] = [dx.tensor([1, 2]), dx.tensor([1, 2])];
  const seen = [operand(a), operand(b)];
  expect([areSame(seen, [a, b]), areSame(seen, [b, a]), areSame(seen, [a])]).toEqual([true, false, false]);
  expect([areSameOrNull([seen[0]!, null], [a, null]), areSameOrNull([null], [a]), areSameOrNull(seen, [a, null])]).toEqual([
    true,
    false,
    false,
  ]);
});
