/** What a run notes of tensors outside, to take it back. */
import { expect, it } from "vitest";
import { Outside } from "../../src/compile/outside.ts";
import * as dx from "../../src/index.ts";

it("takes back the writes of a lost run, others of which came between", () => {
  const [t, other] = [dx.zeros([4]), dx.zeros([4])];
  const [first, second] = [new Outside(-1), new Outside(-2)];
  const before = t.storage.version;
  first.wrote(t);
  first.wrote(other);
  first.wrote(t);
  second.wrote(t);
  first.wrote(t);
  expect(t.storage.version).toBe(before + 4);
  first.undo(true);
  expect([t.storage.version, other.storage.version]).toEqual([before, before]);
  first.undo();
  expect(t.storage.version).toBe(before);
});

it("tells which gradients are dropped, of leaves that it has noted and of others", () => {
  const [noted, unnoted, kept] = [0, 1, 2].map(() => dx.ones([2], { requiresGrad: true })) as [dx.Tensor, dx.Tensor, dx.Tensor];
  const outside = new Outside(-3);
  outside.touch(noted);
  for (const leaf of [noted, unnoted]) outside.drop(leaf);
  for (const leaf of [unnoted, kept]) outside.touch(leaf);
  expect([noted, unnoted, kept].map((leaf) => outside.drops(leaf, outside.touched.get(leaf)!))).toEqual([true, true, false]);
});
