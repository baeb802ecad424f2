import { expect, it } from "vitest";
import { TapeNode } from "../../src/autograd/tape.ts";
import { inGroups, isAt, isSameBoundary, reachedFrom } from "../../src/compile/gradient-edges.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

const leaf = dx.ones([2], { requiresGrad: true });

/** A tensor like `of`, made by a node over it. */
function next(of: Tensor): Tensor {
  const t = dx.ones([2]);
  t.node = new TapeNode("test", [of], [t.desc], [], () => []);
  return t;
}

const edgeOf = (t: Tensor): { node: TapeNode; output: number } => ({ node: t.node!, output: t.outputIndex });

it("edges come after those that they depend on, independent ones in one group", () => {
  const a = next(leaf);
  const b = next(a);
  const c = next(b);
  const [x, y, z, other] = [a, b, c, next(leaf)].map(edgeOf) as [ReturnType<typeof edgeOf>, ...ReturnType<typeof edgeOf>[]];
  expect(inGroups([x])).toEqual([[x]]);
  expect(inGroups([z!, x, other!])).toEqual([[x, other], [z]]);
  expect(inGroups([z!, y!, x])).toEqual([[x], [y], [z]]);
});

it("a search follows only the edges that it may", () => {
  const a = next(leaf);
  const b = next(a);
  expect([...reachedFrom(edgeOf(b), () => true)]).toEqual([b.node, a.node]);
  expect([...reachedFrom(edgeOf(b), () => false)]).toEqual([b.node]);
});

it("boundaries are equal leaves, or equal outputs of one node", () => {
  const a = next(leaf);
  expect([isAt(edgeOf(a), a.node!, 0), isAt(edgeOf(a), a.node!, 1)]).toEqual([true, false]);
  expect([isSameBoundary({ leaf }, { leaf }), isSameBoundary({ leaf }, { leaf: a }), isSameBoundary({ leaf }, edgeOf(a))]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isSameBoundary(edgeOf(a), edgeOf(a)), isSameBoundary(edgeOf(a), { leaf })]).toEqual([true, false]);
});
