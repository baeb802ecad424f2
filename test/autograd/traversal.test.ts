/** One pass over the tape: the order of visits, sums, and where it ends. */
import { expect, it } from "vitest";
import { TapeNode } from "../../src/autograd/tape.ts";
import { Traversal } from "../../src/autograd/traversal.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

const numbers = (t: Tensor | null | undefined): unknown => (t == null ? null : t.toArraySync());

/** A tensor whose node adds its name to `visits`, and hands its gradient, times a factor, to each input. */
function made(visits: string[], name: string, inputs: readonly Tensor[], factor = 1): Tensor {
  const t = dx.ones([1]);
  t.node = new TapeNode(name, inputs, [t.desc], [], ([dy]) => {
    visits.push(name);
    return inputs.map(() => dy!.mul(factor));
  });
  return t;
}

const leaf = (): Tensor => dx.tensor([1], { requiresGrad: true });

it("a node is visited once, when all of its gradients are there, the last one made first", () => {
  const visits: string[] = [];
  const x = leaf();
  const a = made(visits, "a", [x]);
  const b = made(visits, "b", [a], 2);
  const c = made(visits, "c", [a, b], 3);
  const d = made(visits, "d", [b, c, x]);
  const pass = new Traversal(null);
  pass.run([d], [dx.ones([1])], false);
  expect(visits).toEqual(["d", "c", "b", "a"]);
  // c gets 1; b gets 1 + 3; a gets 3 + 8; x gets 11 + 1.
  expect([...pass.leaves].map(([t, sum]) => [t === x, numbers(sum)])).toEqual([[true, [12]]]);
});

it("bounds take gradients at their ends: nothing behind is visited", () => {
  const visits: string[] = [];
  const x = leaf();
  const a = made(visits, "a", [x]);
  const b = made(visits, "b", [a, x], 5);
  const taken: unknown[] = [];
  const pass = new Traversal(null, {
    ends: (node) => node === a.node,
    takes: (node, output, grad) => {
      if (node !== a.node) return false;
      taken.push([output, numbers(grad)]);
      return true;
    },
  });
  pass.run([b], [dx.ones([1])], false);
  expect([visits, taken, numbers(pass.leaves.get(x))]).toEqual([["b"], [[0, [5]]], [5]]);
});

it("a gradient that is handed on is the pass's own for a leaf, not its owner's", () => {
  const x = leaf();
  const seed = dx.tensor([7]);
  const pass = new Traversal(null);
  pass.run([x], [seed], false);
  const owned = pass.owned(pass.leaves.get(x)!);
  expect([owned === seed, owned.storage === seed.storage, numbers(owned)]).toEqual([false, false, [7]]);
});
